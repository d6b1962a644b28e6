"""Texts to token ids. Whatever a user writes is plain text, also when it spells a special token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tokenizers import Tokenizer

from workers.encoder import windows

PROBE: Final = "a"

UNKNOWN_TOKENS: Final = ("[UNK]", "<unk>")
"""What WordPiece and SentencePiece vocabularies put in the place of what they do not have."""

READABLE_SHARE: Final = 0.5
"""Share of a window's characters that must be readable: texts have either nearly all or hardly any, measured with
all-MiniLM-L6-v2 on single sentences: English 1, five other languages in Latin script .76 to 1, fourteen languages in
other scripts 0 to .32."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One token: its id, how many characters of the text it stands for, and whether it tells the model anything."""

    id: int
    characters: int
    readable: bool


class Tokens:
    """Tokenises texts into windows of at most `window` tokens, special ones and prefix included."""

    def __init__(self, file: Path, window: int, *, reads_letters: bool = True) -> None:
        """Read a tokenizer.json. Its own truncation and padding are off, whatever the file says.

        `reads_letters`: see `model_folder.Description`.
        """
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self._unknown = {self._tokenizer.token_to_id(token) for token in UNKNOWN_TOKENS}
        self._reads_letters = reads_letters
        self._window = window
        self.probe: list[int] = self._tokenizer.encode(PROBE, add_special_tokens=True).ids
        inner = [piece.id for piece in self._pieces(PROBE)]
        start = next(i for i in range(len(self.probe)) if self.probe[i : i + len(inner)] == inner)
        self._before, self._after = self.probe[:start], self.probe[start + len(inner) :]

    def windows(self, text: str, prefix: str = "", most: int = windows.MAX_WINDOWS) -> list[list[int]]:
        """Return the token ids of each window, up to `most` of them, framed by special tokens and led by `prefix`.

        Windows that the model cannot read are left out: all of them where it does not know the script, for vectors of
        unknown tokens are near each other whatever the text says.
        """
        # Without its last space: where spaces are tokens, the text's first word brings its own.
        before = [*self._before, *(piece.id for piece in self._pieces(prefix.rstrip()))]
        size = max(1, self._window - len(before) - len(self._after))
        cut = windows.cut(self._pieces(text), size, most)
        return [[*before, *(piece.id for piece in window), *self._after] for window in cut if _readable(window)]

    def _pieces(self, text: str) -> list[Piece]:
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return [
            Piece(token, end - start, token not in self._unknown and self._tells(text[start:end]))
            for token, (start, end) in zip(found.ids, found.offsets, strict=True)
        ]

    def _tells(self, part: str) -> bool:
        return self._reads_letters or len(part) > 1 or part.isascii()


def _readable(window: Sequence[Piece]) -> bool:
    read = sum(piece.characters for piece in window if piece.readable)
    return read > READABLE_SHARE * sum(piece.characters for piece in window)
