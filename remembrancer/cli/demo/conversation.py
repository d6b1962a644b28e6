"""The made-up conversation of the demo: two friends, six sessions over nine months."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from remembrancer.client import turn
from remembrancer.v1 import memory_pb2


@dataclass(frozen=True, slots=True)
class Sitting:
    """One sitting of the two: its conversation id and its turns, which share one time."""

    conversation_id: str
    turns: Sequence[memory_pb2.TurnInput]


@dataclass(frozen=True, slots=True)
class Conversation:
    """All sittings, oldest first, and the scope that they are kept in."""

    scope: str
    sittings: Sequence[Sitting]

    @property
    def turn_count(self) -> int:
        """How many turns there are in all."""
        return sum(len(sitting.turns) for sitting in self.sittings)


def load() -> Conversation:
    """Read the conversation from the package."""
    value = json.loads(resources.files(__package__).joinpath("conversation.json").read_text(encoding="utf-8"))
    return Conversation(
        scope=value["scope"],
        sittings=[
            Sitting(
                conversation_id=sitting["conversation_id"],
                turns=[
                    turn(
                        said["text"],
                        name=said["speaker"],
                        timestamp=sitting["time"],
                        msg_id=f"{sitting['conversation_id']}:{number}",
                    )
                    for number, said in enumerate(sitting["turns"], 1)
                ],
            )
            for sitting in value["sessions"]
        ],
    )
