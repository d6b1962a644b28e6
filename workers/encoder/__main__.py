"""Entry point: `python -m workers.encoder`."""

from __future__ import annotations

from remembrancer.runtime.server import run
from remembrancer.runtime.settings import load
from remembrancer.runtime.threads import limit_threads
from workers.encoder.settings import EncoderSettings


def start() -> None:
    """Read the settings, bound the threads, run."""
    settings = load(EncoderSettings)
    threads = limit_threads(settings.threads)
    from workers.encoder.main import main  # the numeric libraries read the bound when they are loaded

    run(lambda: main(settings, threads))


if __name__ == "__main__":
    start()
