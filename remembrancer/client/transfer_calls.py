"""Export and Import: streams of parts."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Final

from remembrancer.client.arguments import ScopeLike, build, to_scope
from remembrancer.v1 import transfer_pb2

EXPORT_PATH: Final = "/remembrancer.v1.MemoryService/Export"
IMPORT_PATH: Final = "/remembrancer.v1.MemoryService/Import"


def export_request(scope: ScopeLike, after: int) -> transfer_pb2.ExportRequest:
    """Return the request of an export that goes on after a number."""
    return build(transfer_pb2.ExportRequest, scope=to_scope(scope), after=after)


def import_requests(
    parts: Iterable[transfer_pb2.ExportResponse], scope: ScopeLike, import_id: str | None
) -> Iterator[transfer_pb2.ImportRequest]:
    """Yield the requests of an import of the parts of an export; the first part must be its header."""
    name = str(uuid.uuid4()) if import_id is None else import_id
    for part in parts:
        if part.HasField("header"):
            start = build(transfer_pb2.ImportStart, scope=to_scope(scope), import_id=name, header=part.header)
            yield transfer_pb2.ImportRequest(start=start)
        else:
            yield transfer_pb2.ImportRequest(batch=part.batch)
    yield transfer_pb2.ImportRequest(end=transfer_pb2.ImportEnd())
