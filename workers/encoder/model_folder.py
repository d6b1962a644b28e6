"""A folder with an encoder: `model.onnx`, `tokenizer.json` and, from our own build or the operator, `encoder.json`.

Without `encoder.json` the name is the folder's, the digest that of `model.onnx`, the window what `config.json` allows
(`max_position_embeddings`, at most 512 tokens), there are no prefixes, and all letters count as read.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from remembrancer.runtime.refusal import BAD_SETTING, StartRefused

MODEL, TOKENIZER, DESCRIPTION, CONFIG = "model.onnx", "tokenizer.json", "encoder.json", "config.json"
DEFAULT_WINDOW = 256
MAX_WINDOW = 512


class Description(BaseModel):
    """What is known about an encoder beside its graph.

    `window` is in tokens, special ones included; `unrelated_cosine`, below 1, is what texts have that share nothing.
    `reads_letters`: whether a token of one letter beyond ASCII tells the model anything. One that was trained on
    English has the letters of other scripts in its vocabulary and spells their words, but has learnt nothing of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())

    model_id: str = Field(min_length=1, max_length=256)
    window: int = Field(ge=1)
    query_prefix: str = ""
    passage_prefix: str = ""
    unrelated_cosine: float = Field(default=0.0, ge=-1, lt=1)
    reads_letters: bool = True

    def write(self, folder: Path) -> None:
        """Write it beside the model."""
        (folder / DESCRIPTION).write_text(self.model_dump_json(indent=2) + "\n")


def model_id(name: str, sha256: str) -> str:
    """Return the id of a model, such as `all-MiniLM-L6-v2-int8@53aa5117`."""
    return f"{name}@{sha256[:8]}"


def describe(folder: Path) -> Description:
    """Return the description of the encoder in a folder; StartRefused when files are missing or malformed."""
    for name in (MODEL, TOKENIZER):
        if not (folder / name).is_file():
            raise StartRefused(f"the encoder's folder {folder} has no {name}", BAD_SETTING)
    own = folder / DESCRIPTION
    if own.is_file():
        try:
            return Description.model_validate_json(own.read_bytes())
        except ValidationError as error:
            wrong = error.errors()[0]
            where = ".".join(map(str, wrong["loc"])) or "the whole"
            raise StartRefused(f"{own} makes no sense: {where}: {wrong['msg']}", BAD_SETTING) from None
    with (folder / MODEL).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return Description(model_id=model_id(folder.resolve().name, sha256), window=_window(folder / CONFIG))


def _window(config: Path) -> int:
    """Return the window that a config.json allows."""
    try:
        found = json.loads(config.read_text())["max_position_embeddings"]
    except (FileNotFoundError, KeyError):
        return DEFAULT_WINDOW
    except (ValueError, TypeError):
        raise StartRefused(f"{config} is no JSON object", BAD_SETTING) from None
    if not isinstance(found, int) or found < 1:
        raise StartRefused(f"{config} has a max_position_embeddings that is no number of tokens", BAD_SETTING)
    return min(found, MAX_WINDOW)
