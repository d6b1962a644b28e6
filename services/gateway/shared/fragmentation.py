"""The warning about a new scope that looks like an existing one."""

from __future__ import annotations

from remembrancer.v1 import common_pb2
from services.gateway.shared.parts import Parts


async def fragmentation(parts: Parts, scope: str, ever_written: bool) -> list[common_pb2.Warning]:
    """Return a warning when a new scope looks like an existing one."""
    alike = [] if ever_written else await parts.scopes.alike(scope)
    return [
        common_pb2.Warning(
            code=common_pb2.WARNING_CODE_SCOPE_FRAGMENTATION,
            message=f"the scope is new; {other} exists and differs only by case or by - and _",
        )
        for other in alike[:1]
    ]
