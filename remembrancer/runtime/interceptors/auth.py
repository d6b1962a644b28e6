"""The token that gateway and workers share."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from remembrancer.model.errors import CredentialsInvalid, CredentialsMissing
from remembrancer.runtime.interceptors.base import Context, Interceptor, Method

METADATA_KEY = "authorization"
SCHEME = "Bearer "


def authorization(token: SecretStr) -> tuple[str, str]:
    """Return the metadata entry that proves knowledge of the token."""
    return METADATA_KEY, SCHEME + token.get_secret_value()


class WorkerToken(Interceptor):
    """Lets only callers in that send the shared token, whatever the method."""

    def __init__(self, token: SecretStr) -> None:
        """Take the token; an empty one would let everybody in."""
        if not token.get_secret_value():
            raise ValueError("the worker token is empty")
        self._expected = authorization(token)[1].encode()

    @asynccontextmanager
    async def around(self, method: Method, context: Context) -> AsyncIterator[None]:
        """Compare in constant time."""
        del method
        sent = [value for key, value in context.invocation_metadata() or () if key == METADATA_KEY]
        if not sent:
            raise CredentialsMissing("no credentials came with the call")
        given = sent[0].encode("utf-8", "surrogateescape") if isinstance(sent[0], str) else sent[0]
        if len(sent) > 1 or not hmac.compare_digest(given, self._expected):
            raise CredentialsInvalid("the credentials are wrong")
        yield
