"""Variables in the environment that look like settings and are none."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from typing import Final

PREFIX: Final = "REMEMBRANCER_"

_INJECTED: Final = re.compile(r"(^|_)(PORT|HOST|ADDR|SERVICE)(_|$)")
"""What Kubernetes sets for each service of a namespace; no setting is named like it."""


def strange(names: Iterable[str], known: Collection[str]) -> list[str]:
    """Return a line for each name that has the prefix and is not among `known`, the settings of all processes.

    What Kubernetes injects is passed over.
    """
    lines = []
    for name in sorted(names):
        if name in known or not name.startswith(PREFIX) or _INJECTED.search(name.removeprefix(PREFIX)):
            continue
        # Compared without the prefix, which alone would make any two names look alike.
        near = difflib.get_close_matches(name.removeprefix(PREFIX), [other.removeprefix(PREFIX) for other in known], 1)
        hint = f"; did you mean {PREFIX}{near[0]}?" if near else ""
        lines.append(f"{name} is not a setting and changes nothing{hint}")
    return lines
