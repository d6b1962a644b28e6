"""What of a session's trajectory is kept: not the entries that only narrate this service's own calls."""

from __future__ import annotations

import re
from typing import Final

from remembrancer.v1 import session_pb2

_CALLS: Final = (
    "activate", "feedback", "commit", "abandonsession", "abandon_session", "getsession", "get_session", "listsessions",
    "list_sessions", "recall", "recallwithcontext", "recall_with_context", "getcontents", "get_contents", "remember",
    "recordturns", "record_turns", "updatememory", "update_memory", "forget", "listmemories", "list_memories",
)  # fmt: skip
_CALL: Final = (
    r"(?:(?:the|a)\s+)?(?:(?:remembrancers?|memory)\s*[.:/]?\s*)?"
    r"(?:(?:v1\.)?(?:session|recall|memory)service\s*[./]\s*)?"
    rf"(?:{'|'.join(_CALLS)})(?:\s*\(\s*\))?"
    r"(?:\s+(?:tool|call|rpc|request|verb|(?:on|from|in|to|with)\s+(?:the\s+)?(?:remembrancer|memory)))*"
)
_DONE: Final = (
    r"(?:activated|opened|committed|closed|abandoned)\s+(?:(?:a|the|my)\s+)?(?:new\s+)?(?:memory\s+|remembrancer\s+)?session",
    r"recalled\s+(?:(?:the|some|relevant|my)\s+)*(?:memory|memories|context)(?:\s+from\s+(?:the\s+)?(?:remembrancer|memory))?",
    r"(?:gave|sent|submitted|recorded)\s+(?:(?:the|complete|partial|my)\s+)*feedback"
    r"(?:\s+(?:on|for|about)\s+(?:(?:the|all|every|each)\s+)*(?:retrievals?|recalls?|memory|memories|procedures?))?",
)
_NARRATION: Final = re.compile(
    r"(?:i\s+)?(?:(?:first|then|next|also|finally)\s+)?"
    rf"(?:(?:(?:called|invoked|ran|used|issued|executed|performed|calling|calls|call)\s+)?{_CALL}|{'|'.join(_DONE)})"
    r"\s*[.!]?",
    re.IGNORECASE,
)
_QUOTES: Final = str.maketrans("", "", "`'\"")


def narrates(entry: session_pb2.TrajectoryEntry) -> bool:
    """Return whether an entry says nothing but that one of this service's calls was made, such as "Called recall."."""
    return _NARRATION.fullmatch(" ".join(entry.summary.translate(_QUOTES).split())) is not None
