"""What sets the deep tier's process apart."""

from __future__ import annotations

from typing import Final

from remembrancer.v1 import common_pb2
from workers.deep.partition import DeepPartition
from workers.deep.search import search
from workers.index.process import TierSpec

SPEC: Final = TierSpec("deep", common_pb2.TIER_DEEP, DeepPartition, search)
