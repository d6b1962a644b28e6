"""What the encoder worker can be told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from remembrancer.runtime.settings import ProcessSettings


def default_cache() -> Path:
    """Return the user's cache folder for models. As the XDG specification has it, a relative one is ignored.

    Where the user has no home folder, `~` stays, and the settings are refused.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = (Path(base) if base.startswith("/") else Path("~/.cache")) / "remembrancer" / "models"
    try:
        return folder.expanduser()
    except RuntimeError:
        return folder


class EncoderSettings(ProcessSettings):
    """Settings of an encoder worker."""

    listen: str = Field(default="127.0.0.1:7710", description="host:port of the encoder service; port 0 = any free one")
    ops_listen: str = Field(default="127.0.0.1:7711", description="host:port of health checks")
    model: str = Field(
        default="all-MiniLM-L6-v2",
        min_length=1,
        description="all-MiniLM-L6-v2, multilingual-e5-small, or a folder with model.onnx and tokenizer.json",
    )
    models_file: Path | None = Field(
        default=None,
        description="a JSON file from model ids to such models; the one that serves is taken from it when it has it",
    )
    next: bool = Field(
        default=False, description="true or false: whether its model is to serve later, once a reindexing is done"
    )
    model_cache: Path = Field(default_factory=default_cache, description="a folder for built models")

    @field_validator("model_cache", mode="before")
    @classmethod
    def _empty_means_the_default(cls, value: Any) -> Any:
        return default_cache() if value == "" else value

    @field_validator("model_cache")
    @classmethod
    def _in_a_home_that_there_is(cls, value: Path) -> Path:
        try:
            return value.expanduser()
        except RuntimeError:
            raise ValueError("there is no home folder") from None
