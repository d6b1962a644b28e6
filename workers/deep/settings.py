"""Settings of the deep worker."""

from __future__ import annotations

from pydantic import Field

from workers.index.settings import TierSettings


class DeepSettings(TierSettings):
    """What the deep worker can be told."""

    listen: str = Field(default="127.0.0.1:7730", description="host:port of the tier interface")
    ops_listen: str = Field(default="127.0.0.1:7731", description="host:port of health checks")
