"""How many records of a running service wait for vectors that the encoder fails to make."""

from __future__ import annotations

import redis

from remembrancer.store.keys import ASIDE, PartitionKeys


def set_aside(store_url: str, timeout: float = 1.0) -> int:
    """Return how many records were set aside; 0 when the store does not answer."""
    try:
        with redis.Redis.from_url(store_url, socket_timeout=timeout, socket_connect_timeout=timeout) as store:
            count = 0
            for partition in store.smembers(ASIDE):
                keys = PartitionKeys(partition.decode())
                count += store.sintercard(2, [keys.aside, keys.unembedded])
            return count
    except redis.RedisError:
        return 0
