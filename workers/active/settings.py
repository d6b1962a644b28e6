"""Settings of the active worker."""

from __future__ import annotations

from pydantic import Field

from workers.index.settings import TierSettings


class ActiveSettings(TierSettings):
    """What the active worker can be told."""

    listen: str = Field(default="127.0.0.1:7720", description="host:port of the tier interface")
    ops_listen: str = Field(default="127.0.0.1:7721", description="host:port of health checks")
