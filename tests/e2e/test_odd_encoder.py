"""A gateway whose encoder makes nonsense, or stops in the middle of a batch; the others of the service are well."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import grpc
import numpy as np
import pytest

from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory, reason_of
from remembrancer.store.keys import CURRENT_MODEL, PartitionKeys, partition_of
from tests.gateway import Gateway
from tests.odd_encoder import OddEncoder, sleeping, unit
from tests.service import OpenSession, Store, contents

DIMENSION = 384
NAN = np.full(DIMENSION, np.nan, dtype="<f2").tobytes()


@pytest.fixture(scope="module")
def odd(stored: Store) -> Iterator[OddEncoder]:
    with OddEncoder(stored.get(CURRENT_MODEL).decode(), DIMENSION) as running:
        yield running


@pytest.fixture(scope="module")
def odd_client(service: LocalService, odd: OddEncoder) -> Iterator[Client]:
    with Gateway(service, encoder_targets=odd.address) as gateway, gateway.client() as connected:
        yield connected


def test_t8_nonsense_is_not_stored_and_a_query_of_it_is_told(
    odd_client: Client, odd: OddEncoder, open_session: OpenSession, stored: Store, scope: str
) -> None:
    odd.vectors = lambda text, context: NAN
    session = open_session()
    written = odd_client.remember([memory("fact", "The weather vane points north.")], scope=scope).results[0]
    assert not written.embedded
    answer = odd_client.recall("weather vane", scope=scope, session_id=session.session_id, mode="deep")
    assert contents(answer) == ["The weather vane points north."]
    assert reason_of(answer.active_tier_error) == reason_of(answer.deep_tier_error) == "ENCODER_UNAVAILABLE"
    assert not any(np.isnan(hit.score) for hit in (*answer.hits.observations, *answer.hits.turns))
    # Whatever embeds it in the end, it is not this encoder.
    vectors = stored.hvals(PartitionKeys(partition_of(scope)).vectors(odd.model_id))
    assert NAN not in vectors


def test_t13_a_batch_comes_back_with_what_was_embedded_in_time(odd_client: Client, odd: OddEncoder, scope: str) -> None:
    stopped, lock = [0], threading.Lock()

    def vectors(text: str, context: grpc.ServicerContext) -> bytes:
        with lock:
            stopped[0] += len(text) > 1
        if stopped[0] > 6:
            sleeping(10, context)
        return unit(DIMENSION)

    odd.vectors = vectors
    texts = [memory("fact", f"Log {i}. " + "The crew mends the sails. " * 550) for i in range(8)]
    results = odd_client.remember(texts, scope=scope, timeout=5).results
    assert [result.embedded for result in results] == [True] * 6 + [False] * 2
