"""One partition as the deep tier holds it: the direct index and the graph, fed by the same records."""

from __future__ import annotations

from remembrancer.store.reader import StoredRecord
from workers.deep.graph import Graph
from workers.index.model import Model
from workers.index.partition import PartitionIndex


class DeepPartition:
    """Index and graph of one partition; hold `index.lock` around what must see both in one state."""

    def __init__(self, model: Model) -> None:
        """Make an empty one for the vectors of `model`, which are kept in 8 bits."""
        self.index = PartitionIndex(model, eight_bit=True)
        self.graph = Graph()

    def apply(self, stored: StoredRecord) -> None:
        """Take over the current state of one record; idempotent, in any order, atomic against searches."""
        with self.index.lock:
            self.index.apply(stored)
            self.graph.apply(stored)

    def size_bytes(self) -> int:
        """Return about how much memory this holds."""
        return self.index.size_bytes() + self.graph.size_bytes()
