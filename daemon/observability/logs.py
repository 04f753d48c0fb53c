"""Logs: JSON lines, or readable lines on a terminal; secrets are masked."""

from __future__ import annotations

import logging
import re
import sys
import time
import traceback
from collections.abc import Mapping
from contextvars import Context
from functools import lru_cache
from typing import Any

import structlog
from aiohttp.http_exceptions import HttpProcessingError
from structlog.typing import EventDict, Processor

from actors.context import LOG_CONTEXT
from daemon.runtime.terminal import clean_lines

MASK = "***"
DEPTH_MAX = 8
NAMES_MAX = 1_000
WARN_EVERY_S = 10.0
_log = structlog.get_logger("penstock")
_HIDDEN_WORDS = (
    r"authori[sz]ation|cookie|credentials?|dsn|passphrase|passw(?:or)?d|password_hash|secret|token"
    r"|(?:api|data|private|signing|vault)[_-]?key"
)
# A secret is named by its last word: `auth_token`, `key`; not `tokens_max` or `key_id`.
_NAMES = re.compile(rf"(?:.*[_.-])?(?:{_HIDDEN_WORDS})s?|key|(?:.*[_-])?(?:sealed|wrapped)(?:[_-].*)?", re.IGNORECASE)
_VALUE = r"""(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s"'&,;})\]]+)"""
_IN_TEXT = (
    # Authorization: Bearer x
    (re.compile(r"\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\1\2{MASK}"),
    # token=x, "password": "x", auth_token: x
    (
        re.compile(
            rf"""((?:{_HIDDEN_WORDS})s?["']?\s*[=:]\s*)(?!bearer\b|basic\b){_VALUE}""",
            re.IGNORECASE | re.DOTALL,
        ),
        rf"\1{MASK}",
    ),
    # A JSON Web Token, wherever it stands.
    (re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?"), MASK),
    # https://user:password@host
    (re.compile(r"//[^/@\s]+@"), f"//{MASK}@"),
)

FRAMES_MAX = 32
CAUSES_MAX = 8
# Without one of these in it no text matches any of the patterns.
_HINTS = ("authori", "basic", "bearer", "cookie", "credential", "dsn", "eyj", "key", "pass", "secret", "token", "//")


def configure(level: str) -> None:
    """Log to standard error from this level on; libraries from `warning` on."""
    least = logging.getLevelNamesMapping()[level.upper()]
    first: list[Processor] = [
        add_log_context,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        format_fault,
    ]
    on_terminal = sys.stderr.isatty()
    renderers: list[Processor] = [structlog.processors.JSONRenderer()]
    if on_terminal:
        renderers = [printable, structlog.dev.ConsoleRenderer()]
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        processors=[*first, masked, *renderers],
        cache_logger_on_first_use=True,
    )
    _take_in_libraries(first, renderers, least)


def add_log_context(_logger: Any, _method: str, line: EventDict) -> EventDict:
    """Add the ids of the log context that the line does not give itself."""
    for name, value in LOG_CONTEXT.get().items():
        line.setdefault(name, value)
    return line


def format_fault(_logger: Any, _method: str, line: EventDict) -> EventDict:
    """Replace an exception by its types and places; its words may quote what anybody sent."""
    found = line.pop("exc_info", None)
    error = sys.exc_info()[1] if found is True else found[1] if isinstance(found, tuple) else found
    parts: list[str] = []
    while isinstance(error, BaseException) and len(parts) < CAUSES_MAX:
        frames = "".join(traceback.format_tb(error.__traceback__, limit=-FRAMES_MAX))
        parts.insert(0, f"Traceback (most recent call last):\n{frames}{type(error).__name__}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return {**line, "exception": "\n\n".join(parts)} if parts else line


def masked(_logger: Any, _method: str, line: EventDict) -> EventDict:
    return without_secrets(line)


def printable(_logger: Any, _method: str, line: EventDict) -> EventDict:
    """Escape control characters, which JSON does by itself."""
    return {name: clean_lines(value) if isinstance(value, str) else value for name, value in line.items()}


def without_secrets(members: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping with secrets masked, by their names and by their form."""
    return {name: _hidden(name, value, DEPTH_MAX) for name, value in members.items()}


def _hidden(name: str, value: Any, depth: int) -> Any:
    if _is_secret(name):
        return value if value is None or isinstance(value, bool) else MASK
    return _seen(value, depth)


@lru_cache(NAMES_MAX)
def _is_secret(name: str) -> bool:
    return _NAMES.fullmatch(name) is not None


def _seen(value: Any, depth: int) -> Any:
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return _clean(value)
        case Mapping() if depth:
            return {_clean(str(name)): _hidden(str(name), inner, depth - 1) for name, inner in value.items()}
        case list() | tuple() | set() | frozenset() if depth:
            return [_seen(inner, depth - 1) for inner in value]
        case _:
            return _clean(repr(value))


def _clean(text: str) -> str:
    lower = text.lower()
    for hint in _HINTS:
        if hint in lower:
            break
    else:  # nearly always, and much cheaper than to look with the patterns
        return text
    for pattern, instead in _IN_TEXT:
        text = pattern.sub(instead, text)
    return text


def _take_in_libraries(first: list[Processor], renderers: list[Processor], least: int) -> None:
    """Format log records of libraries in the same way, warnings included."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *first],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, masked, *renderers],
        )
    )
    if least > logging.DEBUG:
        handler.addFilter(_is_no_callers_fault)
    logging.basicConfig(level=max(least, logging.WARNING), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)


def _is_no_callers_fault(record: logging.LogRecord) -> bool:
    """Whether a record is about more than malformed HTTP, which any client can send."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


class ThrottledLog:
    """Logs a warning at once, then at most one in `every_s`, with the number since."""

    def __init__(self, event: str, every_s: float = WARN_EVERY_S) -> None:
        self._event = event
        self._every_s = every_s
        self._times = 0
        self._not_before = 0.0

    def warn(self, **members: Any) -> None:
        self._times += 1
        now = time.monotonic()
        if now < self._not_before:
            return
        self._not_before = now + self._every_s
        # In a context of its own: the line is about no single request.
        Context().run(_log.warning, self._event, times=self._times, **members)
        self._times = 0
