"""The scope of a call: parsed, checked, canonical."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from remembrancer.model.errors import InvalidField
from remembrancer.model.text import is_blank, trimmed
from remembrancer.v1 import common_pb2

SCOPE_LENGTH: Final = 256
AXIS_LENGTH: Final = 256


@dataclass(frozen=True, slots=True)
class ScopeKey:
    """A checked scope: its canonical path, and what a tenant form says about axes ("" = nothing)."""

    path: str
    tenant: bool = False
    user_id: str = ""
    conversation_id: str = ""


def parse_scope(scope: common_pb2.Scope) -> ScopeKey:
    """Return the checked scope of a request. Errors: InvalidField naming the part that is wrong."""
    form = scope.WhichOneof("form")
    if form is None:
        raise InvalidField("scope", "is required: set `path` or `tenant`")
    if form == "path":
        return ScopeKey(canonical_path(scope.path))
    return _tenant(scope.tenant)


def require_path(scope: common_pb2.Scope) -> ScopeKey:
    """Return the checked scope of a call that takes the path form only."""
    key = parse_scope(scope)
    if key.tenant:
        raise InvalidField("scope.tenant", "is not allowed here: sessions live in path scopes")
    return key


def canonical_path(raw: str, field: str = "scope") -> str:
    """Return the canonical form of a `kind:id` path: trimmed, NFC, split at the first colon, both sides nonblank."""
    path = _clean(raw, field)
    kind, colon, name = path.partition(":")
    if not colon or is_blank(kind) or is_blank(name):
        raise InvalidField(field, "must be `kind:id` with both sides nonblank, such as `project:apollo`")
    return path


def _tenant(tenant: common_pb2.TenantScope) -> ScopeKey:
    organisation = _clean(tenant.org_id, "scope.tenant.org_id")
    for name in ("user_id", "session_id"):
        if len(getattr(tenant, name)) > AXIS_LENGTH:
            raise InvalidField(f"scope.tenant.{name}", f"must have at most {AXIS_LENGTH} characters")
    path = canonical_path(f"org:{organisation}", "scope.tenant.org_id")
    return ScopeKey(path, tenant=True, user_id=tenant.user_id, conversation_id=tenant.session_id)


def _clean(raw: str, field: str) -> str:
    text = unicodedata.normalize("NFC", raw.strip())
    if len(text) > SCOPE_LENGTH:
        raise InvalidField(field, f"must have at most {SCOPE_LENGTH} characters, has {len(text)}")
    if is_blank(text):
        raise InvalidField(field, "must not be blank")
    if any(unicodedata.category(c) == "Cc" for c in text):
        raise InvalidField(field, "must not hold control characters")
    return trimmed(text)


def look_alike(path: str) -> str:
    """Return what two scopes share that differ only by case or by `-` and `_`."""
    return path.casefold().replace("-", "_")
