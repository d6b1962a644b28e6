from __future__ import annotations

from random import Random

import numpy as np
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.store.reader import StoredRecord
from remembrancer.v1 import common_pb2
from tests.records import NOW
from tests.unit.deep.records import erased, stored
from workers.deep.partition import DeepPartition
from workers.deep.search import search
from workers.index.model import Model

MODEL = Model("test", 32)


def with_vector(record: StoredRecord, cosine: float) -> StoredRecord:
    """Give the record a unit vector at `cosine` from the query's, elsewhere in a direction of its own."""
    rest = np.random.default_rng(record.n).standard_normal(MODEL.dimension)
    rest[0] = 0.0
    vector = np.sqrt(1 - cosine**2) * rest / np.linalg.norm(rest)
    vector[0] = cosine
    return StoredRecord(record.n, record.record, vector.astype(np.float32)[None], record.learned)


def partition_of(*records: StoredRecord) -> DeepPartition:
    partition = DeepPartition(MODEL)
    for record in records:
        partition.apply(record)
    return partition


def ask(
    partition: DeepPartition,
    *entities: str,
    user: str = "",
    depth: int = 1,
    vector: bool = True,
    superseded: bool = False,
    before: int = 0,
) -> tier_pb2.SearchResponse:
    query = np.zeros(MODEL.dimension, dtype="<f2")
    query[0] = 1.0
    request = tier_pb2.SearchRequest(
        query=store_pb2.Analysis(
            terms=[label.lower() for label in entities],
            entities=[store_pb2.Entity(entity_id=f"ent_{label.lower()}", label=label) for label in entities],
        ),
        filter=tier_pb2.Filter(
            axes=common_pb2.Axes(agent_id="default-agent", user_id=user), include_superseded=superseded
        ),
        as_of=Timestamp(seconds=NOW + 1000),
        depth=depth,
    )
    if before:
        request.filter.occurred_before.seconds = before
    if vector:
        request.model_id, request.query_vector = MODEL.id, query.tobytes()
    return search(partition, request, lambda: None)


def steps(candidate: tier_pb2.Candidate) -> list[tuple[int, int, str]]:
    return [(step.kind, step.source, step.entity.label) for step in candidate.path]


def story() -> list[StoredRecord]:
    return [
        with_vector(stored(1, "Dana", "Biscuit"), 0.7),
        with_vector(stored(2, "Biscuit", "Moritz"), 0.1),
        with_vector(stored(3, "Dana"), 0.1),
        *(with_vector(stored(n, "Dana"), 0.0) for n in range(4, 70)),
    ]


def test_what_shares_a_rare_entity_with_a_match_is_associated_and_what_shares_a_hub_is_not() -> None:
    answer = ask(partition_of(*story()), "Dana")
    assert [candidate.n for candidate in answer.direct] == [1]
    assert answer.associated[0].n == 2
    assert steps(answer.associated[0]) == [(tier_pb2.EDGE_KIND_SHARES_ENTITY, 1, "Biscuit")]
    assert 3 not in [candidate.n for candidate in answer.associated]


def test_an_associated_record_is_as_relevant_as_its_own_match_at_least_and_less_than_its_seed() -> None:
    partition = partition_of(*story())
    everything = {candidate.n: candidate.relevance for candidate in ask(partition, depth=100).direct}
    associated = {candidate.n: candidate for candidate in ask(partition).associated}
    assert everything[2] < associated[2].relevance < everything[1]
    assert associated[2].similarity == pytest.approx(0.1, abs=0.02)


def test_an_off_topic_query_associates_with_low_relevance_only() -> None:
    off = [with_vector(record, 0.05) for record in story()[:3]]
    assert all(candidate.relevance < 0.15 for candidate in ask(partition_of(*off)).associated)


def test_entities_of_the_query_and_of_what_was_found_are_returned() -> None:
    scores = {score.entity.label: score.score for score in ask(partition_of(*story()), "Dana").entities}
    assert scores["Dana"] == 1.0
    assert 0.0 < scores["Moritz"] < scores["Biscuit"] <= 1.0


