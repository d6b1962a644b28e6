"""Settings of the deep worker."""

from __future__ import annotations

import socket

from pydantic import Field

from remembrancer.runtime.settings import ProcessSettings


class DeepSettings(ProcessSettings):
    """What the deep worker can be told."""

    listen: str = Field(default="127.0.0.1:7730", description="host:port of the tier interface")
    ops_listen: str = Field(default="127.0.0.1:7731", description="host:port of health checks")
    worker_id: str = Field(
        default_factory=lambda: f"deep-{socket.gethostname()}"[:256],
        min_length=1,
        max_length=256,
        description="1..256 characters that stay the same over restarts, such as the pod's name",
    )
    memory_mib: int = Field(default=1024, ge=16, le=1_048_576, description="16..1048576 MiB for partitions held")
    dimension: int = Field(
        default=384, ge=1, le=8192, description="1..8192: length of vectors until the first query tells it"
    )
    max_in_flight: int = Field(default=64, ge=1, le=100000, description="1..100000 calls handled at once")
