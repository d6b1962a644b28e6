"""A second encoder for tests, of another dimension: the shipped one with its vectors cut short."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from workers.encoder.models import resolve
from workers.encoder.settings import default_cache

DIMENSION = 128


def build(folder: Path) -> Path:
    """Fill a new folder with the model and return it."""
    cache = Path(os.environ.get("REMEMBRANCER_MODEL_CACHE") or default_cache())
    source = resolve("all-MiniLM-L6-v2", cache)
    folder.mkdir(parents=True)
    shutil.copy(source / "tokenizer.json", folder)
    model = onnx.load(str(source / "model.onnx"))
    graph = model.graph
    for name, value in (("cut_start", 0), ("cut_end", DIMENSION), ("cut_axis", 1)):
        graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), name))
    cut = helper.make_node("Slice", [graph.output[0].name, "cut_start", "cut_end", "cut_axis"], ["cut"])
    graph.node.append(cut)
    del graph.output[:]
    graph.output.append(helper.make_tensor_value_info("cut", TensorProto.FLOAT, ["batch", DIMENSION]))
    onnx.save(model, str(folder / "model.onnx"))
    return folder
