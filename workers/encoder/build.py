"""Build the encoder's model into the cache: `python -m workers.encoder.build [--model NAME] [--cache DIR]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from remembrancer.runtime.refusal import StartRefused
from remembrancer.runtime.settings import load
from workers.encoder.model_folder import describe
from workers.encoder.models import KNOWN, resolve
from workers.encoder.settings import EncoderSettings


def main() -> int:
    """Build what is asked for, or what the settings name; print its folder once it is seen to hold a model."""
    settings = load(EncoderSettings)
    parser = argparse.ArgumentParser(prog="python -m workers.encoder.build", description=__doc__)
    parser.add_argument(
        "--model", default=settings.model, help=f"{', '.join(KNOWN)}, or a folder (default: %(default)s)"
    )
    parser.add_argument("--cache", type=Path, default=settings.model_cache, help="cache folder (default: %(default)s)")
    wanted = parser.parse_args()
    try:
        folder = resolve(wanted.model, wanted.cache)
        describe(folder)
    except StartRefused as refusal:
        print(refusal, file=sys.stderr)  # noqa: T201
        return refusal.code
    print(folder)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
