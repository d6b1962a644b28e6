"""Structured logs: JSON lines in production, readable ones on a terminal.

Texts, queries and secrets are never logged. Exceptions are therefore logged as type and code locations only: their
messages and local variables may quote what a caller sent.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor

from remembrancer.runtime.settings import ProcessSettings


def configure(settings: ProcessSettings, process: str, stream: TextIO | None = None) -> None:
    """Set up structlog and the standard library's logging for this process; lines go to `stream`, else stdout.

    Every line has `timestamp` (UTC), `level`, `event`, `process` and, within a call, `request_id`.
    """
    out = stream if stream is not None else sys.stdout
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    readable = settings.log_format == "console" or (settings.log_format == "auto" and out.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _name(process),
        _frames_only,
    ]
    renderer: Processor = structlog.dev.ConsoleRenderer(colors=out.isatty()) if readable else _json
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
        )
    )
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)


def _json(logger: object, method: str, event: EventDict) -> str:
    rendered = structlog.processors.JSONRenderer(ensure_ascii=False)(logger, method, event)
    return rendered if isinstance(rendered, str) else rendered.decode()


def _name(process: str) -> Processor:
    def add(_logger: object, _method: str, event: EventDict) -> EventDict:
        event["process"] = process
        return event

    return add


def _frames_only(_logger: object, _method: str, event: EventDict) -> EventDict:
    info = event.pop("exc_info", None)
    if not info:
        return event
    error = info if isinstance(info, BaseException) else (info[1] if isinstance(info, tuple) else sys.exc_info()[1])
    if error is not None:
        event["error"] = type(error).__qualname__
        event["frames"] = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
    return event
