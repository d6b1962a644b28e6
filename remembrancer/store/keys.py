"""Names of everything in the store.

All keys of one partition share the hash tag `{P}`, so that one script can touch them on a cluster too. `P` is a digest,
so scope parts can hold anything without keys colliding.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

CURRENT_MODEL = "rm:model"
"""String: id of the model whose vectors serve."""

MODELS = "rm:models"
"""Hash: model id -> length of its vectors; written before a model becomes the current one."""

NEXT_MODEL = "rm:next"
"""String: id of the model whose vectors a reindexing fills in; absent without one."""

SCOPES = "rm:scopes"
"""Hash: partition digest -> canonical scope; written before a partition's first record."""


def digest(*parts: str | bytes) -> str:
    """Return 26 characters of [a-z2-7]: 128 bits of SHA-256 over the length-prefixed parts (no two lists collide)."""
    h = hashlib.sha256()
    for part in parts:
        raw = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        h.update(len(raw).to_bytes(8, "big"))
        h.update(raw)
    return base64.b32encode(h.digest()[:16]).decode("ascii").rstrip("=").lower()


def partition_of(scope: str) -> str:
    """Return the partition digest of a canonical scope path such as `project:apollo`."""
    return digest("scope", scope)


LOOK_ALIKES = "rm:alike:"
"""Prefix of sets of scopes that differ only by case or by `-` and `_`; a digest of what they share follows."""

UNEMBEDDED = "rm:unembedded"
"""Set: digests of partitions that may have records without a vector."""

ASIDE = "rm:aside"
"""Set: digests of partitions that may have records at which the encoder failed too often."""

ERASING = "rm:erasing"
"""Set: digests of partitions that may have erasures in progress."""

OUTAGE = "rm:outage"
"""String: name of the encoder's present outage; absent while it works."""

REWRITE = "rm:rewrite"
"""String: there while erased texts may still stand in an append-only file; another value for each request."""

REWRITING = "rm:rewriting"
"""String, with an expiry: which gateway has the append-only files rewritten."""


def essential(key: str) -> bool:
    """Return whether a partition says nothing without this key of it: its records, or its counters."""
    return key.endswith((":rec", ":meta"))


