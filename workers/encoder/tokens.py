"""Texts to token ids. Whatever a user writes is plain text, also when it spells a special token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer

from workers.encoder import windows

_PROBE = "a"


class Tokens:
    """Tokenises texts into windows of at most `window` tokens, special ones and prefix included."""

    def __init__(self, file: Path, window: int) -> None:
        """Read a tokenizer.json. Its own truncation and padding are off, whatever the file says."""
        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self._window = window
        framed = self._tokenizer.encode(_PROBE, add_special_tokens=True).ids
        inner = self._plain(_PROBE)
        start = next(i for i in range(len(framed)) if framed[i : i + len(inner)] == inner)
        self._before, self._after = framed[:start], framed[start + len(inner) :]

    def windows(self, text: str, prefix: str = "", most: int = windows.MAX_WINDOWS) -> list[list[int]]:
        """Return the token ids of each window, up to `most` of them, framed by special tokens and led by `prefix`."""
        # Without its last space: where spaces are tokens, the text's first word brings its own.
        before = [*self._before, *(self._plain(prefix.rstrip()) if prefix else ())]
        size = max(1, self._window - len(before) - len(self._after))
        return [[*before, *window, *self._after] for window in windows.cut(self._plain(text), size, most)]

    def _plain(self, text: str) -> Sequence[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids
