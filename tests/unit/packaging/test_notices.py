"""T25: the notices of weights, data and programs of others are about what is used, and travel with the package."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.unit.packaging.imports import ROOT
from tests.unit.packaging.test_requirements import RUNTIME, pins
from workers.encoder.onnx_build import e5, minilm

NOTICES = ROOT / "THIRD_PARTY_NOTICES.md"
LARGE_BYTES = 200_000
"""A file of a package that is larger, and no code, is looked at: is it data or a program that needs a notice?"""

LIBRARIES = {".so", ".py", ".pyi", ".pyc", ".a", ".h", ".pyd", ".dylib"}
NO_NOTICE = {"grpcio": "root certificates", "onnx": "test cases", "onnxruntime": "notices of its own"}
"""Packages whose large files are no weights, data or programs that the service works with, and what they are."""


def noticed() -> dict[str, str]:
    """Return the versions of the packages that the notices name."""
    named = map(Requirement, re.findall(r"`([A-Za-z0-9-]+==[^`]+)`", NOTICES.read_text()))
    return {canonicalize_name(one.name): next(iter(one.specifier)).version for one in named}


def test_t25_the_notices_name_the_versions_and_files_that_are_used() -> None:
    optional = Requirement(e5.REQUIREMENT)
    used = {**pins(RUNTIME), optional.name: next(iter(optional.specifier)).version}
    for name, version in noticed().items():
        assert used[name] == version, name
    for digest in (minilm.SHA256, e5.SHA256):
        assert f"`{digest}`" in NOTICES.read_text()


@pytest.mark.parametrize("name", sorted(pins(RUNTIME)))
def test_t25_every_package_with_large_data_or_a_program_has_a_notice(name: str) -> None:
    large = [
        str(file)
        for file in metadata.files(name) or ()
        if (file.size or 0) > LARGE_BYTES and not LIBRARIES & set(file.suffixes)
    ]
    assert not large or name in noticed() or name in NO_NOTICE, large


def test_t25_the_notices_travel_with_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license-files"] == [NOTICES.name]
