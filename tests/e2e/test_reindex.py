"""`remembrancer reindex`: another model's vectors are filled in while the old one serves, then they serve."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client, memory, tenant
from remembrancer.runtime.refusal import WRONG_MODEL
from remembrancer.store.keys import CURRENT_MODEL, MODELS, NEXT_MODEL, PartitionKeys, partition_of
from tests import small_model
from tests.gateway import Extra
from tests.service import contents
from tests.valkey import until

OLD = "all-MiniLM-L6-v2-int8@53aa5117"
BIG, SMALL, FRESH = tenant("big"), tenant("small"), tenant("fresh")
KNOWN = "The ferry to the island leaves at seven in the morning."
RECORDS = 100


class Traffic(threading.Thread):
    """Recalls and writes, one after the other, until it is told to stop."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address, self.ended = address, threading.Event()
        self.recalls: list[tuple[float, bool, str]] = []
        self.failures: list[BaseException] = []
        self.written = 0

    def run(self) -> None:
        try:
            with Client.connect(self.address, attempts=1) as client:
                while not self.ended.is_set():
                    self._once(client)
        except BaseException as error:
            self.failures.append(error)

    def _once(self, client: Client) -> None:
        scope = (BIG, FRESH)[self.written % 2]
        client.remember([memory("fact", f"Note {self.written} was written meanwhile.")], scope=scope)
        self.written += 1
        if self.written % 5 == 0:
            client.update_memory("sch_7", scope=BIG, content=f"The seventh text in its form {self.written}.")
        answer = client.recall(KNOWN, scope=BIG, mode="deep", top_k=3)
        errors = [e for e in (answer.active_tier_error, answer.deep_tier_error) if e.code]
        # Against vectors of another model the very text would not be the first, nor about 1.
        first = answer.hits.observations[0]
        assert first.content == KNOWN
        assert first.relevance > 0.95 or errors
        self.recalls.append((time.monotonic(), bool(errors), "".join(str(e) for e in errors)))

    def stop(self) -> None:
        self.ended.set()
        self.join()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model.build(tmp_path_factory.mktemp("models") / "short")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def command(data: Path, model: Path) -> list[str]:
    return [sys.executable, "-m", "remembrancer.cli", "reindex", "--data", str(data), "--model", str(model), "--json"]


def start(data: Path, model: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(command(data, model), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def vector_keys(store: Any) -> list[str]:
    return sorted(key.decode() for key in store.scan_iter("rm:*:vec:*"))


def test_c12_a_new_model_is_filled_in_while_the_old_one_serves_then_serves(data: Path, model: Path) -> None:
    with LocalService(data) as service, Client.connect(service.address) as client:
        store = redis.Redis.from_url(service.plan.store_url)
        texts = [KNOWN, *(f"Shelf {i} holds the books of author {i}. " * 8 for i in range(RECORDS - 1))]
        client.remember([memory("fact", text) for text in texts], scope=BIG)
        client.remember([memory("fact", "Grandmother bakes plum cake.")], scope=SMALL)
        big = PartitionKeys(partition_of("org:big"))
        traffic = Traffic(service.address)
        traffic.start()
        try:
            kill_in_the_middle(store, data, model)
            assert store.get(CURRENT_MODEL).decode() == OLD
            begun = time.monotonic()
            process = start(data, model)
            output, errors = process.communicate(timeout=60)
            assert process.returncode == 0, errors
            print("reindex took", time.monotonic() - begun)
            done = json.loads(output)
            flipped = time.monotonic()
            time.sleep(0.5)
        finally:
            traffic.stop()
        if traffic.failures:
            raise traffic.failures[0]
        new = done["model_id"]
        failed = [at for at, failed, _ in traffic.recalls if failed]
        print(len(traffic.recalls), traffic.written, failed and (failed[-1] - failed[0]), {t for _, _, t in traffic.recalls})
        assert (done["former_model_id"], done["dimension"]) == (OLD, small_model.DIMENSION)
        assert [store.get(CURRENT_MODEL).decode(), store.get(NEXT_MODEL)] == [new, None]
        assert store.hgetall(MODELS) == {new.encode(): b"128"}
        until(lambda: not list(store.scan_iter("rm:*unembedded")), 10, "that nothing waits for a vector")
        keys = vector_keys(store)
        assert keys == sorted(PartitionKeys(partition_of(f"org:{o}")).vectors(new) for o in ("big", "small", "fresh"))
        for key in keys:
            records = key.partition("vec:")[0] + "rec"
            assert store.hkeys(key) and set(store.hkeys(key)) == set(store.hkeys(records))
            assert all(len(value) % (2 * small_model.DIMENSION) == 0 for value in store.hvals(key))
        by_meaning(client)


def kill_in_the_middle(store: Any, data: Path, model: Path) -> None:
    process = start(data, model)
    begun = time.monotonic()

    def filled() -> int:
        return max((store.hlen(key) for key in vector_keys(store) if OLD not in key), default=0)

    until(lambda: filled() > 0 or process.poll() is not None, 30, "that something is filled")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    print("killed at", filled(), "after", time.monotonic() - begun)
    assert 0 < filled() < RECORDS


def by_meaning(client: Client) -> None:
    for scope, query, text in ((BIG, "When does the boat depart?", KNOWN), (SMALL, "Which dessert does Granny make?", "")):
        answer = client.recall(query, scope=scope, mode="deep", require_tiers=["active", "deep"])
        assert contents(answer)[0].startswith(text or "Grandmother")
