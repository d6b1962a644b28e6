"""The newest records of a partition."""

from __future__ import annotations

import numpy as np

from remembrancer.internal.v1 import tier_pb2
from workers.index.table import Table


def newest(table: Table, request: tier_pb2.SearchRequest) -> list[tier_pb2.Candidate]:
    """Return the `request.depth` newest memories that the filter allows, by descending N, without relevance."""
    ns = table.n.values[np.flatnonzero(table.allowed(request.filter))]
    return [tier_pb2.Candidate(n=int(n)) for n in -np.sort(-ns)[: request.depth]]
