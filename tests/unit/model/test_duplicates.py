"""Which memories say the same, and which only nearly."""

from __future__ import annotations

import numpy as np
import pytest

from remembrancer.model.duplicates import NearDuplicates, Statement
from remembrancer.model.particulars import particulars, particulars_key, statement_key
from tests import vectors


def of(text: str, windows: vectors.Vector | None = None, at: float | None = 1.0) -> Statement:
    return Statement(
        statement_key(text), particulars_key(text), None if windows is None else np.atleast_2d(windows), at
    )


def taken(*statements: Statement, room: int = 9) -> NearDuplicates[int]:
    """Return what becomes of statements, numbered from 0, the best first."""
    seen = NearDuplicates[int]()
    for i, statement in enumerate(statements):
        seen.take(i, statement, room)
    return seen


@pytest.mark.parametrize(("cosine", "new"), [(0.96, [0, 1]), (0.98, [0])])
def test_t25_from_a_cosine_of_97_on_texts_say_the_same(cosine: float, new: list[int]) -> None:
    first = vectors.direction("first", 32)
    seen = taken(of("the tap drips", first), of("a tap is dripping", vectors.near(first, cosine, "second")))
    assert seen.new == new


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The meeting is at 3 pm.", "The meeting is at 4 pm."),
        ("The meeting is at 3 pm.", "The meeting is at 3 am."),
        ("We need three chairs.", "We need four chairs."),
        ("It was -5 outside.", "It was 5 outside."),
        ("It costs $5 a day.", "It costs €5 a day."),
        ("A disk of 10⁹ bytes.", "A disk of 109 bytes."),
        ("The shop opens on tuesday.", "The shop opens on friday."),
        ("Due on May 3.", "Due on June 3."),
        ("Anna leads the team.", "Olga leads the team."),
        ("ROOM 12 IS TAKEN", "ROOM 14 IS TAKEN"),
        ("We moved from Rome to Oslo.", "We moved from Oslo to Rome."),
        ("Choose plan A for us.", "Choose plan B for us."),
        ("See bug-183 for that.", "See bug-184 for that."),
        ("Call get_user first.", "Call get_users first."),
        ("Read /etc/hosts first.", "Read /etc/host first."),
        ("Set maxSize there.", "Set minSize there."),
        ("Written in C++ mostly.", "Written in C# mostly."),
        ("The port is open.", "The port is not open."),
        ("The port isn't open.", "The port is open."),
        ("You cant enter.", "You can enter."),
        ("We always rest.", "We never rest."),
        ("Der Hafen ist nicht offen.", "Der Hafen ist offen."),
        ("Порт не открыт.", "Порт открыт."),
        ("会议在东京", "会议在大阪"),
    ],
)
def test_t27_a_fact_that_changed_is_no_copy(one: str, other: str) -> None:
    same = vectors.direction("same", 32)
    assert taken(of(one, same), of(other, same)).new == [0, 1]
    assert taken(of(one, same), of(one + " ", same), of(other, same), of(one + "!", same)).new == [0, 2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The cat likes fish.", "My cat likes fish!"),
        ("She isn't at home.", "She is not at home."),
        ("We need three chairs.", "We do need 3 chairs."),
        ("The door is shut.", "THE DOOR IS SHUT"),
        ("Actually, I met Anna.", "Yes: I met Anna."),
        ("I met Anna's cat.", "I met Anna’s cat!"),
    ],
)
def test_t27_other_words_for_the_same_make_a_copy(one: str, other: str) -> None:
    same = vectors.direction("same", 32)
    assert list(particulars(one)) == list(particulars(other))
    assert taken(of(one, same), of(other, same)).new == [0]


def test_t27_of_copies_the_newest_is_in_front_and_none_with_an_uncertain_time_is_newer() -> None:
    assert taken(of("a", at=2.0), of("a", at=3.0), of("a", at=1.0), of("a", at=3.0), of("a", at=None)).new == [1]
    assert taken(of("a", at=2.0), of("a", at=3.0), of("a", at=1.0)).copies == [0, 2]
    assert taken(of("a", at=None), of("a", at=1.0)).new == [1]
    assert taken(of("a", at=None), of("a", at=None)).new == [0]
    # One that is newer is looked for behind the last that finds room, too.
    full = taken(of("a", at=1.0), of("b", at=1.0), of("c", at=1.0), of("a", at=2.0), room=2)
    assert (full.new, full.copies, full.left) == ([3, 1], [0], [2])


def test_copies_of_many_windows_are_near_in_each() -> None:
    windows = np.stack([vectors.direction(name, 32) for name in "xy"])
    half = np.stack([windows[0], vectors.direction("z", 32)])
    assert taken(of("red", windows), of("green", half), of("blue", windows)).new == [0, 1]
