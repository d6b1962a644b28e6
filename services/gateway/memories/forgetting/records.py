"""Erases records with all that is derived from them: vectors, what was learned, counts, lists, episodes left empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import parse_session
from remembrancer.model.selection import selection_of
from remembrancer.model.speakers import names_of
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.live import oldest_after
from remembrancer.store.partition import fields_at
from remembrancer.store.vector_sets import read_sets
from services.gateway.memories.forgetting.mistyped import (
    HASH,
    SET,
    STREAM,
    derived_types,
    drop_mistyped,
    session_types,
)
from services.gateway.memories.forgetting.sessions import scrub_session
from services.gateway.shared.equal_texts import delist
from services.gateway.shared.parts import Parts

CHUNK: Final = 100
"""Records in one change."""


async def next_chunk(parts: Parts, keys: PartitionKeys, erasure: store_pb2.Erasure) -> Change:
    """Return the change that erases the next records, and move `erasure` on.

    Where keys of another type than theirs stand in the way, the change drops these, and `erasure` stays where it is.
    """
    change = Change(keys)
    sets = await read_sets(parts.store, parts.models, keys)
    models = {*sets.models(), *await parts.models.ids()}
    derived = derived_types(keys, models)
    types = {**derived, keys.feed: STREAM, keys.to_scrub: SET} | ({keys.records: HASH} if erasure.everything else {})
    if await drop_mistyped(parts.store, change, types):
        _have_loaded_anew(change, erasure)
        return change
    ns = await oldest_after(parts.store, keys, erasure.done, CHUNK, erasure.last)
    upto = ns[-1] if len(ns) == CHUNK else erasure.last
    raws = await parts.store.read_one(fields_at(keys.records, ns))
    # What cannot be read any more belongs to a whole scope, and to no selection.
    present = {n: decode.record(raw) or store_pb2.Record() for n, raw in zip(ns, raws, strict=True) if raw is not None}
    records = {n: record for n, record in present.items() if _meant(erasure, record)}
    found = {n: raw for n, raw in zip(ns, raws, strict=True) if n in records}
    refs = {parse_session(record.session_id) for record in records.values() if record.session_id}
    ledgers = sorted({ref.ledger for ref in refs if ref is not None})
    if await drop_mistyped(parts.store, change, session_types(keys, ledgers)):
        return change
    for n, raw in (await _episodes(parts, keys, ledgers)).items():
        episode = decode.record(raw) or store_pb2.Record()
        left = [member for member in episode.members if member not in records]
        if n in records or len(left) == len(episode.members):
            continue
        if left:
            del episode.members[:]
            episode.members.extend(left)
            change.require_same("record", keys.records, str(n), raw)
            change.write("HSET", keys.records, n, episode.SerializeToString())
            change.announce(FeedOp.RECORD, n)
        else:
            found[n], records[n] = raw, episode
    sets.require(change)
    if records:
        await _erase(parts, change, models, found, records)
        if not erasure.n and ledgers:
            change.write("SADD", keys.to_scrub, *ledgers)
        erasure.erased += len(records)
    erasure.done = upto
    if upto >= erasure.last:
        erasure.stage = store_pb2.ERASURE_STAGE_COPIES
        if erasure.everything:
            await _drop_rest(parts, change, derived, erasure, len(present))
    return change


async def _drop_rest(
    parts: Parts, change: Change, derived: Collection[str], erasure: store_pb2.Erasure, present: int
) -> None:
    """Have whole keys go with the last records of a scope, `present` in number: damaged pieces name no record.

    Not when more was written meanwhile, which these keys then hold, too.
    """
    keys = change.keys
    last, stored = (await parts.store.read(("HGET", keys.meta, "n"), ("HLEN", keys.records))).answers
    if (decode.number(last) or 0) > erasure.last:
        return
    change.require_same("last number", keys.meta, "n", last)
    for key in (keys.records, *derived):
        change.write("UNLINK", key)
    if stored > present:
        _have_loaded_anew(change, erasure)


def _have_loaded_anew(change: Change, erasure: store_pb2.Erasure) -> None:
    """Have every tier drop the partition and load it: what it read last is not in the feed any more."""
    change.write("UNLINK", change.keys.feed)
    change.announce(FeedOp.RECORD, erasure.last)


def _meant(erasure: store_pb2.Erasure, record: store_pb2.Record) -> bool:
    if erasure.WhichOneof("target") != "bounds":
        return True
    return bool(record.kind) and selection_of(erasure.bounds).matches(record)


async def _episodes(parts: Parts, keys: PartitionKeys, ledgers: Sequence[str]) -> dict[int, bytes]:
    """Return the episodes, as stored, of the sessions of these ledgers."""
    numbers = map(decode.number, await parts.store.read_one(("HMGET", keys.episodes, *ledgers)))
    ns = sorted({n for n in numbers if n is not None})
    raws = await parts.store.read_one(fields_at(keys.records, ns))
    return {n: raw for n, raw in zip(ns, raws, strict=True) if raw is not None}


async def _erase(
    parts: Parts,
    change: Change,
    models: Collection[str],
    found: Mapping[int, bytes],
    records: Mapping[int, store_pb2.Record],
) -> None:
    keys, fields = change.keys, [str(n) for n in records]
    for n, raw in found.items():
        change.require_same("record", keys.records, str(n), raw)
        change.announce(FeedOp.RECORD, n)
    for key in (keys.records, keys.learned, keys.counts, *map(keys.vectors, models)):
        change.write("HDEL", key, *fields)
    for waiting in (keys.unembedded, keys.behind, keys.aside):
        change.write("SREM", waiting, *fields)
    change.write("SADD", keys.to_scrub, *fields)
    await _delist(parts, change, records)
    await _uncount_speakers(parts, change, list(records.values()))
    for n, record in records.items():
        ref = parse_session(record.session_id)
        if ref is not None:
            change.write("LREM", keys.written(ref.ledger), 0, n)
        if record.kind == store_pb2.RECORD_KIND_EPISODE:
            await scrub_session(parts, change, record.session_id)


async def _delist(parts: Parts, change: Change, records: Mapping[int, store_pb2.Record]) -> None:
    digests = sorted({record.duplicate for record in records.values() if record.duplicate})
    known = await parts.store.read_one(("HMGET", change.keys.duplicates, *digests))
    delist(change, dict(zip(digests, known, strict=True)), set(records))


async def _uncount_speakers(parts: Parts, change: Change, records: Sequence[store_pb2.Record]) -> None:
    turns = (record for record in records if record.kind == store_pb2.RECORD_KIND_TURN)
    spoken = Counter(name for record in turns for name in names_of(record.name))
    key, names = change.keys.speakers, sorted(spoken)
    for name, raw in zip(names, await parts.store.read_one(("HMGET", key, *names)), strict=True):
        change.require_same("speaker", key, name, raw)
        left = (decode.number(raw) or 0) - spoken[name]
        if left > 0:
            change.write("HSET", key, name, left)
        else:
            change.write("HDEL", key, name)
