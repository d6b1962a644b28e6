"""A folder with an encoder: `model.onnx`, `tokenizer.json` and, from our own build or the operator, `encoder.json`.

Without `encoder.json` the name is the folder's, the digest that of `model.onnx`, the window what `config.json` allows
(`max_position_embeddings`, at most 512 tokens), and there are no prefixes.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from remembrancer.runtime.refusal import StartRefused

MODEL, TOKENIZER, DESCRIPTION, CONFIG = "model.onnx", "tokenizer.json", "encoder.json", "config.json"
DEFAULT_WINDOW = 256
MAX_WINDOW = 512


@dataclass(frozen=True, slots=True)
class Description:
    """What is known about an encoder beside its graph.

    `window` is in tokens, special ones included; `unrelated_cosine`, below 1, is what texts have that share nothing.
    """

    model_id: str
    window: int
    query_prefix: str = ""
    passage_prefix: str = ""
    unrelated_cosine: float = 0.0

    def write(self, folder: Path) -> None:
        """Write it beside the model."""
        (folder / DESCRIPTION).write_text(json.dumps(asdict(self), indent=2) + "\n")


def model_id(name: str, sha256: str) -> str:
    """Return the id of a model, such as `all-MiniLM-L6-v2-int8@53aa5117`."""
    return f"{name}@{sha256[:8]}"


def describe(folder: Path) -> Description:
    """Return the description of the encoder in a folder; StartRefused when files are missing or malformed."""
    for name in (MODEL, TOKENIZER):
        if not (folder / name).is_file():
            raise StartRefused(f"the encoder's folder {folder} has no {name}")
    own = _json(folder / DESCRIPTION)
    if own:
        try:
            return Description(**own)
        except TypeError:
            raise StartRefused(f"{folder / DESCRIPTION} has missing or unknown keys") from None
    with (folder / MODEL).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    window = min(int(_json(folder / CONFIG).get("max_position_embeddings", DEFAULT_WINDOW)), MAX_WINDOW)
    return Description(model_id(folder.resolve().name, sha256), window)


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise StartRefused(f"{path} is not JSON") from None
    return found if isinstance(found, dict) else {}
