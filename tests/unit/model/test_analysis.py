"""Index terms, entities, dates and folding."""

from __future__ import annotations

import re
import time
import unicodedata
from datetime import datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remembrancer.model.analysis import analyse, date_terms
from remembrancer.model.analysis_terms import UNSPACED
from remembrancer.model.text import fold


def terms(text: str) -> list[str]:
    return list(analyse(text).terms)


def labels(text: str) -> list[str]:
    return [entity.label for entity in analyse(text).entities]


def ids(text: str) -> set[str]:
    return {entity.entity_id for entity in analyse(text).entities}


@pytest.mark.parametrize(
    ("one", "other"),
    [("Hello  World", "hello world"), ("\tStraße\n", "STRASSE"), ("ﬁne", "FINE"), ("Ｈｉ", "hi"), ("a\u00a0b", "A B")],
)
def test_folding_makes_case_width_and_white_space_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_folding_keeps_different_texts_apart() -> None:
    assert fold("a-b") != fold("ab")
    assert fold("resume") != fold("résumé")


def test_english_words_are_stemmed_and_stop_words_left_out() -> None:
    assert terms("The adopted dogs were running") == ["adopt", "dog", "run"]
    assert terms("Did she adopt a dog? She runs!") == ["adopt", "dog", "run"]


@pytest.mark.parametrize(
    "word", ["bug-183", "CVE-2024-3094", "sk-ABC123", "a.b.c", "my_repo", "user@host.org", "src/app/main.py", "v1.2.3"]
)
@pytest.mark.parametrize("text", ["{}", "see {}?", '"{}"', "({}),", "密钥{}在这里", "'{}'.", "`{}`!", "[{}]", "{}…"])
def test_p27_d7_an_identifier_is_kept_whole_wherever_it_stands(word: str, text: str) -> None:
    assert word.lower() in terms(text.format(word))


def test_the_parts_of_an_identifier_are_terms_too() -> None:
    assert {"bug", "183", "bug-183"} <= set(terms("bug-183"))


def test_words_run_together_by_dots_are_words() -> None:
    assert terms("wait...parrot") == ["wait", "parrot"]


@pytest.mark.parametrize("text", ["你好小明", "吾輩は猫である", "나는 서울", "ฉันชอบแมว"])
def test_d6_every_character_of_an_unspaced_script_and_every_pair_is_a_term(text: str) -> None:
    found = terms(text)
    for part in text.split():
        assert set(part) <= set(found)
        assert {part[i : i + 2] for i in range(len(part) - 1)} <= set(found)


@pytest.mark.parametrize(
    "text",
    ["", "   ", "\u200d\ufe0f", "(", "AND OR NOT", "% _ * - \" '", "\x00", "to be or not to be", "\u200b"],
)
def test_d9_p28_symbols_and_stop_words_alone_give_no_terms(text: str) -> None:
    assert terms(text) == []


def test_p28_every_emoji_is_a_term_whatever_its_skin() -> None:
    assert terms("Drinks🍸👩‍👩‍👧‍👦 👍🏽👍") == ["drink", "🍸", "👩", "👩", "👧", "👦", "👍", "👍"]


@pytest.mark.parametrize(
    ("one", "other"),
    [("кошку", "кошка"), ("γάτες", "γάτα"), ("القاهرة", "قاهرة"), ("बिल्लियों", "बिल्ली"), ("running", "runs")],
)
def test_words_are_stemmed_by_their_script(one: str, other: str) -> None:
    assert terms(one) == terms(other)


@given(st.text(alphabet=st.characters(categories=["L", "M", "N"]), min_size=1, max_size=12))
def test_no_word_is_stemmed_away(word: str) -> None:
    assert all(terms(word))


def test_d4_operators_and_special_tokens_are_plain_text() -> None:
    assert terms("parrot* NEAR <|endoftext|> [MASK] -x a|b") == ["parrot", "near", "endoftext", "mask", "x", "b"]


def test_an_unclosed_quote_is_plain_text() -> None:
    assert terms('"unclosed') == terms("unclosed")


def test_typographic_apostrophes_do_not_matter() -> None:
    assert terms("Ann’s dog") == terms("Ann's dog") == ["ann", "dog"]


@given(st.text(max_size=200))
def test_any_text_can_be_analysed_and_always_the_same_way(text: str) -> None:
    first = analyse(text)
    assert first == analyse(text)
    assert all(term and not term.isspace() for term in first.terms)
    assert len({entity.entity_id for entity in first.entities}) == len(first.entities)
    assert all(entity.label.strip() for entity in first.entities)


@pytest.mark.parametrize("run", ["".join(pair) for pair in product("_-:a1 ", repeat=2)])
def test_the_time_of_runs_of_inner_punctuation_grows_with_their_length_only(run: str) -> None:
    short, long = seconds((run * 1000)[:1000]), seconds((run * 16000)[:16000])
    # Sixteen times the length takes sixteen times as long; were it a matter of the square, 256 times.
    assert long < 64 * short


