"""`remembrancer run ROLE`: become one process of the service, as containers do."""

from __future__ import annotations

import os
import sys
from enum import StrEnum

from remembrancer.cli.local.apps import module_command, module_environment
from remembrancer.cli.local.plan import MODULES, Role
from remembrancer.cli.variables import unread


class RunnableRole(StrEnum):
    """A process that can be run by itself; the store is brought by the operator."""

    GATEWAY = Role.GATEWAY
    ENCODER = Role.ENCODER
    ACTIVE = Role.ACTIVE
    DEEP = Role.DEEP


def run(role: RunnableRole) -> None:
    """Replace this process by the role's; its settings come from the environment."""
    for line in unread():
        print(f"warning: {line}", file=sys.stderr)
    command = module_command(MODULES[Role(role.value)])
    os.execve(command[0], command, module_environment({}))  # noqa: S606
