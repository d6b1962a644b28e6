"""What of a session's trajectory is kept: not the entries that only narrate this service's own calls."""

from __future__ import annotations

import re
from typing import Final

from remembrancer.v1 import session_pb2

_VERBS: Final = (
    "activate", "recall", "recallwithcontext", "recall_with_context", "feedback", "commit", "remember", "recordturns",
    "record_turns", "getsession", "get_session", "getcontents", "get_contents", "abandonsession", "abandon_session",
)  # fmt: skip
_NARRATION: Final = re.compile(
    r"^(?:i\s+)?(?:then\s+|next\s+)?(?:called|invoked|ran|used|sent|issued|executed|performed|calling|calls|call)?\s*"
    r"(?:the\s+|a\s+)?(?:remembrancer(?:'s)?\s*[.:/]?\s*|memory\s+)?"
    rf"(?:{'|'.join(_VERBS)})"
    r"(?:\s*\(\s*\))?(?:\s+(?:tool|call|rpc|request|verb|on\s+remembrancer|from\s+memory|in\s+memory))*\s*[.!]?$",
    re.IGNORECASE,
)


def narrates(entry: session_pb2.TrajectoryEntry) -> bool:
    """Return whether an entry says nothing but that one of this service's calls was made, such as "Called recall."."""
    return _NARRATION.match(" ".join(entry.summary.split())) is not None
