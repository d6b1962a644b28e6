"""`remembrancer reindex`: another model's vectors are filled in while the old one serves, then they serve."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from google.rpc import error_details_pb2, status_pb2

from remembrancer.cli.ineffective import other_model
from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.service import LocalService
from remembrancer.cli.local.state import read_state
from remembrancer.client import Client, ClientError, memory, tenant
from remembrancer.runtime.refusal import WRONG_MODEL
from remembrancer.store.keys import CURRENT_MODEL, MODELS, NEXT_MODEL, PartitionKeys, partition_of
from tests import small_model
from tests.gateway import Extra, Gateway
from tests.service import Store, contents, open_store
from tests.valkey import until

OLD = "all-MiniLM-L6-v2-int8@53aa5117"
BIG, SMALL, FRESH = tenant("big"), tenant("small"), tenant("fresh")
KNOWN = "The ferry to the island leaves at seven in the morning."
CAKE = "Grandmother bakes plum cake."
RECORDS = 64
LONGEST_GAP = 10.0
"""Seconds, on a busy machine, until the service's encoder has come back with the new model."""


class Traffic(threading.Thread):
    """Recalls and writes, one after the other, until it is told to stop."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address, self.ended = address, threading.Event()
        self.recalls: list[tuple[float, bool]] = []
        self.failures: list[Exception] = []
        self.written = 0

    def run(self) -> None:
        try:
            with Client.connect(self.address, attempts=1) as client:
                while not self.ended.is_set():
                    self._once(client)
        except (AssertionError, ClientError) as error:
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
        assert {reason(error) for error in errors} <= {"ENCODER_UNAVAILABLE"}
        self.recalls.append((time.monotonic(), bool(errors)))
        time.sleep(0.05)

    def seconds_without_meaning(self) -> float:
        """Return how long recalls were answered by words only; 0 when none was."""
        failed = [at for at, failed in self.recalls if failed]
        return failed[-1] - failed[0] if failed else 0.0

    def __enter__(self) -> Traffic:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self.join()
        if error is None and self.failures:
            raise self.failures[0]


def reason(status: status_pb2.Status) -> str:
    info = error_details_pb2.ErrorInfo()
    status.details[0].Unpack(info)
    return str(info.reason)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model.build(tmp_path_factory.mktemp("models") / "short")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def command(data: Path, model: Path) -> list[str]:
    return [sys.executable, "-m", "remembrancer.cli", "reindex", "--data", str(data), "--model", str(model), "--json"]


@contextlib.contextmanager
def running(data: Path) -> Iterator[tuple[LocalService, Client, Store]]:
    """Run the service of a data folder; with a client of it, and of its store."""
    with LocalService(data) as service, Client.connect(service.address) as client, open_store(service.plan) as store:
        yield service, client, store


def vector_keys(store: Store) -> list[str]:
    return sorted(key.decode() for key in store.scan_iter("rm:*:vec:*"))


@pytest.mark.timeout(240)
def test_c12_a_new_model_is_filled_in_while_the_old_one_serves_then_serves(data: Path, model: Path) -> None:
    with running(data) as (service, client, store):
        texts = [KNOWN, *(f"Shelf {i} holds the books of author {i}. " * 4 for i in range(RECORDS - 1))]
        client.remember([memory("fact", text) for text in texts], scope=BIG)
        client.remember([memory("fact", CAKE)], scope=SMALL)
        with Traffic(service.address) as traffic:
            kill_in_the_middle(store, data, model)
            assert store.get(CURRENT_MODEL) == OLD.encode()
            assert not any(failed for _, failed in traffic.recalls)
            done = reindexed(data, model)
        assert (done["former_model_id"], done["dimension"]) == (OLD, small_model.DIMENSION)
        new = done["model_id"]
        assert traffic.seconds_without_meaning() < LONGEST_GAP
        assert [store.get(CURRENT_MODEL), store.get(NEXT_MODEL)] == [new.encode(), None]
        assert store.hgetall(MODELS) == {new.encode(): b"128"}
        until(lambda: not list(store.scan_iter("rm:*:unembedded")), 10, "that nothing waits for a vector")
        only_vectors_of(new, store, "big", "small", "fresh")
        by_meaning(client)
        the_old_model_is_refused(service, new)
    with running(data) as (service, client, _):
        by_meaning(client)
        the_model_that_serves_is_told_of(service, model)


@pytest.mark.long
def test_in_containers_an_encoder_beside_the_service_brings_the_model(data: Path, model: Path) -> None:
    with running(data) as (service, client, store):
        client.remember([memory("fact", KNOWN)], scope=BIG)
        client.remember([memory("fact", CAKE)], scope=SMALL)
        with Extra(service, Role.ENCODER, {"model": str(model), "next": "true"}) as following:
            process = subprocess.run(
                [sys.executable, "-m", "remembrancer.cli", "reindex", "--encoder", following.address, "--json"],
                env={**following.command.environment},
                capture_output=True,
                text=True,
                timeout=90,
            )
            assert process.returncode == 0, process.stderr
            done = json.loads(process.stdout)
            assert done["embedded"] == 2
            assert store.get(CURRENT_MODEL) == done["model_id"].encode()
            with Gateway(service, encoder_targets=f"127.0.0.1:1,{following.address}") as gateway:
                by_meaning(gateway.client())
        only_vectors_of(done["model_id"], store, "big", "small")
        # The service's own encoder ended by itself, and cannot come back without the model.
        assert OLD in service.folder.log("encoder").read_text()
        assert done["model_id"] in service.folder.log("encoder").read_text()


def kill_in_the_middle(store: Store, data: Path, model: Path) -> None:
    """Begin a reindexing and kill it (SIGKILL) once it has filled something in."""
    process = subprocess.Popen(command(data, model), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def filled() -> int:
        return max((store.hlen(key) for key in vector_keys(store) if OLD not in key), default=0)

    until(lambda: filled() > 0 or process.poll() is not None, 60, "that something is filled in")
    process.kill()
    process.wait()
    assert 0 < filled() < RECORDS


def reindexed(data: Path, model: Path) -> dict[str, Any]:
    process = subprocess.run(command(data, model), capture_output=True, text=True, timeout=90)
    assert process.returncode == 0, process.stderr
    return dict(json.loads(process.stdout))


def only_vectors_of(model_id: str, store: Store, *names: str) -> None:
    """Assert that every record has a vector of the model, and nothing else has one."""
    partitions = [PartitionKeys(partition_of(f"org:{name}")) for name in names]
    assert vector_keys(store) == sorted(keys.vectors(model_id) for keys in partitions)
    for keys in partitions:
        assert set(store.hkeys(keys.vectors(model_id))) == set(store.hkeys(keys.records)) != set()
        lengths = {len(value) for value in store.hvals(keys.vectors(model_id))}
        assert all(length % (2 * small_model.DIMENSION) == 0 for length in lengths)


def by_meaning(client: Client) -> None:
    for scope, query, text in (
        (BIG, "When does the boat depart?", KNOWN),
        (SMALL, "Which dessert does Granny make?", CAKE),
    ):
        answer = client.recall(query, scope=scope, mode="deep", require_tiers=["active", "deep"])
        assert contents(answer)[0] == text


def the_model_that_serves_is_told_of(service: LocalService, model: Path) -> None:
    state = read_state(service.folder)
    assert state is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REMEMBRANCER_MODEL", str(model))
        assert other_model(service.folder, state) == []
        patch.setenv("REMEMBRANCER_MODEL", "all-MiniLM-L6-v2")
        (line,) = other_model(service.folder, state)
    assert line.startswith(f"The model {model} serves")
    assert line.endswith(" --model all-MiniLM-L6-v2")


def the_old_model_is_refused(service: LocalService, new: str) -> None:
    old = Extra(service, Role.ENCODER, {"model": "all-MiniLM-L6-v2", "models_file": str(service.folder.root / "none")})
    process = subprocess.run(old.command.arguments, env=old.command.environment, capture_output=True, text=True)
    assert process.returncode == WRONG_MODEL
    assert process.stderr.count("\n") == 1
    assert new in process.stderr
    assert OLD in process.stderr
