"""Logs: JSON lines for machines, readable lines on a terminal."""

from __future__ import annotations

import logging
import sys

import structlog


def configure(level: str) -> None:
    """Log what is of at least that level to standard error."""
    least = logging.getLevelNamesMapping()[level.upper()]
    on_terminal = sys.stderr.isatty()
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)  # variables may hold secrets
        if on_terminal
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(() if on_terminal else (structlog.processors.format_exc_info,)),
            renderer,
        ],
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=max(least, logging.WARNING), stream=sys.stderr)
