"""T23: a file that is ingested again stores nothing twice, and one that broke off says what is stored."""

from __future__ import annotations

import json
from collections.abc import Sequence

import grpc
import pytest
import typer

from remembrancer.cli.memories.ingest import ingest_turns
from remembrancer.cli.memories.lines import turns
from remembrancer.cli.memories.turn_ids import with_ids
from remembrancer.client import Unavailable
from remembrancer.client.errors import Details
from remembrancer.v1 import memory_pb2


class Service:
    """A service that knows turns by their message ids alone, and that fails in the batch with this number."""

    def __init__(self, failure: BaseException | None = None, batch: int = -1) -> None:
        self.known: dict[str, str] = {}
        self._failure, self._left = failure, batch

    def record_turns(
        self, turns: Sequence[memory_pb2.TurnInput], *, scope: str, axes: dict[str, str]
    ) -> memory_pb2.RecordTurnsResponse:
        if self._failure is not None and self._left == 0:
            raise self._failure
        self._left -= 1
        answer = memory_pb2.RecordTurnsResponse(persisted=True)
        for turn in turns:
            known = turn.msg_id in self.known
            self.known[turn.msg_id] = turn.content
            disposition = memory_pb2.WRITE_DISPOSITION_MATCHED if known else memory_pb2.WRITE_DISPOSITION_CREATED
            answer.results.add(memory_id="evt_1", disposition=disposition, embedded=True)
        return answer


def ingest(service: Service, lines: list[str]) -> None:
    ingest_turns(service, "a:b", lines, {}, as_text=False, as_json=False)  # type: ignore[arg-type]


def ids(*lines: str) -> list[str]:
    return [item.message.msg_id for item in with_ids(turns(lines, as_text=False))]


def test_t23_a_turn_without_id_and_time_is_known_by_the_file_up_to_it() -> None:
    first = ids("Yes.", "No.", "Yes.")
    assert len(set(first)) == 3
    assert ids("Yes.", "", "No.", "Yes.", "And more.")[:3] == first
    assert not set(ids("Well.", "No.", "Yes.")) & set(first)
    assert ids(json.dumps({"content": "Yes.", "name": "Ida"})) != first[:1]


def test_t23_an_id_or_a_time_of_its_own_stays_as_it_is() -> None:
    dated, named = {"content": "Yes.", "timestamp": "2024-03-10"}, {"content": "Yes.", "msg_id": "7"}
    assert ids(json.dumps(dated), json.dumps(named)) == ["", "7"]
    (derived,) = ids(json.dumps({"content": "Yes.", "timestamp": "at noon"}))
    assert derived


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), Unavailable(Details(grpc.StatusCode.UNAVAILABLE, "down"))])
def test_t23_what_broke_off_says_what_is_stored_and_again_stores_the_rest(
    failure: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"Line {n % 7}." for n in range(250)]
    service = Service(failure, batch=1)
    with pytest.raises((typer.Exit, Unavailable)) as ended:
        ingest(service, lines)
    assert getattr(ended.value, "exit_code", 1) == (130 if isinstance(failure, KeyboardInterrupt) else 1)
    told = "100 of 250 are stored, and perhaps up to 100 more; the same command again stores the rest"
    assert told in capsys.readouterr().err
    again = Service()
    again.known = dict(service.known)
    ingest(again, lines)
    assert capsys.readouterr().out == "150 stored, 100 known already\n"
    assert len(again.known) == 250
