"""What every call of the gateway works with; built once, in `process.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from remembrancer.store.models import ModelRegistry
from remembrancer.store.outage import EncoderOutage
from remembrancer.store.partition import PartitionStore
from remembrancer.store.rewrite import Rewriter
from remembrancer.store.safety import StoreSafety
from remembrancer.store.scopes import ScopeRegistry
from remembrancer.store.sessions import Retention
from remembrancer.store.sweep import Sweeper
from remembrancer.v1 import common_pb2
from services.gateway.search.answer import Answerer
from services.gateway.search.encoding import Encoder
from services.gateway.search.fairness import PartitionGate
from services.gateway.search.searcher import Searcher
from services.gateway.search.tiers import TierWorkers
from services.gateway.shared.counters import RecallCounters
from services.gateway.shared.operating_context import OperatingContext
from services.gateway.shared.tokens import TokenCounter


@dataclass(frozen=True, slots=True)
class Parts:
    """The gateway's parts."""

    store: PartitionStore
    scopes: ScopeRegistry
    models: ModelRegistry
    sweeper: Sweeper
    rewriter: Rewriter
    safety: StoreSafety
    counters: RecallCounters
    encoder: Encoder
    outage: EncoderOutage
    tiers: Mapping[common_pb2.Tier.ValueType, TierWorkers]
    searcher: Searcher
    answerer: Answerer
    write_gate: PartitionGate
    list_gate: PartitionGate
    tokens: TokenCounter
    operating_context: OperatingContext
    retention: Retention
    session_retrievals: int

    def warm(self, partition: str, head: str) -> None:
        """Tell both tiers about a new head."""
        if head:
            for workers in self.tiers.values():
                workers.warm(partition, head)