@dataclass(frozen=True, slots=True)
class PartitionKeys:
    """Key names of one partition; `partition` is the digest."""

    partition: str

    @classmethod
    def of(cls, scope: str) -> PartitionKeys:
        """Return the key names of a canonical scope path such as `project:apollo`."""
        return cls(partition_of(scope))

    def _key(self, *parts: str) -> str:
        return ":".join((f"rm:{{{self.partition}}}", *parts))

    @property
    def meta(self) -> str:
        """Hash: `n` last sequence number, `f` last feed counter, `head` newest feed id; and some notes."""
        return self._key("meta")

    @property
    def records(self) -> str:
        """Hash: N -> internal.v1.Record."""
        return self._key("rec")

    @property
    def live(self) -> str:
        """Sorted set: N of every record, by N; what is no N has the score 0. `Change` keeps it."""
        return self._key("live")

    @property
    def tally(self) -> str:
        """Sorted set: N of every record, by what it counts as; see `tally`. `Change` keeps it."""
        return self._key("tally")

    def vectors(self, model_id: str) -> str:
        """Hash: N -> float16 little-endian vectors, windows x dimension."""
        return self._key("vec", model_id)

    @property
    def learned(self) -> str:
        """Hash: N -> internal.v1.Learned."""
        return self._key("learned")

    @property
    def feed(self) -> str:
        """Stream of thin change entries, ids `F-<nonce>`, fields `op` and `n`."""
        return self._key("feed")

    @property
    def unembedded(self) -> str:
        """Set: N of records that have no vector of the current model yet."""
        return self._key("unembedded")

    @property
    def aside(self) -> str:
        """Set: N of records in `unembedded` at which the encoder failed too often; they are not tried any more."""
        return self._key("aside")

    @property
    def behind(self) -> str:
        """Set: N of records that have no vector yet of the model that is being filled in; see `vector_sets`."""
        return self._key("behind")

    @property
    def duplicates(self) -> str:
        """Hash: digest of a folded text or message id -> comma-separated N."""
        return self._key("dup")

    @property
    def speakers(self) -> str:
        """Hash: folded speaker name -> number of turns."""
        return self._key("speakers")

    @property
    def counts(self) -> str:
        """Hash: N -> how often recalls returned it."""
        return self._key("counts")

    @property
    def episodes(self) -> str:
        """Hash: ledger of a session -> N of its episode."""
        return self._key("eps")

    def continuity(self, continuity_id: str) -> str:
        """One conversation: the caller who has it, as a string."""
        return self._key("cont", continuity_id)

    def sessions_of(self, caller: str) -> str:
        """Sorted set, by name: the caller's sessions as `<opened in ms, 15 digits>-<ledger>`; some may be gone."""
        return self._key("mine", digest(caller))

    def session(self, ledger: str) -> str:
        """Hash of one session: `info`, `state`, `active` (ms), `ctx` (JSON), `count`, `outcome`, `episode`, ..."""
        return self._key("ses", ledger)

    def ledger(self, ledger: str) -> str:
        """Hash of one ledger: `r:<key>` -> Retrieval, `f:<key>` -> FeedbackLog."""
        return self._key("led", ledger)

    def uncovered(self, ledger: str) -> str:
        """Sorted set of one ledger: retrievals without complete feedback, by order."""
        return self._key("unc", ledger)

    def retrievals(self, ledger: str) -> str:
        """List of one ledger: its retrievals, oldest first."""
        return self._key("ret", ledger)

    def written(self, ledger: str) -> str:
        """List of one session: N of the records it wrote."""
        return self._key("wrote", ledger)

    def used_procedures(self, ledger: str) -> str:
        """Set of one session: N of the procedures it used."""
        return self._key("used", ledger)

    def replay(self, caller: str, rpc: str, request_id: str) -> str:
        """Hash of one remembered request: `body` digest, `answer`, `base` (last N before it)."""
        return self._key("req", rpc, digest(caller, rpc, request_id))

    def all_like(self, *parts: str) -> str:
        """Return the pattern of all keys that begin with these parts, such as `("led",)`, `("req", "Recall")`."""
        return self._key(*parts, "*")

    def pause(self, caller: str, session_key: str) -> str:
        """There, with an expiry, while nothing of these calls is to be remembered: the end in ms, as a string."""
        return self._key("pause", digest(caller, session_key))

    def advised(self, caller: str, session_key: str) -> str:
        """Name of the encoder's outage that these calls were told of in full, with an expiry."""
        return self._key("advised", digest(caller, session_key))

    @property
    def sessions(self) -> str:
        """Sorted set: ledgers of the sessions that are kept, by their last activity in ms."""
        return self._key("idx", "sessions")

    @property
    def stateless(self) -> str:
        """Sorted set: ledgers of the stateless retrievals that are kept, by when they expire, in ms."""
        return self._key("idx", "stateless")

    @property
    def answers(self) -> str:
        """Sorted set: keys of remembered answers to recalls, by when they expire, in ms."""
        return self._key("idx", "answers")

    def commented(self, n: int) -> str:
        """Set: `<ledger>:<key>` of the retrievals whose feedback has words on record N; some may be gone."""
        return self._key("idx", "commented", str(n))

    @property
    def to_scrub(self) -> str:
        """Set: what erasures left to do; N of records that went, and ledgers of sessions that wrote some of them."""
        return self._key("scrub")

    @property
    def imported(self) -> str:
        """Hash of the import that holds the partition: `id`, `last` (N of its header), `upto`, `count`, `complete`."""
        return self._key("import")

    @property
    def erasures(self) -> str:
        """Hash: id -> internal.v1.Erasure, of those that are not done."""
        return self._key("erasures")

    def erased(self, erasure: str) -> str:
        """Count of records that a finished erasure erased, as a string; kept as long as the request is remembered."""
        return self._key("erased", erasure)
