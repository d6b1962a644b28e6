"""What the project's files import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]


def imports(folder: str) -> Iterator[tuple[Path, str]]:
    """Yield every import below a folder, those inside functions too; `from a import b` counts as `a.b`."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                yield from ((file, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield from ((file, f"{node.module}.{alias.name}") for alias in node.names)
