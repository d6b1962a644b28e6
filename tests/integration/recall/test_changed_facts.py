"""A fact that changed in one number, name, date or "not" is no copy of what it was: both versions are found."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest

from bench import statements
from remembrancer.client import Client, memory, tenant
from remembrancer.v1 import common_pb2
from tests.service import contents

FILLERS = 20

PAIRS = (
    (
        "The weekly meeting with the design team is at 3 pm in room 12.",
        "The weekly meeting with the design team is at 4 pm in room 12.",
        "When {was|is} the weekly meeting with the design team {before|now}?",
    ),
    (
        "The build server has 16 GB of memory and runs Debian.",
        "The build server has 64 GB of memory and runs Debian.",
        "How much memory {did|does} the build server have {before|now}?",
    ),
    (
        "The monthly rent of our office in Graz is 1450 euros.",
        "The monthly rent of our office in Graz is 1620 euros.",
        "What {was|is} the monthly rent of our office in Graz {before|now}?",
    ),
    (
        "The password of the guest network is kept by Marta Quill.",
        "The password of the guest network is kept by Jonas Quill.",
        "Who {kept|keeps} the password of the guest network {before|now}?",
    ),
    (
        "Our contact at the print shop is Helena Brandt.",
        "Our contact at the print shop is Regina Brandt.",
        "Who {was|is} our contact at the print shop {before|now}?",
    ),
    (
        "The spare key of the boat house hangs at the house of Olga.",
        "The spare key of the boat house hangs at the house of Vera.",
        "At whose house {did|does} the spare key of the boat house hang {before|now}?",
    ),
    (
        "The release of the mobile app is planned for March 14.",
        "The release of the mobile app is planned for March 28.",
        "For which day {was|is} the release of the mobile app {planned before|now planned}?",
    ),
    (
        "The choir practises on Tuesday evening in the parish hall.",
        "The choir practises on Thursday evening in the parish hall.",
        "On which evening {did|does} the choir practise {before|now}?",
    ),
    (
        "The lease of the delivery van ends in June 2027.",
        "The lease of the delivery van ends in June 2029.",
        "When {did|does} the lease of the delivery van end {before|now}?",
    ),
    (
        "The staging cluster is allowed to send mail to customers.",
        "The staging cluster is not allowed to send mail to customers.",
        "{Was|Is} the staging cluster allowed to send mail to customers {before|now}?",
    ),
    (
        "The nightly backup includes the video archive.",
        "The nightly backup never includes the video archive.",
        "{Did|Does} the nightly backup include the video archive {before|now}?",
    ),
    (
        "Grandmother can eat walnuts and almonds.",
        "Grandmother can't eat walnuts and almonds.",
        "{Could|Can} grandmother eat walnuts and almonds {before|now}?",
    ),
)
"""Older, newer, and the question with its words for then and for now."""


def asked(question: str, now: bool) -> str:
    """Return the question about then, or about now."""
    parts = [part.split("|") for part in question.replace("}", "{").split("{")]
    return "".join(part[-1 if now else 0] for part in parts)


@pytest.fixture(scope="module")
def changed(client: Client) -> common_pb2.Scope:
    """A scope with both versions of every fact among fillers."""
    scope = tenant(f"changed-{uuid.uuid4()}")
    older, newer = datetime(2025, 3, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    client.remember(
        [
            *(memory("fact", text, occurred_at=older) for text in statements.filler(FILLERS)),
            *(memory("fact", pair[0], occurred_at=older) for pair in PAIRS),
            *(memory("fact", pair[1], occurred_at=newer) for pair in PAIRS),
        ],
        scope=scope,
    )
    return scope


@pytest.mark.parametrize("now", [True, False])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0][:24])
def test_t27_a_changed_fact_is_no_copy(
    client: Client, changed: common_pb2.Scope, pair: tuple[str, str, str], now: bool
) -> None:
    older, newer, question = pair
    answer = client.recall(asked(question, now), scope=changed, as_of=datetime(2026, 3, 1, tzinfo=UTC))
    assert {older, newer} <= set(contents(answer))
    assert answer.probable_answer.text == (newer if now else older)