def test_without_a_vector_an_entity_of_the_query_is_enough() -> None:
    records = [stored(1, "Biscuit", "Moritz", terms=["biscuit"]), stored(2, "Moritz"), stored(3, "Rome")]
    answer = ask(partition_of(*records), "Biscuit", vector=False)
    assert [candidate.n for candidate in answer.direct] == [1]
    assert [candidate.n for candidate in answer.associated] == [2]


def test_another_users_records_are_neither_returned_nor_named() -> None:
    records = [
        with_vector(stored(1, "Biscuit", user="ana"), 0.7),
        with_vector(stored(2, "Biscuit", "Moritz", "Zelda", user="ben"), 0.1),
        with_vector(stored(3, "Moritz", user="ana"), 0.0),
    ]
    both = ask(partition_of(*records))
    assert {candidate.n for candidate in both.associated} == {2, 3}
    ana = ask(partition_of(*records), user="ana")
    assert list(ana.associated) == []
    assert "Zelda" in {score.entity.label for score in both.entities}
    assert {score.entity.label for score in ana.entities} == {"Biscuit", "Moritz"}


def test_stale_records_and_those_outside_the_time_bound_are_no_steps() -> None:
    records = [
        with_vector(stored(1, "Biscuit"), 0.7),
        with_vector(stored(2, "Biscuit", "Moritz"), 0.0),
        with_vector(stored(3, "Moritz"), 0.0),
    ]
    assert {candidate.n for candidate in ask(partition_of(*records)).associated} == {2, 3}
    assert list(ask(partition_of(*records), before=NOW + 1).associated) == []
    assert records[1].record is not None
    records[1].record.status = common_pb2.MEMORY_STATUS_STALE
    records[1].record.stale_reason = common_pb2.STALE_REASON_WITHDRAWN
    assert list(ask(partition_of(*records), superseded=True).associated) == []


def test_a_superseded_record_leads_to_its_replacement_only_when_it_may_be_seen() -> None:
    old = with_vector(stored(1, replaced_by=2), 0.7)
    assert old.record is not None
    old.record.status = common_pb2.MEMORY_STATUS_STALE
    old.record.stale_reason = common_pb2.STALE_REASON_SUPERSEDED
    partition = partition_of(old, with_vector(stored(2), 0.0))
    assert list(ask(partition).associated) == []
    shown = ask(partition, superseded=True).associated
    assert [(candidate.n, steps(candidate)) for candidate in shown] == [(2, [(tier_pb2.EDGE_KIND_REPLACES, 1, "")])]


def test_the_direct_list_is_the_index_own_answer_whatever_the_depth() -> None:
    partition = partition_of(*story())
    long = ask(partition, depth=30)
    assert list(ask(partition, depth=3).direct) == list(long.direct)[:3]
    assert list(ask(partition, depth=3).associated) == list(long.associated)
    assert long.any_live


def test_an_empty_partition_answers_with_nothing() -> None:
    assert ask(partition_of(), "Dana") == tier_pb2.SearchResponse()


RECORDS = st.lists(
    st.builds(
        lambda n, names, conversation, used, cosine: with_vector(
            stored(n, *names, conversation=conversation, used_with=used, terms=[name.lower() for name in names]), cosine
        ),
        st.integers(1, 12),
        st.lists(st.sampled_from(["Ann", "Bob", "Cy", "Di"]), unique=True),
        st.sampled_from(["", "c"]),
        st.lists(st.tuples(st.integers(1, 12), st.integers(0, 30)), max_size=2),
        st.floats(0.0, 0.9),
    ),
    max_size=16,
)


@settings(max_examples=50)
@given(RECORDS, st.sets(st.integers(1, 12), max_size=3), st.randoms())
def test_a_partition_that_grew_answers_like_one_loaded_afresh(
    history: list[StoredRecord], gone: set[int], rng: Random
) -> None:
    history = [*history, *(erased(n) for n in sorted(gone))]
    last = list({record.n: record for record in history}.values())
    rng.shuffle(last)
    grown, fresh = partition_of(*history), partition_of(*last, *last)
    assert ask(grown, "Ann", depth=5) == ask(fresh, "Ann", depth=5)
    named = {step.source for c in ask(grown, "Ann").associated for step in c.path}
    assert not named & gone
