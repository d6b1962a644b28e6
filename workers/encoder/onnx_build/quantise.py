"""Dynamic int8 quantisation."""

from __future__ import annotations

import logging
from pathlib import Path

import onnx
from onnx import TensorProto
from onnxruntime.quantization import QuantType, quantize_dynamic

QUANTISED = ("MatMul", "Attention", "Gather")


def int8(model: onnx.ModelProto, target: Path, *, reduced: bool) -> None:
    """Write the model with int8 weights (one scale per output column) and activations quantised at run time."""
    quiet = logging.getLogger()
    level = quiet.level
    quiet.setLevel(logging.ERROR)  # it recommends a preprocessing that the fused operators do not need
    try:
        quantize_dynamic(
            model,
            target,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=reduced,
            op_types_to_quantize=list(QUANTISED),
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
    finally:
        quiet.setLevel(level)
