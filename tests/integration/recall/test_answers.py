"""What is in an answer beside the hits' texts: each field means what it says."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
import tiktoken
from google.protobuf import json_format

from remembrancer.client import Client, InvalidArgument, memory, memory_feedback, tenant, turn
from remembrancer.model.task_context import to_struct
from remembrancer.v1 import common_pb2, recall_pb2, session_pb2
from services.gateway.shared.tokens import ENCODING
from tests.service import ACTIVE, DEEP, OpenSession, Session, contents, hits

MODES = pytest.mark.parametrize("mode", ["active", "deep"])
SOURCE = common_pb2.SourceInfo(kind="ticket", integration="tracker", integration_version="2.1")


@pytest.fixture
def filled(client: Client, scope: str, open_session: OpenSession) -> Session:
    """A session in a scope with statements, turns, an episode and a procedure about a crane."""
    client.remember([memory("fact", f"The crane lifts {n} tonnes of steel.") for n in range(6)], scope=scope)
    client.remember([memory("decision", "The crane gets a new rope.", source=SOURCE)], scope=scope)
    client.record_turns(
        [
            turn(
                "Did you see the crane, Ingrid?",
                name="Otto",
                role="user",
                timestamp="2024-03-01T10:00:00Z",
                msg_id="m1",
            ),
            turn("Yes, Otto. It swings in the wind.", name="Ingrid", role="assistant", msg_id="m2"),
        ],
        scope=scope,
        axes={"conversation_id": "yard"},
    )
    session = open_session()
    session.cover(session.opening.retrieval_id)
    client.commit(
        session.session_id,
        scope=scope,
        final_goal="Secure the crane",
        outcome="success",
        outcome_summary="It is locked.",
        procedure=session_pb2.ProcedureInput(
            summary="Lock the crane against the wind",
            steps=[
                recall_pb2.ProcedureStep(summary="Lower the hook"),
                recall_pb2.ProcedureStep(summary="Pull the brake"),
            ],
            caveats=["Not in a storm"],
            context=to_struct({"site": "yard"}),
        ),
    )
    return open_session()


@MODES
def test_every_field_of_a_hit(filled: Session, mode: str) -> None:
    answer = filled.recall("the crane in the wind", mode, top_k=50)
    found = {hit.content: hit for hit in hits(answer)}
    said = found["Did you see the crane, Ingrid?"]
    assert said.memory_id.startswith("evt_")
    assert (said.kind, said.type) == (common_pb2.MEMORY_KIND_TURN, common_pb2.MEMORY_TYPE_UNSPECIFIED)
    assert (said.role, said.name, said.msg_id) == ("user", "Otto", "m1")
    assert said.status == common_pb2.MEMORY_STATUS_ACTIVE
    assert said.axes == common_pb2.Axes(agent_id="default-agent", conversation_id="yard", project_id="")
    assert said.occurred_at.ToDatetime(UTC) == datetime(2024, 3, 1, 10, tzinfo=UTC)
    assert not said.HasField("provenance")
    assert not said.time_uncertain
    assert found["Yes, Otto. It swings in the wind."].time_uncertain
    decided = found["The crane gets a new rope."]
    assert (decided.kind, decided.type) == (common_pb2.MEMORY_KIND_OBSERVATION, common_pb2.MEMORY_TYPE_DECISION)
    assert decided.provenance == recall_pb2.Provenance(
        source_kind="ticket", integration="tracker", integration_version="2.1"
    )
    (episode,) = [hit for hit in answer.hits.observations if hit.kind == common_pb2.MEMORY_KIND_EPISODE]
    assert episode.memory_id.startswith("ep_")
    assert "Secure the crane" in episode.content
    for hit in hits(answer):
        assert set(hit.found_by) == (
            {ACTIVE, DEEP} if mode == "deep" and not hit.why else {ACTIVE} if mode == "active" else {DEEP}
        )
        assert hit.pathway in (recall_pb2.PATHWAY_DIRECT, recall_pb2.PATHWAY_ASSOCIATED)
        assert bool(hit.why) == (hit.pathway == recall_pb2.PATHWAY_ASSOCIATED)
        assert hit.content_length == len(hit.content)
    assert bool(answer.hits.entities) == (mode == "deep")
    (procedure,) = answer.procedures
    assert procedure.summary == "Lock the crane against the wind"
    assert procedure.relevance > 0.3


@MODES
def test_lists_are_sorted_by_score_then_id(filled: Session, mode: str) -> None:
    answer = filled.recall("crane", mode, top_k=50)
    for listed in (answer.hits.observations, answer.hits.turns):
        keys = [(-hit.score, int(hit.memory_id.split("_")[1])) for hit in listed]
        assert keys == sorted(keys)
    entities = [(-entity.score, entity.entity_id) for entity in answer.hits.entities]
    assert entities == sorted(entities)


@MODES
@pytest.mark.parametrize("evidence", ["references", "full"])
def test_evidence_stands_behind_the_hits_best_first(filled: Session, mode: str, evidence: str) -> None:
    answer = filled.recall("the crane lifts steel", mode, top_k=50, evidence=evidence)
    shown = hits(answer)
    assert answer.evidence_mode == recall_pb2.EvidenceMode.Value(f"EVIDENCE_MODE_{evidence.upper()}")
    assert len(answer.evidence) == 8
    assert answer.evidence_truncated
    by_evidence = {hit.memory_id.replace("sch_", "evt_"): hit for hit in shown}
    scores = [by_evidence[e.evidence_id].score for e in answer.evidence]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == shown[0].score
    for e in answer.evidence:
        hit = by_evidence[e.evidence_id]
        assert (e.recorded_at, e.occurred_at) == (hit.recorded_at, hit.occurred_at)
        episode = hit.kind == common_pb2.MEMORY_KIND_EPISODE
        assert e.source_kind == (recall_pb2.EVIDENCE_KIND_EPISODE if episode else recall_pb2.EVIDENCE_KIND_EVENT)
        assert e.content == (hit.content if evidence == "full" else "")
        if hit.msg_id:
            assert (e.source_ref.kind, e.source_ref.id) == ("message", hit.msg_id)
        elif hit.HasField("provenance"):
            assert (e.source_ref.kind, e.source_ref.id) == ("ticket", "tracker")
    few = filled.recall("the crane lifts steel", mode, top_k=2, kinds=["observation"], types=["decision"])
    assert (len(few.evidence), few.evidence_truncated) == (1, False)


def test_full_evidence_shows_a_thousand_code_points(client: Client, scope: str) -> None:
    client.remember([memory("fact", "🍸" * length) for length in (1000, 1001)], scope=tenant(scope))
    answer = client.recall("🍸", scope=tenant(scope), evidence="full")
    assert sorted((len(e.content), e.content_truncated) for e in answer.evidence) == [(1000, False), (1000, True)]


@MODES
def test_usage_counts_every_text_in_cl100k_tokens(filled: Session, mode: str) -> None:
    encoding = tiktoken.get_encoding(ENCODING)

    def count(*texts: str) -> int:
        return sum(len(encoding.encode(text, disallowed_special=())) for text in texts)

    query, context = "the <|endoftext|> crane", {"site": "yard", "tools": ["rope", 3, True], "n": 7}
    answer = filled.recall(query, mode, task_context=context, evidence="full", include_timeline=True, top_k=50)
    assert answer.procedures
    assert answer.usage.tokens_in == count(query) + count("yard") + count("rope")
    texts = [answer.timeline, *(e.label for e in answer.hits.entities), *(e.content for e in answer.evidence)]
    for hit in hits(answer):
        texts += [hit.content, *hit.why]
    for procedure in answer.procedures:
        texts += [procedure.goal, procedure.summary, procedure.outcome_summary, *procedure.caveats]
        texts += [step.summary for step in procedure.steps]
        texts += list(json_format.MessageToDict(procedure.context).values())
        for use in procedure.contributions:
            texts += [use.contribution, use.outcome_summary]
    assert answer.usage.tokens_out == count(*texts)
    assert filled.recall("nothing", kinds=["turn"], types=["fact"]).usage.tokens_out == sum(
        count(
            p.goal,
            p.summary,
            p.outcome_summary,
            *p.caveats,
            *(s.summary for s in p.steps),
            *json_format.MessageToDict(p.context).values(),
        )
        for p in filled.recall("nothing", kinds=["turn"], types=["fact"]).procedures
    )


def test_more_available_says_that_top_k_cut_something_relevant(filled: Session) -> None:
    query = "how many tonnes of steel does the crane lift?"
    assert filled.recall(query, top_k=1).more_available
    assert not filled.recall(query, top_k=50).more_available
    assert not filled.recall("the boiling point of mercury", top_k=1).more_available
    assert not filled.recall(query, top_k=6, min_score=0.99).more_available


@MODES
def test_s14_superseded_and_outdated_memories_are_hidden_and_shown_marked_when_asked_for(
    client: Client, scope: str, open_session: OpenSession, mode: str
) -> None:
    texts = {
        name: f"The office of {name} is on floor {n}."
        for n, name in enumerate(("new", "superseded", "outdated", "contradicted", "withdrawn"))
    }
    written = client.remember([memory("fact", text) for text in texts.values()], scope=scope).results
    ids = {name: result.memory_id for name, result in zip(texts, written, strict=True)}
    session = open_session()
    answer = session.recall("on which floor is the office?", mode)
    stale = [
        memory_feedback(
            ids[name], "stale", stale_reason=name, reason="told so",
            replacement_memory_id=ids["new"] if name == "superseded" else "",
        )
        for name in texts
        if name != "new"
    ]  # fmt: skip
    client.feedback(answer.retrieval_id, memory_feedback=stale, remaining="not_used", coverage="complete")
    assert contents(session.recall("on which floor is the office?", mode)) == [texts["new"]]
    shown = hits(session.recall("on which floor is the office?", mode, include_superseded=True))
    assert {hit.content: (hit.status, hit.stale_reason) for hit in shown} == {
        texts["new"]: (common_pb2.MEMORY_STATUS_ACTIVE, common_pb2.STALE_REASON_UNSPECIFIED),
        texts["superseded"]: (common_pb2.MEMORY_STATUS_STALE, common_pb2.STALE_REASON_SUPERSEDED),
        texts["outdated"]: (common_pb2.MEMORY_STATUS_STALE, common_pb2.STALE_REASON_OUTDATED),
    }


def test_associated_memories_are_extra_at_most_ten_with_their_way_and_within_every_bound(
    client: Client, scope: str, open_session: OpenSession
) -> None:
    early, late = "2023-01-01T00:00:00Z", "2024-01-01T00:00:00Z"
    client.record_turns(
        [turn("Nadia adopted the greyhound Biscuit.", timestamp=late)]
        + [turn(f"Biscuit ate {n} pills in clinic {n * 7}.", timestamp=early if n % 2 else late) for n in range(24)],
        scope=scope,
        axes={"conversation_id": "pets"},
    )
    client.remember([memory("fact", f"The canal lock number {n} opens at {n}.") for n in range(30)], scope=scope)
    session = open_session()
    query = "Who adopted a greyhound?"
    answer = session.recall(query, "deep", top_k=1)
    direct = [hit for hit in hits(answer) if hit.pathway == recall_pb2.PATHWAY_DIRECT]
    linked = [hit for hit in hits(answer) if hit.pathway == recall_pb2.PATHWAY_ASSOCIATED]
    assert [hit.content for hit in direct] == ["Nadia adopted the greyhound Biscuit."]
    assert 1 <= len(linked) <= 10
    known = {hit.memory_id for hit in hits(answer)}
    assert len(known) == len(hits(answer))
    for hit in linked:
        assert hit.relevance <= direct[0].relevance
        assert not any("ent_" in step for step in hit.why)
        for step in hit.why:
            kind, _, source = step.rpartition(" ")
            assert kind.startswith(('shares "', "next turn of", "previous turn of", "used together", "written in"))
            assert source.partition("_")[0] in ("evt", "sch", "ep")
    # They need feedback like any other.
    assert set(session.ledger().retrievals[-1].exposed) == known
    for bounds in (
        {"occurred_after": datetime(2023, 6, 1, tzinfo=UTC)},
        {"kinds": ["turn"]},
        {"axes": {"conversation_id": "pets"}},
    ):
        bounded = session.recall(query, "deep", top_k=1, **bounds)
        assert len(hits(bounded)) > 1
        if "occurred_after" in bounds:
            assert all(hit.occurred_at.ToDatetime().year == 2024 for hit in hits(bounded))
    assert all(hit.relevance >= 0.4 for hit in hits(session.recall(query, "deep", top_k=1, min_score=0.4)))


def test_the_task_context_is_a_side_cue_that_is_kept_and_never_drowns_the_query(
    client: Client, scope: str, open_session: OpenSession
) -> None:
    texts = {
        "asked": "The ferry to the island leaves at seven.",
        "cued": "Beekeeping needs a smoker, a veil and calm hands.",
        "also": "The ferry carries beehives only in winter.",
    }
    client.remember([memory("fact", text) for text in texts.values()], scope=scope)
    query = "when does the ferry leave?"
    plain = {hit.content: hit for hit in hits(open_session().recall(query))}
    session = open_session()
    hives = {"subject": "Beekeeping: smoker, veil, calm hands, hives, honey. " * 20}
    cued = session.recall(query, task_context=hives)
    found = {hit.content: hit for hit in hits(cued)}
    assert contents(cued)[0] == texts["asked"]
    # It lends at most 5 % of what is missing.
    for text, hit in found.items():
        assert (
            plain[text].relevance <= hit.relevance <= plain[text].relevance + 0.05 * (1 - plain[text].relevance) + 1e-3
        )
    assert found[texts["cued"]].relevance > plain[texts["cued"]].relevance
    # It is kept for later calls, merged key by key, and a failed recall changes nothing of it.
    with pytest.raises(InvalidArgument):
        session.recall(query, task_context={"subject": "ships", "1x": 1})
    again = {hit.content: hit.relevance for hit in hits(session.recall(query, task_context={"place": "harbour"}))}
    assert again[texts["cued"]] > plain[texts["cued"]].relevance
    replaced = {hit.content: hit.relevance for hit in hits(session.recall(query, task_context={"subject": "ships"}))}
    assert replaced[texts["cued"]] < again[texts["cued"]]


def test_s30_task_contexts_add_up_to_a_procedure_filter(filled: Session) -> None:
    assert filled.recall("lock the crane", task_context={"Site ": "yard"}).procedures
    assert filled.recall("lock the crane", task_context={"weather": "storm"}).procedures
    assert not filled.recall("lock the crane", task_context={"site": "roof"}).procedures
    assert not filled.recall("lock the crane").procedures


def test_require_tiers_and_echoes(filled: Session) -> None:
    moment = datetime(2024, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    answer = filled.recall("crane", "deep", require_tiers=["active", "deep"], as_of=moment)
    assert (answer.mode, answer.scope_known) == (recall_pb2.RECALL_MODE_DEEP, True)
    assert answer.as_of.ToDatetime(UTC) == moment
    assert not answer.HasField("active_tier_error")
    assert not answer.HasField("deep_tier_error")
    assert filled.recall("crane", 0, evidence=0).mode == recall_pb2.RECALL_MODE_ACTIVE  # type: ignore[arg-type]
    assert filled.recall("crane").evidence_mode == recall_pb2.EVIDENCE_MODE_REFERENCES
    with pytest.raises(InvalidArgument) as refused:
        filled.recall("crane", require_tiers=["deep"])
    assert refused.value.violations[0].field == "require_tiers"


def test_no_number_in_an_answer_is_nan_or_out_of_its_range(filled: Session) -> None:
    for query in ("crane", "xqzt", "?", "🍸"):
        for mode in ("active", "deep"):
            answer = filled.recall(query, mode, top_k=50, min_score=0.0)
            numbers = json.loads(json.dumps(json_format.MessageToDict(answer), allow_nan=False))
            assert numbers
            for hit in hits(answer):
                assert 0 <= hit.relevance <= hit.score <= hit.relevance + 0.0501
            assert all(0 <= entity.score <= 1 for entity in answer.hits.entities)
            assert all(0 <= procedure.relevance <= 1 for procedure in answer.procedures)
            assert 0 <= answer.confidence < 1


def test_t21_a_path_names_what_is_shared_in_words(client: Client, scope: str) -> None:
    org = tenant(scope)
    texts = ["Nadia adopted the greyhound Biscuit.", "The vet on Mill Lane knows Biscuit well."]
    texts += [f"The canal lock number {n} opens at {n}." for n in range(20)]
    ids = client.remember([memory("fact", text) for text in texts], scope=org).results
    answer = client.recall("Who adopted a greyhound?", scope=org, mode="deep", top_k=1)
    ways = {hit.content: list(hit.why) for hit in hits(answer) if hit.pathway == recall_pb2.PATHWAY_ASSOCIATED}
    assert ways[texts[1]] == [f'shares "Biscuit" with {ids[0].memory_id}']
