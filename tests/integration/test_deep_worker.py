"""The deep worker as a real process beside a real Valkey."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from remembrancer.internal.v1 import store_pb2, tier_pb2
from remembrancer.v1 import common_pb2
from tests.integration.tiers import Partition, Tier, direction
from tests.records import DAY, NOW, turn
from tests.valkey import Valkey
from tests.vectors import near

QUERY = "What pet did Dana get?"
PET = direction("pet")
SUBJECTS = ("work", "rain", "train", "soup", "music", "garden", "football", "paint")


async def chat(partition: Partition, turns: int = 64) -> None:
    """Write small talk of Dana and Sam, in conversations of eight turns."""
    for i in range(turns):
        speaker, other = ("Dana", "Sam") if i % 2 else ("Sam", "Dana")
        text = f"{other}, I thought about the {SUBJECTS[i // 8 % 8]} again, it was number {i}."
        await partition.add(turn(text, speaker, f"chat-{i // 8}", occurred=NOW + 60 * i), direction(f"talk {i}"))


async def adoption(partition: Partition, **axes: str) -> tuple[int, int]:
    """Write the two memories of the story in conversations of their own; return their Ns."""
    adopted = turn("Dana adopted the greyhound Biscuit", "Dana", "spring", axes=axes)
    pills = turn("Biscuit needs thyroid pills every morning", "Sam", "autumn", axes=axes, occurred=NOW + DAY)
    return await partition.add(adopted, near(PET, 0.7, "adopted")), await partition.add(pills, near(PET, -0.1, "pills"))


def steps(candidate: tier_pb2.Candidate) -> list[tuple[int, int, str]]:
    return [(step.kind, step.source, step.entity.label) for step in candidate.path]


def found(candidates: Sequence[tier_pb2.Candidate]) -> list[int]:
    return [candidate.n for candidate in candidates]


async def test_a_memory_that_shares_only_an_entity_with_a_match_is_associated(partition: Partition, deep: Tier) -> None:
    await chat(partition)
    adopted, pills = await adoption(partition)
    answer = await deep.search(partition, QUERY, PET)
    assert answer.direct[0].n == adopted
    assert pills not in found(answer.direct)
    associated = {candidate.n: candidate for candidate in answer.associated}
    assert found(answer.associated)[0] == pills
    assert steps(associated[pills]) == [(tier_pb2.EDGE_KIND_SHARES_ENTITY, adopted, "Biscuit")]
    assert 0.0 < associated[pills].relevance < answer.direct[0].relevance
    assert "Biscuit" in {score.entity.label for score in answer.entities}


async def test_a_write_is_found_by_the_next_search(partition: Partition, deep: Tier) -> None:
    await chat(partition, 8)
    assert found((await deep.search(partition, QUERY, PET)).associated) == []
    adopted, pills = await adoption(partition)
    answer = await deep.search(partition, QUERY, PET)
    assert answer.direct[0].n == adopted
    assert pills in found([*answer.direct, *answer.associated])


async def test_an_erased_record_is_neither_returned_nor_a_step(partition: Partition, deep: Tier) -> None:
    adopted, pills = await adoption(partition)
    vet = turn("The clinic of Moritz and Zelda prescribed it to Biscuit", "Sam", "winter")
    clinic = await partition.add(vet, direction("clinic"))
    harbour = await partition.add(turn("Moritz moved to the harbour", "Kim", "later"), direction("harbour"))
    before = await deep.search(partition, QUERY, PET, depth=1)
    assert {clinic, harbour, pills} <= set(found(before.associated))
    await partition.erase(clinic)
    after = await deep.search(partition, QUERY, PET, depth=1)
    assert pills in found(after.associated)
    assert not {clinic, harbour} & set(found(after.associated))
    assert "Zelda" in {score.entity.label for score in before.entities}
    assert "Zelda" not in {score.entity.label for score in after.entities}
    assert after.direct[0].n == adopted


async def test_another_users_records_entities_and_edges_stay_hidden(partition: Partition, deep: Tier) -> None:
    adopted, _ = await adoption(partition, user_id="ana")
    swim = turn("Biscuit, Moritz and Zelda swim", "Ben", "b", axes={"user_id": "ben"})
    await partition.add(swim, direction("swim"))
    own = await partition.add(turn("Moritz sings", "Ana", "a", axes={"user_id": "ana"}), direction("sing"))
    everyone = await deep.search(partition, QUERY, PET)
    assert own in found(everyone.associated)
    assert "Zelda" in {score.entity.label for score in everyone.entities}
    ana = await deep.search(partition, QUERY, PET, user_id="ana")
    assert ana.direct[0].n == adopted
    assert own not in found(ana.associated)
    assert "Zelda" not in {score.entity.label for score in ana.entities}
    ben = await deep.search(partition, QUERY, PET, user_id="ben")
    assert adopted not in {step.source for c in ben.associated for step in c.path}
    assert "Dana" not in {score.entity.label for score in ben.entities}


async def test_the_same_name_in_another_partition_leads_nowhere(partition: Partition, deep: Tier) -> None:
    other = Partition(partition.redis, "another")
    await other.add(turn("Dana sold the yacht Biscuit to Moritz", "Dana"), near(PET, 0.9, "yacht"))
    adopted, pills = await adoption(partition)
    answer = await deep.search(partition, "Who is Moritz to Biscuit?", PET)
    assert {*found(answer.direct), *found(answer.associated)} == {adopted, pills}
    assert {score.entity.label for score in answer.entities} <= {"Biscuit", "Dana", "Sam"}


async def test_without_a_vector_words_and_entities_answer(partition: Partition, deep: Tier) -> None:
    await chat(partition)
    adopted, pills = await adoption(partition)
    answer = await deep.search(partition, "Who adopted a greyhound?", depth=1)
    assert found(answer.direct) == [adopted]
    assert pills in found(answer.associated)


async def test_memories_used_together_lead_to_each_other(partition: Partition, deep: Tier) -> None:
    await chat(partition)
    adopted, pills = await adoption(partition)
    invoice = await partition.add(turn("The invoice is overdue", "Sam", "bills"), direction("invoice"))
    assert invoice not in found((await deep.search(partition, QUERY, PET)).associated)
    used = store_pb2.UsedTogether(other=invoice, retrieval_id="ret_1", at=Timestamp(seconds=NOW))
    await partition.learn(adopted, store_pb2.Learned(used_together=[used]))
    answer = await deep.search(partition, QUERY, PET)
    associated = {candidate.n: candidate for candidate in answer.associated}
    assert steps(associated[invoice]) == [(tier_pb2.EDGE_KIND_USED_TOGETHER, adopted, "")]
    assert steps(associated[pills]) == [(tier_pb2.EDGE_KIND_SHARES_ENTITY, adopted, "Biscuit")]


async def test_an_unknown_partition_is_empty(partition: Partition, deep: Tier) -> None:
    answer = await deep.search(partition, QUERY, PET)
    assert answer == tier_pb2.SearchResponse()


async def test_a_worker_that_was_killed_answers_as_before_after_its_restart(
    partition: Partition, tier_store: Valkey
) -> None:
    await chat(partition)
    async with Tier("deep", tier_store.url) as worker:
        await worker.search(partition, QUERY, PET)
        await adoption(partition)
        grown = await worker.search(partition, QUERY, PET)
    assert grown.associated
    async with Tier("deep", tier_store.url) as worker:
        assert await worker.search(partition, QUERY, PET) == grown


async def test_a_worker_says_who_it_is_and_ends_cleanly(partition: Partition, tier_store: Valkey) -> None:
    await adoption(partition)
    async with Tier("deep", tier_store.url) as worker:
        await worker.search(partition, QUERY, PET)
        status = await worker.stub.GetStatus(tier_pb2.GetStatusRequest())
        assert await worker.end() == 0
    assert (status.worker_id, status.tier, list(status.partitions)) == (
        "deep-test",
        common_pb2.TIER_DEEP,
        [partition.id],
    )
