"""Settings of a process: one frozen class, read from `REMEMBRANCER_...` variables, refused with one line when wrong."""

from __future__ import annotations

import sys
from typing import Any, Literal, Self, TypeVar, get_args, get_origin

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

from remembrancer.runtime import address
from remembrancer.runtime.refusal import BAD_SETTING
from remembrancer.runtime.variables import PREFIX

INJECTED_SUFFIXES = ("_port", "_host", "_addr")
"""Kubernetes injects `<SERVICE>_PORT=tcp://...` and the like for every service; no setting may be named like one."""

HIDDEN = frozenset({"store_url"})
"""Fields that may carry a password inside; their value is never printed."""


class ProcessSettings(BaseSettings):
    """What every process can be told. A field's description states its allowed range.

    A subclass gives `listen` and `ops_listen` their defaults and adds its own fields, each with a description.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore", validate_default=True)

    store_url: str = Field(
        default="redis://127.0.0.1:6379/0", repr=False, description="a redis://, rediss:// or unix:// URL of the store"
    )
    store_cluster: bool = Field(default=False, description="true or false: whether the store is a cluster")
    listen: str = Field(description="host:port of the service itself; port 0 = any free one")
    ops_listen: str = Field(description="host:port of health checks, plaintext and without credentials")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="least severe level to log"
    )
    log_format: Literal["auto", "json", "console"] = Field(
        default="auto", description="auto = console on a terminal, else json"
    )
    worker_token: SecretStr | None = Field(
        default=None, description="16..256 visible ASCII characters, the same for gateway and workers"
    )
    threads: int = Field(default=0, ge=0, le=1024, description="0..1024; 0 = as many as the CPU quota allows")
    max_in_flight: int = Field(default=256, ge=1, le=100_000, description="1..100000 calls handled at once")
    grace: float = Field(
        default=20, ge=0, le=3600, allow_inf_nan=False, description="0..3600 seconds for calls in flight"
    )
    drain: float = Field(
        default=0.2,
        ge=0,
        le=600,
        allow_inf_nan=False,
        description="0..600 seconds between NOT_SERVING and refusing calls",
    )

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse field names that Kubernetes could inject."""
        super().__pydantic_init_subclass__(**kwargs)
        for name in cls.model_fields:
            if name.endswith(INJECTED_SUFFIXES):
                raise TypeError(f"{cls.__name__}.{name}: no setting may end in _PORT, _HOST or _ADDR")

    def missing_credentials(self) -> str:
        """Return why callers of `listen` need not prove who they are, "" when they must."""
        return "" if self.worker_token is not None else f"no credentials are configured ({PREFIX}WORKER_TOKEN)"

    @field_validator("store_url")
    @classmethod
    def _store_url(cls, value: str) -> str:
        if not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("has another scheme")
        return value

    @field_validator("listen", "ops_listen")
    @classmethod
    def _address(cls, value: str) -> str:
        address.split(value)
        return value

    @field_validator("worker_token")
    @classmethod
    def _token(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            token = value.get_secret_value()
            if not 16 <= len(token) <= 256 or not all("!" <= c <= "~" for c in token):
                raise ValueError("is too short, too long or has other characters")
        return value

    @model_validator(mode="after")
    def _no_open_door(self) -> Self:
        missing = self.missing_credentials()
        if missing and not address.is_loopback(self.listen):
            raise ValueError(
                f"{PREFIX}LISTEN={self.listen!r} can be reached from other machines, but {missing}; "
                "allowed without credentials: a loopback address"
            )
        return self


S = TypeVar("S", bound=ProcessSettings)


def load(cls: type[S]) -> S:
    """Return the settings from the environment, or print one line on what is wrong and exit with code 2."""
    try:
        return cls()  # type: ignore[call-arg]  # `listen` comes from the environment or a subclass
    except ValidationError as error:
        print(explain(cls, error), file=sys.stderr)  # noqa: T201  (logging is not configured yet)
        raise SystemExit(BAD_SETTING) from None


def explain(cls: type[ProcessSettings], error: ValidationError) -> str:
    """Return one line on the first thing that is wrong: variable, value (never a secret's) and what is allowed."""
    first = error.errors(include_url=False, include_context=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return message
    name = str(first["loc"][0]).lower()
    field = cls.model_fields[name]
    variable = PREFIX + name.upper()
    allowed = _allowed(field) or _allowed(ProcessSettings.model_fields.get(name, field)) or "see the documentation"
    if first["type"] == "missing":
        return f"{variable} is not set; allowed: {allowed}"
    shown = "(value hidden)" if _secret(name, field) else repr(str(first["input"])[:200])
    return f"{variable}={shown}: {message}; allowed: {allowed}"


def _secret(name: str, field: FieldInfo) -> bool:
    return name in HIDDEN or SecretStr in (field.annotation, *get_args(field.annotation))


def _allowed(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return ", ".join(map(str, get_args(field.annotation)))
    return field.description or ""
