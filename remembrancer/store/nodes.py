"""Commands that every node of the store carries out for itself."""

from __future__ import annotations

from typing import Any, TypeAlias

from remembrancer.store.failures import store_failures

Node: TypeAlias = Any
"""A node of a cluster; None stands for the one of a single store."""


async def nodes_of(redis: Any) -> list[tuple[str, Node]]:
    """Return the store's nodes, replicas too, with their names for the log. Errors: StoreUnavailable."""
    if not hasattr(redis, "get_nodes"):
        return [("store", None)]
    with store_failures():
        await redis.ping()  # Learns the nodes, if that was not done yet.
    return [(str(node.name), node) for node in redis.get_nodes()]


async def on_node(redis: Any, node: Node, *command: str) -> Any:
    """Return a node's answer to a command without keys. Errors: StoreUnavailable; ResponseError, a refusal."""
    with store_failures():
        return await redis.execute_command(*command, **({} if node is None else {"target_nodes": node}))
