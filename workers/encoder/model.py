"""The sentence encoder: one window of one text per run.

Dynamic int8 scales depend on everything in the batch, so a text run together with others would get another vector than
the same text alone; and batches gain nothing on CPUs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from remembrancer.model.errors import InternalError
from remembrancer.runtime.refusal import BAD_SETTING, StartRefused
from workers.encoder.model_folder import MODEL, TOKENIZER, describe
from workers.encoder.tokens import Tokens
from workers.encoder.windows import MAX_QUERY_WINDOWS, MAX_WINDOWS

Vector = NDArray[np.float16]
"""(dimension,), unit length, finite."""


class Model:
    """A loaded encoder. All methods may run in several threads at once."""

    def __init__(self, folder: Path) -> None:
        """Load the model of a folder; StartRefused when it cannot be loaded or does not make sentence vectors."""
        description = describe(folder)
        self.id = description.model_id
        self.window = description.window
        self.unrelated_cosine = description.unrelated_cosine
        self._prefixes = (description.passage_prefix, description.query_prefix)
        try:
            self._tokens = Tokens(folder / TOKENIZER, self.window, reads_letters=description.reads_letters)
            self._session = ort.InferenceSession(folder / MODEL, _options(), providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise bare Exceptions of their own
            raise StartRefused(f"the encoder in {folder} cannot be loaded: {type(error).__name__}") from error
        self._inputs = {i.name for i in self._session.get_inputs()}
        if not {"input_ids"} <= self._inputs <= {"input_ids", "attention_mask", "token_type_ids"}:
            raise StartRefused(
                f"the encoder in {folder} wants other inputs than token ids, mask and segments", BAD_SETTING
            )
        self.dimension = 0
        try:
            self.dimension = len(self.embed(self._tokens.probe))
        except InternalError as error:
            raise StartRefused(f"the encoder in {folder} makes no usable vectors") from error

    def windows(self, text: str, *, query: bool) -> list[list[int]]:
        """Return the token ids of each window of a text, up to 32, of a query up to 8; none of what it cannot read."""
        most = MAX_QUERY_WINDOWS if query else MAX_WINDOWS
        return self._tokens.windows(text, self._prefixes[query], most)

    def embed(self, window: Sequence[int]) -> Vector:
        """Return the vector of one window. Errors: InternalError when it is not finite, zero or of another size."""
        ids = np.array([window], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (output, *_) = self._session.run(None, {name: feeds[name] for name in self._inputs})
        pooled = np.asarray(output, dtype=np.float32)[0]
        if pooled.ndim == 2:  # a foreign graph that stops at the last layer: (tokens, dimension)
            pooled = pooled.mean(axis=0)
        length = float(np.linalg.norm(pooled))
        if not np.isfinite(length) or length == 0 or (self.dimension and pooled.shape != (self.dimension,)):
            raise InternalError("the model made no usable vector")
        vector: Vector = (pooled / length).astype("<f2")
        return vector


def _options() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # texts run side by side instead; also keeps the result the same everywhere
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    options.log_severity_level = 3
    return options
