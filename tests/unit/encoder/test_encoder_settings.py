"""Where the encoder keeps models unless it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.encoder.settings import EncoderSettings


def test_the_model_cache_follows_the_xdg_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("REMEMBRANCER_MODEL_CACHE", raising=False)
    monkeypatch.setenv("HOME", "/somewhere")
    for base, cache in ((str(tmp_path), tmp_path), ("relative/paths/do/not/count", Path("/somewhere/.cache"))):
        monkeypatch.setenv("XDG_CACHE_HOME", base)
        assert EncoderSettings().model_cache == cache / "remembrancer" / "models"
    monkeypatch.setenv("REMEMBRANCER_MODEL_CACHE", "")
    assert EncoderSettings().model_cache == cache / "remembrancer" / "models"
