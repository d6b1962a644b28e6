"""The store loses everything while the service runs (field case B14)."""

from __future__ import annotations

import pytest

from remembrancer.client import Client, ClientError, memory
from remembrancer.v1 import session_pb2
from tests.cluster_service import ClusterService
from tests.service import Session, found_by, hits

OLD, NEW = "The old kiln is in the yard.", "The new kiln is in the cellar."


@pytest.mark.essential
@pytest.mark.parametrize("topology", ["cluster"], indirect=True)  # other tests share the single store
def test_b14_nothing_old_is_ever_answered_again(service: ClusterService, client: Client, scope: str) -> None:
    client.remember([memory("fact", OLD)], scope=scope)
    opening = client.activate("fire the kiln", "warm hands", scope=scope)
    session = Session(client, scope, opening.session_id, opening)
    assert hits(session.recall("where is the kiln?", "deep"))
    for node in service.cluster.primaries:
        node.client().flushall()
    with pytest.raises(ClientError) as refused:
        session.recall("where is the kiln?")
    assert refused.value.reason == "SESSION_NOT_FOUND"
    again = client.activate("fire the kiln", "warm hands", scope=scope)
    assert again.memory_state == session_pb2.MEMORY_STATE_COLD_START
    assert hits(again) == []
    client.remember([memory("fact", NEW)], scope=scope)
    for mode in ("active", "deep"):
        # No word in common: it is found by its meaning, with vectors of the model that the store has learned anew.
        answer = client.recall("pottery oven", scope=scope, session_id=again.session_id, mode=mode)
        (hit,) = hits(answer)
        assert hit.content == NEW
        assert hit.relevance > 0.1
        assert not answer.HasField("active_tier_error")
        assert not answer.HasField("deep_tier_error")
    assert len(found_by(answer, NEW)) == 2
