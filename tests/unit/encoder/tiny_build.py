"""Builds an encoder too small to be of use, in a moment: `tiny_build.py CACHE` prints its folder.

The real model's build quantises 22 million weights, which takes ten seconds and shows nothing more about the cache.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workers.encoder.onnx_build import minilm
from workers.encoder.onnx_build.cache import ensure
from workers.encoder.onnx_build.weights import Shape, Weights

NAME = "tiny"
HIDDEN = 8


def weights() -> Weights:
    """Cut the real weights down to one layer of `HIDDEN` columns."""
    real = minilm.weights()
    tensors = {name: _cut(tensor) for name, tensor in real.tensors.items() if ".layer." not in name or ".0." in name}
    shape = Shape(hidden=HIDDEN, layers=1, heads=2, norm_epsilon=real.shape.norm_epsilon)
    return Weights(NAME, shape, tensors, real.tokenizer, real.sha256, real.window)


def _cut(tensor: NDArray[np.float32]) -> NDArray[np.float32]:
    width = 384
    for axis, size in enumerate(tensor.shape):
        if size % width == 0:
            tensor = tensor.take(range(HIDDEN * (size // width)), axis)
    return tensor


if __name__ == "__main__":
    sys.stdout.write(f"{ensure(NAME, Path(sys.argv[1]), {NAME: weights})}\n")
