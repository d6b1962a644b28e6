"""Erases records with all that is derived from them: vectors, what was learned, counts, lists, episodes left empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from remembrancer.internal.v1 import store_pb2
from remembrancer.model.ids import parse_session
from remembrancer.model.selection import Selection
from remembrancer.model.speakers import names_of
from remembrancer.store import decode
from remembrancer.store.change import Change
from remembrancer.store.feed import FeedOp
from remembrancer.store.keys import PartitionKeys
from remembrancer.store.partition import fields_at
from remembrancer.store.vector_sets import read_sets
from services.gateway.memories.forgetting.sessions import scrub_session
from services.gateway.shared.equal_texts import delist
from services.gateway.shared.parts import Parts

CHUNK: Final = 100
"""Sequence numbers in one change."""


async def next_chunk(parts: Parts, keys: PartitionKeys, erasure: store_pb2.Erasure) -> Change:
    """Return the change that erases the next records, and move `erasure` on."""
    change = Change(keys)
    upto = min(erasure.last, erasure.done + CHUNK)
    ns = range(erasure.done + 1, upto + 1)
    erasure.done = upto
    if upto >= erasure.last:
        erasure.stage = store_pb2.ERASURE_STAGE_COPIES
    if not ns:
        return change
    raws = await parts.store.read_one(fields_at(keys.records, ns))
    # What cannot be read any more belongs to a whole scope, and to no selection.
    present = {n: decode.record(raw) or store_pb2.Record() for n, raw in zip(ns, raws, strict=True) if raw is not None}
    records = {n: record for n, record in present.items() if _meant(erasure, record)}
    found = {n: raw for n, raw in zip(ns, raws, strict=True) if n in records}
    for n, raw in (await _episodes(parts, keys, records)).items():
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
    if records:
        await _erase(parts, change, found, records)
        erasure.erased += len(records)
    return change


def _meant(erasure: store_pb2.Erasure, record: store_pb2.Record) -> bool:
    if erasure.WhichOneof("target") != "bounds":
        return True
    bounds = erasure.bounds
    return bool(record.kind) and Selection(
        bounds.axes,
        bounds.any_agent,
        frozenset(bounds.kinds),
        frozenset(bounds.types),
        bounds.occurred_after if bounds.HasField("occurred_after") else None,
        bounds.occurred_before if bounds.HasField("occurred_before") else None,
    ).matches(record)


async def _episodes(parts: Parts, keys: PartitionKeys, records: Mapping[int, store_pb2.Record]) -> dict[int, bytes]:
    """Return the episodes, as stored, of the sessions that wrote these records."""
    refs = {parse_session(record.session_id) for record in records.values() if record.session_id}
    ledgers = sorted({ref.ledger for ref in refs if ref is not None})
    numbers = await parts.store.read_one(("HMGET", keys.episodes, *ledgers))
    ns = sorted({int(number) for number in numbers if number is not None})
    raws = await parts.store.read_one(fields_at(keys.records, ns))
    return {n: raw for n, raw in zip(ns, raws, strict=True) if raw is not None}


async def _erase(
    parts: Parts, change: Change, found: Mapping[int, bytes], records: Mapping[int, store_pb2.Record]
) -> None:
    keys, fields = change.keys, [str(n) for n in records]
    for n, raw in found.items():
        change.require_same("record", keys.records, str(n), raw)
        change.announce(FeedOp.RECORD, n)
    hashes = [keys.records, keys.learned, keys.counts]
    sets = await read_sets(parts.store, parts.models, keys)
    sets.require(change)
    hashes += [keys.vectors(model_id) for model_id in {*sets.models(), *await parts.models.ids()}]
    for key in hashes:
        change.write("HDEL", key, *fields)
    for waiting in (keys.unembedded, keys.behind):
        change.write("SREM", waiting, *fields)
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
        left = int(raw or 0) - spoken[name]
        if left > 0:
            change.write("HSET", key, name, left)
        else:
            change.write("HDEL", key, name)
