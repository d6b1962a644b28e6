"""Settings of the gateway."""

from __future__ import annotations

from pydantic import Field, field_validator

from remembrancer.runtime import address
from remembrancer.runtime.settings import ProcessSettings


class GatewaySettings(ProcessSettings):
    """What the gateway can be told."""

    listen: str = Field(default="127.0.0.1:7700", description="host:port of the public API; loopback only")
    ops_listen: str = Field(default="127.0.0.1:7701", description="host:port of health checks")
    encoder_targets: str = Field(default="127.0.0.1:7710", description="host:port[,host:port...] of encoders")
    active_targets: str = Field(default="127.0.0.1:7720", description="host:port[,host:port...] of active workers")
    deep_targets: str = Field(default="127.0.0.1:7730", description="host:port[,host:port...] of deep workers")
    store_unsafe: bool = Field(
        default=False,
        description="true or false: whether a store that may lose or drop memories is accepted without a warning",
    )
    session_idle_seconds: int = Field(
        default=3600, ge=1, le=604800, description="1..604800: idle seconds after which a session expires"
    )
    session_kept_seconds: int = Field(
        default=7 * 86400, ge=60, le=366 * 86400, description="60..31622400: how long ended sessions are kept"
    )
    stateless_kept_seconds: int = Field(
        default=3600, ge=60, le=604800, description="60..604800: how long stateless retrievals take feedback"
    )
    session_retrievals: int = Field(default=10000, ge=1, le=100000, description="1..100000 retrievals per session")
    operating_context_file: str = Field(
        default="", description="path of a JSON or TOML (.toml) file, agent -> project, for @auto; empty = none"
    )
    partition_searches: int = Field(
        default=6,
        ge=1,
        le=100000,
        description="1..100000 searches of one scope at once in each mode, and as many lists; others get their turn",
    )
    partition_writes: int = Field(
        default=16,
        ge=1,
        le=100000,
        description="1..100000 writes into one scope at once, so that others get their turn",
    )
    partition_waiting: int = Field(
        default=106,
        ge=0,
        le=100000,
        description="0..100000 searches, as many writes, and as many lists, of one scope that may wait",
    )
    max_streams: int = Field(default=16, ge=1, le=100000, description="1..100000 exports and imports at once")
    stream_idle_seconds: float = Field(
        default=60,
        ge=0.1,
        le=86400,
        allow_inf_nan=False,
        description="0.1..86400: seconds without a part after which an export or import ends",
    )
    stream_seconds: float = Field(
        default=3600,
        ge=1,
        le=30 * 86400,
        allow_inf_nan=False,
        description="1..2592000: seconds after which every export or import ends",
    )
    probable_answer: bool = Field(
        default=True, description="true or false: whether recalls name a probable answer unless told not to"
    )

    def missing_credentials(self) -> str:
        """Return why the public API stays on loopback."""
        return "callers of the public API are not asked for credentials"

    @field_validator("encoder_targets", "active_targets", "deep_targets")
    @classmethod
    def _targets(cls, value: str) -> str:
        for target in targets(value):
            address.split(target)
        return value


def targets(value: str) -> list[str]:
    """Return the addresses of a comma-separated list."""
    return [part.strip() for part in value.split(",") if part.strip()]
