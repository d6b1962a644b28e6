"""Ids that callers see, and what they carry inside.

Session and retrieval ids are opaque to callers; for the service they carry the partition and the ledger, so that
feedback needs no scope and no lookup table.
"""

from __future__ import annotations

import base64
import re
import secrets
from dataclasses import dataclass
from typing import Final

from remembrancer.internal.v1 import store_pb2

N_DIGITS: Final = 18
"""Digits of the largest N: what surely fits into 64 bits."""

_PREFIXES: Final[dict[int, str]] = {
    store_pb2.RECORD_KIND_OBSERVATION: "sch",
    store_pb2.RECORD_KIND_TURN: "evt",
    store_pb2.RECORD_KIND_EPISODE: "ep",
    store_pb2.RECORD_KIND_PROCEDURE: "proc",
}
_KINDS: Final = {prefix: kind for kind, prefix in _PREFIXES.items()}
_RECORD_ID: Final = re.compile(rf"({'|'.join(_KINDS)})_([1-9][0-9]{{0,{N_DIGITS - 1}}})")
_SESSION_ID: Final = re.compile(r"ses_([a-z2-7]{26})_([a-z2-7]{16})")
_CONTINUITY_ID: Final = re.compile(r"con_[a-z2-7]{16}")
_RETRIEVAL_ID: Final = re.compile(r"ret_([a-z2-7]{26})_([a-z2-7]{16})_([a-z2-7]{16})")


@dataclass(frozen=True, slots=True)
class SessionRef:
    """What a session id carries: the partition and the name of its ledger."""

    partition: str
    ledger: str

    def __str__(self) -> str:
        return f"ses_{self.partition}_{self.ledger}"


@dataclass(frozen=True, slots=True)
class RetrievalRef:
    """What a retrieval id carries: the partition, its ledger, and its key in it.

    A stateless retrieval has a ledger of its own, whose name is its key.
    """

    partition: str
    ledger: str
    key: str

    @property
    def stateless(self) -> bool:
        """Whether no session waits for feedback on it."""
        return self.ledger == self.key

    def __str__(self) -> str:
        return f"ret_{self.partition}_{self.ledger}_{self.key}"


def new_token() -> str:
    """Return 16 random characters of [a-z2-7] (80 bits)."""
    return base64.b32encode(secrets.token_bytes(10)).decode("ascii").lower()


def parse_session(session_id: str) -> SessionRef | None:
    """Return what a session id carries; None when it is none."""
    match = _SESSION_ID.fullmatch(session_id)
    return SessionRef(*match.groups()) if match else None


def parse_retrieval(retrieval_id: str) -> RetrievalRef | None:
    """Return what a retrieval id carries; None when it is none."""
    match = _RETRIEVAL_ID.fullmatch(retrieval_id)
    return RetrievalRef(*match.groups()) if match else None


def new_continuity() -> str:
    """Return a new continuity id."""
    return f"con_{new_token()}"


def is_continuity(continuity_id: str) -> bool:
    """Return whether a text has the form of a continuity id."""
    return _CONTINUITY_ID.fullmatch(continuity_id) is not None


def record_id(kind: int, n: int) -> str:
    """Return the public id of a record, such as `sch_12`."""
    return f"{_PREFIXES[kind]}_{n}"


def is_procedure(name: str) -> bool:
    """Return whether an id, made by this service or not, has the form of a procedure's."""
    return name.startswith(f"{_PREFIXES[store_pb2.RECORD_KIND_PROCEDURE]}_")


def number_of(memory_id: str) -> int:
    """Return N of a public record id that this service made."""
    return int(memory_id.rpartition("_")[2])


def parse_record(memory_id: str) -> tuple[int, int] | None:
    """Return (kind, N) of a public record id; None when it is none."""
    match = _RECORD_ID.fullmatch(memory_id)
    return (_KINDS[match[1]], int(match[2])) if match else None
