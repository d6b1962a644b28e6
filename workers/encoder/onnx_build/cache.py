"""Built models in a cache folder: complete or absent, also when two processes build at once or one is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from workers.encoder.model_folder import DESCRIPTION, MODEL, TOKENIZER, Description, model_id
from workers.encoder.onnx_build.cpu import needs_reduced_range
from workers.encoder.onnx_build.weights import Weights

BUILD = 3
"""Raised whenever the build makes other files from the same weights."""


def folder_of(name: str, cache: Path) -> Path:
    """Return where the model called `name` lives in the cache, in the variant for this CPU."""
    return cache / f"{name}-int8{'-reduced' if needs_reduced_range() else ''}-b{BUILD}"


def ensure(name: str, cache: Path, sources: Mapping[str, Callable[[], Weights]]) -> Path:
    """Return the folder of a model, building it first when it is not there; `sources` reads its weights by name.

    Raises BuildFailed or OSError when that is not possible.
    """
    folder = folder_of(name, cache)
    if _complete(folder):
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache / f".{folder.name}.lock"):
        if not _complete(folder):
            _build(sources[name](), folder)
    return folder


def _build(weights: Weights, folder: Path) -> None:
    # A process that finds a built model does without onnx.
    from workers.encoder.onnx_build.graph import bert
    from workers.encoder.onnx_build.quantise import int8

    beginning = f".{folder.name}.building-"
    for left in folder.parent.glob(f"{beginning}*"):
        shutil.rmtree(left)  # of a build that was killed: nobody else is at it while we hold the lock
    building = Path(tempfile.mkdtemp(prefix=beginning, dir=folder.parent))
    try:
        int8(bert(weights), building / MODEL, reduced=needs_reduced_range())
        (building / TOKENIZER).write_text(weights.tokenizer)
        description = Description(
            model_id=model_id(f"{weights.name}-int8", weights.sha256),
            window=weights.window,
            query_prefix=weights.query_prefix,
            passage_prefix=weights.passage_prefix,
            unrelated_cosine=weights.unrelated_cosine,
            reads_letters=weights.reads_letters,
        )
        description.write(building)
        building.chmod(0o755)
        os.replace(building, folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _complete(folder: Path) -> bool:
    return (folder / DESCRIPTION).is_file()


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold a lock that the operating system releases when the process dies."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
