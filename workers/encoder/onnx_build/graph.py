"""A BERT encoder as an ONNX graph, written down directly, without a training framework.

Inputs `input_ids` and `attention_mask`, int64 (batch, tokens); output `embedding`, float32 (batch, hidden): the mean of
the last layer over the unmasked tokens, at unit length (Reimers & Gurevych 2019, Sentence-BERT). Attention, the
residual with its normalisation, and the biased GELU are onnxruntime's fused operators (domain com.microsoft).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from workers.encoder.onnx_build.weights import Weights

FUSED = "com.microsoft"
OPSET, FUSED_OPSET, IR_VERSION = 17, 1, 9  # the newest that every supported onnxruntime reads


def bert(weights: Weights) -> onnx.ModelProto:
    """Return the graph of an encoder."""
    graph = _Graph(weights)
    hidden = graph.embeddings()
    for layer in range(weights.shape.layers):
        hidden = graph.layer(layer, hidden)
    graph.pooled(hidden)
    return graph.model()


class _Graph:
    """Collects nodes and constants; every method returns the name of the value it made."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._mask = self.node("Cast", "attention_mask", to=TensorProto.INT32)

    def node(self, operator: str, *inputs: str, domain: str = "", output: str = "", **attributes: Any) -> str:
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(
            helper.make_node(operator, inputs, [output or name + "_out"], name=name, domain=domain, **attributes)
        )
        return output or name + "_out"

    def constant(self, value: NDArray[Any]) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def tensor(self, name: str) -> NDArray[np.float32]:
        return self._weights.tensors[name]

    def embeddings(self) -> str:
        """Words + positions + the one segment, normalised."""
        words = self.node("Gather", self.constant(self.tensor("embeddings.word_embeddings.weight")), "input_ids")
        places = self.tensor("embeddings.position_embeddings.weight")
        segment = self.tensor("embeddings.token_type_embeddings.weight")[0]
        first, second, end = (self.constant(np.array([i], np.int64)) for i in (0, 1, 2))
        length = self.node("Slice", self.node("Shape", "input_ids"), second, end)
        positions = self.node("Slice", self.constant(places + segment), first, length, first)
        return self.node(
            "LayerNormalization",
            self.node("Add", words, positions),
            self.constant(self.tensor("embeddings.LayerNorm.weight")),
            self.constant(self.tensor("embeddings.LayerNorm.bias")),
            axis=-1,
            epsilon=self._weights.shape.norm_epsilon,
        )

    def layer(self, number: int, hidden: str) -> str:
        """One transformer layer: attention and feed-forward, each with its residual."""
        prefix = f"encoder.layer.{number}."
        heads = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
        attended = self.node(
            "Attention",
            hidden,
            self.constant(np.concatenate([self.tensor(f"{h}.weight").T for h in heads], axis=1)),
            self.constant(np.concatenate([self.tensor(f"{h}.bias") for h in heads])),
            self._mask,
            domain=FUSED,
            num_heads=self._weights.shape.heads,
        )
        hidden = self._residual(f"{prefix}attention.output.", attended, hidden)
        inner = self.node(
            "BiasGelu",
            self.node("MatMul", hidden, self.constant(self.tensor(f"{prefix}intermediate.dense.weight").T)),
            self.constant(self.tensor(f"{prefix}intermediate.dense.bias")),
            domain=FUSED,
        )
        return self._residual(f"{prefix}output.", inner, hidden)

    def _residual(self, prefix: str, value: str, skipped: str) -> str:
        projected = self.node("MatMul", value, self.constant(self.tensor(f"{prefix}dense.weight").T))
        return self.node(
            "SkipLayerNormalization",
            projected,
            skipped,
            self.constant(self.tensor(f"{prefix}LayerNorm.weight")),
            self.constant(self.tensor(f"{prefix}LayerNorm.bias")),
            self.constant(self.tensor(f"{prefix}dense.bias")),
            domain=FUSED,
            epsilon=self._weights.shape.norm_epsilon,
        )

    def pooled(self, hidden: str) -> str:
        """Mean over the unmasked tokens, at unit length."""
        tokens, last = (self.constant(np.array([i], np.int64)) for i in (1, 2))
        mask = self.node("Cast", "attention_mask", to=TensorProto.FLOAT)
        kept = self.node("Mul", hidden, self.node("Unsqueeze", mask, last))
        total = self.node("ReduceSum", kept, tokens, keepdims=0)
        mean = self.node("Div", total, self.node("ReduceSum", mask, tokens, keepdims=1))
        return self.node("LpNormalization", mean, output="embedding", axis=-1, p=2)

    def model(self) -> onnx.ModelProto:
        axes = ["batch", "tokens"]
        graph = helper.make_graph(
            self._nodes,
            "sentence-encoder",
            [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in ("input_ids", "attention_mask")],
            [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", self._weights.shape.hidden])],
            self._constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, FUSED_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="remembrancer")
        model.ir_version = IR_VERSION
        return model
