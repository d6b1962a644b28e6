"""Reads the settings of all processes before any is started: `python -m remembrancer.cli.local.settings_check`.

The environment is the processes' own. Each value that one of them would refuse is named in a line, with exit code 2.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator

from pydantic import ValidationError

from remembrancer.cli.local.apps import apps_root
from remembrancer.runtime.refusal import BAD_SETTING
from remembrancer.runtime.settings import ProcessSettings, explain
from remembrancer.runtime.variables import PREFIX

CLASSES = (
    ("services.gateway.settings", "GatewaySettings"),
    ("workers.encoder.settings", "EncoderSettings"),
    ("workers.active.settings", "ActiveSettings"),
    ("workers.deep.settings", "DeepSettings"),
)
"""Imported by name: the library does not depend on the processes."""


def classes() -> Iterator[type[ProcessSettings]]:
    """Yield the settings class of each process."""
    root = str(apps_root())
    if root not in sys.path:
        sys.path.append(root)
    for module, name in CLASSES:
        yield getattr(importlib.import_module(module), name)


def variables() -> set[str]:
    """Return the names of all variables that some process reads."""
    return {PREFIX + field.upper() for settings in classes() for field in settings.model_fields}


def main() -> None:
    """Read all settings; print every refusal."""
    if refused := [line for settings in classes() for line in _refusals(settings)]:
        print("\n".join(refused))
        sys.exit(BAD_SETTING)


def _refusals(settings: type[ProcessSettings]) -> Iterator[str]:
    """Yield a line for each value that is refused, and take it out of the environment: it is named once for all."""
    while True:
        try:
            settings()  # type: ignore[call-arg]  # `listen` comes from the environment or a subclass
        except ValidationError as error:
            yield explain(settings, error)
            where = error.errors()[0]["loc"]
            named = [name for name in os.environ if where and name.upper() == f"{PREFIX}{where[0]}".upper()]
            for name in named:
                del os.environ[name]
            if named:
                continue
        return


if __name__ == "__main__":
    main()
