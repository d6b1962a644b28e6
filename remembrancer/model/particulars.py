"""What a statement is about in particular: numbers, dates, identifiers, names and negations.

Two texts that differ in one of them are nearly the same to a sentence encoder, and yet the second may be what became of
the first. It errs on the side of too many particulars: then two texts count as different, and both are shown.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from remembrancer.model.analysis_words import MONTHS, OPENERS, STOP_WORDS, WEEKDAYS
from remembrancer.model.text import same_text_key

_TOKEN: Final = re.compile(
    r"(?:[-−+$€£¥~<>≤≥](?=\d))?\w+(?:[-./:@+#&'\u0300-\u036f]+\w+)*(?:[+#%€$£°]+)?|[.!?…:;\n\"“„]"
)
"""A word with what stands inside of it, a number with its sign or unit, or a mark that may end a sentence."""

_ENDS: Final = frozenset('.!?…:;\n"“„')
_POSSESSIVE: Final = re.compile(r"'s$", re.IGNORECASE)
_CONTRACTED: Final = re.compile(
    r"\w+n't|cannot|(?:are|ca|could|did|do|does|had|has|have|is|should|was|were|wo|would)nt"
)

_NUMBERS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
)
_MORE_NUMBERS: Final = (
    "thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half quarter dozen once twice"
    " first second third fourth fifth sixth seventh eighth ninth tenth"
)
_TIMES: Final = "today tonight yesterday tomorrow noon midnight morning afternoon evening night am pm"
_NEGATIONS: Final = (
    "no not never none nobody nothing nowhere neither nor without except unless hardly barely"
    " nicht nie niemals kein keine keinen keinem keiner ohne ne pas jamais sans non mai senza nunca sin não sem"
    " niet geen nooit zonder inte aldrig ikke aldri не нет ни никогда без δεν μη ποτέ"
)
_ALWAYS: Final = {
    **{word: word for word in (*MONTHS, *WEEKDAYS, *f"{_MORE_NUMBERS} {_TIMES} {_NEGATIONS}".split())},
    **{word: str(number) for number, word in enumerate(_NUMBERS.split())},
}
"""Words that are particular however they are written, and how they count."""


def statement_key(text: str) -> int:
    """Return a signed 64-bit number that texts have in common which differ at most in case and white space.

    Unlike `analysis.text_key` it tells compatibility forms apart: 10⁹ is not 109.
    """
    return _key(same_text_key(text))


def particulars_key(text: str) -> int:
    """Return a signed 64-bit number that texts with the same particulars in the same order have in common."""
    return _key("\0".join(particulars(text)))


def particulars(text: str) -> Iterator[str]:
    """Yield the particulars of a text in order, case-folded.

    In scripts without capitals every word may be a name; in a text of capitals only, none is known for one.
    """
    text = unicodedata.normalize("NFC", text).replace("’", "'")
    opens = True
    for word in _TOKEN.findall(text.lower() if text.isupper() else text):
        if word in _ENDS:
            opens = True
            continue
        found = _particular(word, opens)
        if found:
            yield found
        opens = False


def _key(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _particular(word: str, opens: bool) -> str:
    """Return what of a word is particular; "" when nothing is. `opens`: it opens a sentence."""
    lower = word.islower()
    if lower and word.isalpha():
        return "not" if _CONTRACTED.fullmatch(word) else _ALWAYS.get(word, "")
    if "'" in word:
        word = _POSSESSIVE.sub("", word)
    plain = word.casefold()
    if _CONTRACTED.fullmatch(plain):
        return "not"
    if plain in _ALWAYS:
        return _ALWAYS[plain]
    if not word.replace("'", "").isalpha():
        return plain
    return plain if not lower and _is_name(word, plain, opens) else ""


def _is_name(word: str, plain: str, opens: bool) -> bool:
    """Whether a word that has a capital, or is of a script that has none, may be a name."""
    if len(word) == 1 and word.isupper():
        # "Plan A" and "Plan B" differ; "I" says nothing, nor does "A" where a sentence begins.
        return not opens and plain != "i"
    if not word.istitle():
        return True
    return plain not in STOP_WORDS and not (opens and (plain in OPENERS or plain.endswith("ing")))
