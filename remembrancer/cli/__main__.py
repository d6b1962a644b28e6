"""The command `remembrancer`, also `python -m remembrancer.cli`."""

from __future__ import annotations

import shlex
import sys


def main() -> None:
    """Run the command line, or say what is missing where only the client is installed."""
    try:
        from remembrancer.cli.main import main as run
    except ModuleNotFoundError as error:
        sys.exit(
            f"The command needs the service's packages; {error.name} is missing from {sys.prefix}. "
            f"In a checkout, install them: {shlex.quote(sys.executable)} -m pip install --no-deps -r requirements.txt ."
        )
    run()


if __name__ == "__main__":
    main()
