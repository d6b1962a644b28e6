"""Keeps the index of feedback with words: record -> retrievals, which an erasure of the record follows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.traces import comment_entry, commented_retrievals
from services.gateway.shared.parts import Parts

SAMPLE: Final = 4
"""Entries of a record that are looked at whenever one is added; the index is as small as that makes it."""


async def gone_comments(parts: Parts, keys: PartitionKeys, ns: Sequence[int]) -> dict[int, list[str]]:
    """Return, for each of these N, which entries of a sample point to ledgers that are not kept any more."""
    if not ns:
        return {}
    samples = (await parts.store.read(*(("SRANDMEMBER", keys.commented(n), str(SAMPLE)) for n in ns))).answers
    ledgers = sorted(commented_retrievals(keys, {entry for sample in samples for entry in sample}))
    if not ledgers:
        return {}
    there = (await parts.store.read(*(("EXISTS", ledger) for ledger in ledgers))).answers
    gone = {ledger for ledger, exists in zip(ledgers, there, strict=True) if not exists}
    return {
        n: [decode.name(e) for e in sample if not gone.isdisjoint(commented_retrievals(keys, {e}))]
        for n, sample in zip(ns, samples, strict=True)
    }


def note_comment(change: Change, n: int, retrievals: Iterable[tuple[str, str]], gone: Collection[str]) -> None:
    """Add retrievals (ledger, key) to the entries of record N, which must still be there, and take out `gone` ones."""
    keys = change.keys
    change.require_present("record", keys.records, str(n))
    if gone:
        change.write("SREM", keys.commented(n), *gone)
    change.write("SADD", keys.commented(n), *(comment_entry(ledger, key) for ledger, key in retrievals))
