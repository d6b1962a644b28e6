"""Groups of records, each kept in ascending N."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence


class Members:
    """Sorted Ns per key; what it holds does not depend on the order of additions and removals."""

    def __init__(self) -> None:
        """Start without any group."""
        self._groups: dict[Hashable, list[int]] = {}

    def of(self, key: Hashable) -> Sequence[int]:
        """Return the group's Ns in ascending order; empty for an unknown key."""
        return self._groups.get(key, ())

    def add(self, key: Hashable, n: int) -> None:
        """Add `n`; adding it twice changes nothing."""
        group = self._groups.setdefault(key, [])
        if not group or group[-1] < n:
            group.append(n)
            return
        at = bisect_left(group, n)
        if group[at] != n:
            group.insert(at, n)

    def discard(self, key: Hashable, n: int) -> None:
        """Take `n` out, and the group with its last member; unknown ones are ignored."""
        group = self._groups.get(key, [])
        at = bisect_left(group, n)
        if at < len(group) and group[at] == n:
            del group[at]
            if not group:
                del self._groups[key]

    def around(self, key: Hashable, n: int, reach: int) -> Iterator[int]:
        """Yield up to `reach` Ns before `n` and as many after it, nearest by place first, the earlier one of a pair."""
        group = self.of(key)
        at = bisect_left(group, n)
        after = at + 1 if at < len(group) and group[at] == n else at
        for step in range(min(reach, max(at, len(group) - after))):
            if at - 1 - step >= 0:
                yield group[at - 1 - step]
            if after + step < len(group):
                yield group[after + step]
