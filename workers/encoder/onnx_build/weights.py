"""What a build needs to know of a BERT encoder: its shape, its tensors, its tokenizer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class BuildFailed(Exception):
    """The model cannot be built here; the message is one line for the operator."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a BERT encoder."""

    hidden: int
    layers: int
    heads: int
    norm_epsilon: float


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of an encoder.

    `tensors` are float32 under the names of Hugging Face's BertModel, linear layers as (out, in). `tokenizer` is a
    tokenizer.json. `sha256` is that of the file the weights came in; `window` is the tokens the model was trained for,
    special ones included; the prefixes tell the model a query from a passage; `unrelated_cosine` is the cosine of texts
    that have nothing in common; `reads_letters` is that of `model_folder.Description`.
    """

    name: str
    shape: Shape
    tensors: Mapping[str, NDArray[np.float32]]
    tokenizer: str
    sha256: str
    window: int
    query_prefix: str = ""
    passage_prefix: str = ""
    unrelated_cosine: float = 0.0
    reads_letters: bool = True


def checked(path: Path, expected: str) -> Path:
    """Return the path when its SHA-256 is the expected one, else raise BuildFailed."""
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    if actual != expected:
        raise BuildFailed(f"{path.name} has sha256 {actual}, expected {expected}: not the weights that were reviewed")
    return path
