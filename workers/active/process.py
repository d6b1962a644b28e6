"""What sets the active tier's process apart."""

from __future__ import annotations

from typing import Final

from remembrancer.v1 import common_pb2
from workers.active.search import search
from workers.index.partition import PartitionIndex
from workers.index.process import TierSpec

SPEC: Final = TierSpec("active", common_pb2.TIER_ACTIVE, PartitionIndex, search)
