"""Unit vectors for tests: each name has a direction of its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


def direction(name: str, dimension: int) -> Vector:
    """Return the unit vector of a name; those of different names are nearly orthogonal."""
    vector = np.random.default_rng(list(name.encode())).standard_normal(dimension)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def near(target: Vector, cosine: float, salt: str) -> Vector:
    """Return a unit vector at exactly that cosine from `target`, elsewhere in a direction of its own."""
    other = direction(salt, len(target))
    other = other - (other @ target) * target
    other /= np.linalg.norm(other)
    return np.asarray(cosine * target + np.sqrt(1 - cosine**2) * other, np.float32)


def stored(vector: Vector) -> bytes:
    """Return a vector as requests and the store hold it."""
    return vector.astype("<f2").tobytes()
