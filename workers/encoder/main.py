"""Starts an encoder."""

from __future__ import annotations

from functools import partial

from remembrancer.runtime import logs, server
from remembrancer.runtime.settings import load
from remembrancer.runtime.threads import limit_threads
from workers.encoder.settings import EncoderSettings


def main() -> None:
    """Run the encoder until it is told to stop."""
    settings = load(EncoderSettings)
    logs.configure(settings, "encoder")
    threads = limit_threads(settings.threads)
    # The numeric libraries read the thread limits once, when they are imported.
    from workers.encoder.process import serve_encoder

    server.run(partial(serve_encoder, settings, threads))