def seconds(text: str) -> float:
    """Return the least CPU time that analysing a text took."""
    took = []
    for _ in range(3):
        began = time.process_time()
        analyse(text)
        took.append(time.process_time() - began)
    return min(took)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yesterday I met Anna Kowalska in New York.", ["Anna Kowalska", "New York"]),
        ("Melanie and Caroline went hiking.", ["Melanie", "Caroline"]),
        ("She works at the Bank of England.", ["Bank of England"]),
        ("Hey Caroline! Thanks, that sounds great.", ["Caroline"]),
        ("Caroline's dog Oliver barks.", ["Caroline", "Oliver"]),
        ("We read “Charlotte’s Web” together.", ["Charlotte’s Web"]),
        ("Fixed bug-183 in my_repo, see CVE-2024-3094.", ["bug-183", "my_repo", "CVE-2024-3094"]),
        ("It cost $1,200 on May 7, 2023.", ["May 7, 2023", "$1,200"]),
        ("The parrot is green. Running is fun. What's up? I'm fine.", []),
        ("The well-known and/or wait...what", []),
    ],
)
def test_names_identifiers_dates_and_amounts_are_entities_common_words_are_not(text: str, expected: list[str]) -> None:
    assert labels(text) == expected


def test_one_entity_has_one_id_however_it_is_written() -> None:
    assert ids("I visited New York.") == ids("I love NEW YORK, really.") != ids("I love New Orleans.")
    (entity_id,) = ids("I visited Lisbon.")
    assert entity_id.startswith("ent_")
    assert len(entity_id) == 30


def test_an_entity_is_listed_once() -> None:
    assert labels("Lisbon is far. I like Lisbon and LISBON.") == ["Lisbon"]


def test_rare_lower_case_nouns_are_no_entities() -> None:
    assert labels("she keeps an axolotl in the vestibule") == []


def test_the_words_of_a_date_are_those_of_a_question_about_it() -> None:
    found = set(date_terms(datetime(2023, 7, 5)))  # noqa: DTZ001  (stored times are UTC)
    assert found == set(terms("Wednesday, 5 July 2023"))


@pytest.mark.parametrize("text", ["a" * 16000, "_" * 16000, "1," * 8000, "a-" * 8000, "'" * 16000, "May " * 4000])
def test_the_longest_text_is_analysed_in_no_time_whatever_it_repeats(text: str) -> None:
    began = time.process_time()
    analyse(text)
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("שָׁלוֹם", "שלום"),
        ("צה״ל", 'צה"ל'),
        ("كِتَابٌ", "كتاب"),
        ("كتـــاب", "كتاب"),
        ("Пере\u00adвод", "перевод"),
        ("Пере\u2060вод", "перевод"),
        ("за\u0301мок", "замок"),
        ("й\ufeffог", "йог"),
        ("и\u200d\u0306ог", "йог"),
        ("κα\ufeffλημέρα", "καλημέρα"),
        ("می\u200cخواهم", "میخواهم"),
        ("می\u202bخواهم", "میخواهم"),
        ("İstanbul", "istanbul"),
    ],
)
def test_t30_marks_and_invisible_characters_inside_words_do_not_count(written: str, plain: str) -> None:
    assert terms(written) == terms(plain)
    assert all(len(term) > 1 for term in terms(written))


def test_t30_marks_that_make_letters_count() -> None:
    assert terms("résumé") != terms("resume")
    assert terms("йод") != terms("иод")
    assert terms("কা") != terms("কি")


def test_t30_no_mark_breaks_a_word_of_a_spaced_script() -> None:
    marks = (c for c in map(chr, range(0x300, 0xFE30)) if unicodedata.category(c) in ("Mn", "Mc"))
    broken = [hex(ord(c)) for c in marks if not re.match(f"[{UNSPACED}]", c) and len(terms(f"ба{c}нк")) > 1]
    assert broken == []


@pytest.mark.parametrize("text", ["U.S.A.", "x-y", "l.m@n"])
def test_t30_single_letters_are_not_left_over(text: str) -> None:
    assert all(len(term) > 1 for term in terms(text))
    assert terms("vitamin c") == ["vitamin", "c"]


def test_t30_a_name_with_an_invisible_character_is_the_same_entity() -> None:
    assert ids("Он живёт в городе Мос\u00adква") == ids("Он живёт в городе Москва") != set()


@pytest.mark.parametrize(
    "text",
    [
        "Shall we go?",
        "Mine is blue.",
        "Yours is red.",
        "Upon arrival we ate.",
        "It is Mine.",
        "Towards noon it rained.",
    ],
)
def test_t21_what_is_no_name_is_no_entity(text: str) -> None:
    assert labels(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Marta Quill moved to Reykjavik for the Falcon Program",
            ["Marta Quill", "Reykjavik", "Falcon Program"],
        ),
        ("We flew from Oslo for Easter.", ["Oslo", "Easter"]),
        ("He gave Marta the Falcon.", ["Marta", "Falcon"]),
        ("The Bank of England fell.", ["Bank of England"]),
        ("She read Lord of the Rings.", ["Lord of the Rings"]),
        ("He knew Ludwig van der Berg and Charles de Gaulle.", ["Ludwig van der Berg", "Charles de Gaulle"]),
        ("She joined the Institute for Ocean Studies.", ["Institute for Ocean Studies"]),
        ("He admired Alexander the Great.", ["Alexander the Great"]),
        ("She praised Melanie and the Falcon Program.", ["Melanie", "Falcon Program"]),
    ],
)
def test_t41_small_words_end_a_name_unless_they_belong_to_it(text: str, expected: list[str]) -> None:
    assert labels(text) == expected
