import os
from pathlib import Path

import pytest

from workers.encoder.model import Model
from workers.encoder.models import resolve
from workers.encoder.settings import default_cache


@pytest.fixture(scope="session")
def cache() -> Path:
    """The cache that all tests of one machine share."""
    return Path(os.environ.get("REMEMBRANCER_MODEL_CACHE") or default_cache())


@pytest.fixture(scope="session")
def folder(cache: Path) -> Path:
    return resolve("all-MiniLM-L6-v2", cache)


@pytest.fixture(scope="session")
def model(folder: Path) -> Model:
    return Model(folder)
