"""The simple model that the real ledger is compared with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum

from remembrancer.v1 import session_pb2


class State(Enum):
    """Where a session stands."""

    OPEN = session_pb2.SESSION_STATE_OPEN
    COMMITTED = session_pb2.SESSION_STATE_COMMITTED
    ABANDONED = session_pb2.SESSION_STATE_ABANDONED
    EXPIRED = session_pb2.SESSION_STATE_EXPIRED


REFUSALS = {State.COMMITTED: "SESSION_ENDED", State.ABANDONED: "SESSION_ENDED", State.EXPIRED: "SESSION_EXPIRED"}


@dataclass
class Retrieval:
    """What one answer exposed, and what was said about it."""

    id: str
    exposed: set[str]
    assessed: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    complete: bool = False

    @property
    def outstanding(self) -> set[str]:
        return self.exposed - self.assessed

    def take(
        self,
        good: set[str],
        *,
        bad: bool = False,
        remaining: bool = False,
        complete: bool = False,
        stale: Collection[str] = (),
    ) -> None:
        """Note feedback: well-formed entries on exposed targets, whether others were bad, and what was declared.

        `stale` are those of them that were declared stale, which is final.
        """
        self.assessed |= good
        self.stale.update(stale)
        if remaining:
            self.assessed |= {target for target in self.exposed if not target.startswith("proc_")}
        self.complete = self.complete or (complete and not bad and not self.outstanding)


@dataclass
class Session:
    """One session with its retrievals, oldest first."""

    id: str
    state: State = State.OPEN
    retrievals: list[Retrieval] = field(default_factory=list)
    committed_once: bool = False
    episode: str = ""

    @property
    def uncovered(self) -> list[Retrieval]:
        return [retrieval for retrieval in self.retrievals if not retrieval.complete]
