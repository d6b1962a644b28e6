"""Counting tokens: right, bounded, and beside the event loop."""

import asyncio

import pytest
import tiktoken

from services.gateway.shared.tokens import ENCODING, PIECE, TokenCounter, pieces

WORDS = "The committee's 12th report isn't due \u2014 ask 王小明,   or «Zoë»!\r\n\tSee https://example.org/x?y=1 . "


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    return TokenCounter()


async def test_a_text_in_pieces_has_as_many_tokens_as_in_one(counter: TokenCounter) -> None:
    whole = tiktoken.get_encoding(ENCODING)
    for shift in range(0, 90, 7):
        text = (WORDS * 400)[shift:]
        assert len(list(pieces(text))) > 1
        assert "".join(pieces(text)) == text
        assert await counter.count([text]) == len(whole.encode_ordinary(text))


async def test_texts_are_counted_each_for_itself(counter: TokenCounter) -> None:
    alone = [await counter.count([text]) for text in ("a b", "", "c", WORDS * 200)]
    assert await counter.count(["a b", "", "c", WORDS * 200]) == sum(alone)
    assert await counter.count([]) == 0


@pytest.mark.parametrize("filler", [" ", "\t", "\n", "a", "!", "é", "王"])
async def test_t28_no_text_is_too_odd_to_be_counted(counter: TokenCounter, filler: str) -> None:
    text = filler * 999_999 + "x"
    assert all(len(piece) <= PIECE for piece in pieces(text))
    assert await counter.count([filler * (2 * PIECE) + "x"]) > 1
    if filler == " ":
        assert await counter.count([text]) > 1


async def test_t9_a_cancelled_count_ends_and_others_do_not_wait_for_it(counter: TokenCounter) -> None:
    long = asyncio.ensure_future(counter.count(["!" * 1_000_000]))
    turns = 0
    for _ in range(10):
        # Each short count waits for one piece of the long one at most, of which there are more than a hundred.
        assert await counter.count(["a short text"]) == 3
        turns += not long.done()
    assert turns == 10
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long
    # Of its hundred pieces none is left but the one that was about to be counted.
    assert counter._thread._work_queue.qsize() <= 1
