"""Settings that both tier workers have."""

from __future__ import annotations

from pydantic import Field

from remembrancer.runtime.settings import ProcessSettings


class TierSettings(ProcessSettings):
    """What a tier worker can be told."""

    worker_id: str = Field(
        default="",
        max_length=256,
        description="up to 256 characters, the same over restarts, such as the pod's name, by which the worker goes "
        "in its status; empty = from the host's name",
    )
    memory_mib: int = Field(default=1024, ge=16, le=1_048_576, description="16..1048576 MiB for partitions held")
    max_in_flight: int = Field(default=512, ge=1, le=100_000, description="1..100000 calls handled at once")
