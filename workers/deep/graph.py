"""The graph of one partition: records and entities as nodes, and what leads from one record to the next."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from remembrancer.internal.v1 import tier_pb2
from remembrancer.store.reader import StoredRecord
from workers.deep import weights
from workers.deep.members import Members
from workers.deep.nodes import RecordNode, node_of

SESSION_REACH = 6
"""How many records before and after one in its session or conversation are its neighbours."""

NODE_BYTES = 450
"""Measured size of one record's node with its places in the groups, entities apart."""
MENTION_BYTES = 200
"""Measured size of one mention of an entity."""


@dataclass(frozen=True, slots=True)
class View:
    """What one search may see: `visible` says whether record N passes its filter; `as_of`, in seconds since 1970."""

    visible: Callable[[int], bool]
    as_of: float


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from one record to `target`; `weight` in 0..1; `entity_id` is set for SHARES_ENTITY, else ""."""

    kind: tier_pb2.EdgeKind.ValueType
    target: int
    weight: float
    entity_id: str = ""


class Graph:
    """Edges between the records of one partition. The same records make the same graph, whatever order they came in."""

    def __init__(self) -> None:
        """Start empty."""
        self._nodes: dict[int, RecordNode] = {}
        self._mentions = Members()
        self._threads = Members()
        self._turns = Members()
        self._sessions = Members()
        self._used_by = Members()
        self._mention_count = 0

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._nodes)

    def size_bytes(self) -> int:
        """Return about how much memory the graph holds."""
        return NODE_BYTES * len(self._nodes) + MENTION_BYTES * self._mention_count

    def apply(self, stored: StoredRecord) -> None:
        """Take over the current state of a record; an erased one is removed with all its edges."""
        old, new = self._nodes.get(stored.n), node_of(stored)
        if old == new:
            return
        if old is not None:
            del self._nodes[old.n]
            self._unlink(old)
        if new is not None:
            self._nodes[new.n] = new
            self._link(new)

    def labels(self, n: int) -> Mapping[str, str]:
        """Return the record's entities: id -> label as the record writes it."""
        node = self._nodes.get(n)
        return node.labels if node is not None else {}

    def mentions(self, entity_id: str) -> Sequence[int]:
        """Return the records that mention an entity, in ascending N."""
        return self._mentions.of(entity_id)

    def specificity(self, entity_id: str) -> float:
        """Return how much the entity says in this partition, 0..1."""
        return weights.specificity(len(self._mentions.of(entity_id)), len(self._nodes))

    def edges(self, n: int, view: View, least: float, fan: int) -> Iterator[Edge]:
        """Yield the edges of record `n` to visible records whose weight is at least `least`, always in the same order.

        Per entity at most `fan` records: those nearest to `n` by place. `least` also spares the walk along hubs.
        """
        node = self._nodes.get(n)
        if node is None:
            return
        for edge in chain(
            self._turn_edges(node),
            self._session_edges(node),
            self._replacement_edges(node),
            self._use_edges(node, view.as_of),
        ):
            if edge.weight >= least and edge.target in self._nodes and edge.target != n and view.visible(edge.target):
                yield edge
        for entity_id in sorted(node.labels):
            weight = weights.SHARES_ENTITY * self.specificity(entity_id)
            if weight >= least:
                others = filter(view.visible, self._mentions.around(entity_id, n, len(self._nodes)))
                for other in islice(others, fan):
                    yield Edge(tier_pb2.EDGE_KIND_SHARES_ENTITY, other, weight, entity_id)

    def _turn_edges(self, node: RecordNode) -> Iterator[Edge]:
        if node.turn and node.thread is not None:
            for other in self._turns.around(node.thread, node.n, 1):
                later = other > node.n
                kind = tier_pb2.EDGE_KIND_NEXT_TURN if later else tier_pb2.EDGE_KIND_PREVIOUS_TURN
                yield Edge(kind, other, weights.ADJACENT_TURN)

    def _session_edges(self, node: RecordNode) -> Iterator[Edge]:
        near: dict[int, tier_pb2.EdgeKind.ValueType] = {}
        if node.thread is not None:
            talk = self._threads.around(node.thread, node.n, SESSION_REACH)
            near |= dict.fromkeys(talk, tier_pb2.EDGE_KIND_SAME_CONVERSATION)
        if node.session:
            sitting = self._sessions.around(node.session, node.n, SESSION_REACH)
            near |= dict.fromkeys(sitting, tier_pb2.EDGE_KIND_SAME_SESSION)
        for other, kind in sorted(near.items()):
            yield Edge(kind, other, weights.SAME_SESSION)

    def _replacement_edges(self, node: RecordNode) -> Iterator[Edge]:
        if node.replaced_by:
            yield Edge(tier_pb2.EDGE_KIND_REPLACES, node.replaced_by, weights.REPLACES)

    def _use_edges(self, node: RecordNode, as_of: float) -> Iterator[Edge]:
        times: dict[int, list[float]] = {}
        for use in node.used_with:
            times.setdefault(use.other, []).append(use.at)
        for other in self._used_by.of(node.n):
            times.setdefault(other, []).extend(u.at for u in self._nodes[other].used_with if u.other == node.n)
        for other, at in sorted(times.items()):
            yield Edge(tier_pb2.EDGE_KIND_USED_TOGETHER, other, weights.used_together(at, as_of))

    def _link(self, node: RecordNode) -> None:
        for group, key in self._memberships(node):
            group.add(key, node.n)
        self._mention_count += len(node.labels)

    def _unlink(self, node: RecordNode) -> None:
        for group, key in self._memberships(node):
            group.discard(key, node.n)
        self._mention_count -= len(node.labels)

    def _memberships(self, node: RecordNode) -> Iterator[tuple[Members, Hashable]]:
        for entity_id in node.labels:
            yield self._mentions, entity_id
        if node.thread is not None:
            yield self._threads, node.thread
            if node.turn:
                yield self._turns, node.thread
        if node.session:
            yield self._sessions, node.session
        for other in {use.other for use in node.used_with}:
            yield self._used_by, other
