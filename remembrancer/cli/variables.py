"""Variables that the command itself reads, and a look for those that nothing reads."""

from __future__ import annotations

import os
from typing import Final

from remembrancer.cli.local.folder import DATA
from remembrancer.cli.local.settings_check import variables
from remembrancer.client.config import TARGET
from remembrancer.runtime.variables import PREFIX, strange

TOKEN: Final = f"{PREFIX}TOKEN"
"""The credentials of the memory commands."""


def unread() -> list[str]:
    """Return a line for each variable of the environment that looks like a setting and is none."""
    return strange(os.environ, variables() | {TARGET, TOKEN, DATA})
