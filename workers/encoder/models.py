"""From the name of a model to the folder that holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from remembrancer.runtime.refusal import BAD_SETTING, StartRefused
from workers.encoder.onnx_build.cache import ensure
from workers.encoder.onnx_build.weights import BuildFailed, Weights


def _minilm() -> Weights:
    from workers.encoder.onnx_build import minilm  # needs safetensors, at set-up only

    return minilm.weights()


def _e5() -> Weights:
    from workers.encoder.onnx_build import e5

    return e5.weights()


KNOWN: Mapping[str, Callable[[], Weights]] = MappingProxyType(
    {"all-MiniLM-L6-v2": _minilm, "multilingual-e5-small": _e5}
)
"""Models that are built here, and where their weights come from."""


def resolve(model: str, cache: Path) -> Path:
    """Return the folder of a known model, built when it is not in the cache, or the folder that `model` names itself.

    StartRefused when there is no such folder or the build fails.
    """
    if model not in KNOWN:
        if not Path(model).is_dir():
            raise StartRefused(
                f"REMEMBRANCER_MODEL={model!r} is no folder; allowed: {', '.join(KNOWN)}, or a folder", BAD_SETTING
            )
        return Path(model)
    try:
        return ensure(model, cache, KNOWN)
    except BuildFailed as error:
        raise StartRefused(f"the model {model} cannot be built: {error}") from None
    except ImportError as error:
        raise StartRefused(f"the model {model} is not in {cache}, and building it needs {error.name}") from None
    except OSError as error:
        raise StartRefused(f"the model {model} cannot be written to {cache}: {error.strerror}") from None
