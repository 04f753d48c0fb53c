"""What a connector takes out of a response: JMESPath by the name of a member, and its rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from jmespath.parser import ParsedResult

from actors.core.template import pointed
from daemon.templates.cel import check_rule, never

MAPPED_BYTES_MAX = 256 * 1024
_PLAIN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


@lru_cache(maxsize=1_024)
def compile_path(expression: str) -> ParsedResult:
    """An expression, ready to search; ValueError says what is wrong with it."""
    try:
        found = jmespath.compile(expression)
        unknown = next(_unknown(found.parsed), None)
    except (JMESPathError, RecursionError) as error:
        raise ValueError(f"is no JMESPath: {str(error).partition(chr(10))[0]}") from None
    if unknown is not None:
        raise ValueError(f"is no JMESPath: there is no function {unknown}")
    return found


def _unknown(tree: Any) -> Iterator[str]:
    """Names of functions in a parsed expression that JMESPath has not."""
    if isinstance(tree, dict):
        if tree["type"] == "function_expression" and tree["value"] not in Functions.FUNCTION_TABLE:
            yield tree["value"]
        for child in tree["children"]:
            yield from _unknown(child)


def map_response(names: dict[str, str], body: Any) -> dict[str, Any]:
    """What the expressions find by name; null where one finds nothing, or cannot be computed."""
    return {name: _found(expression, body) for name, expression in names.items()}


def is_plain(expression: str) -> bool:
    """Whether it only names a member, so that it takes no time to speak of."""
    return _PLAIN.fullmatch(expression) is not None


def _found(expression: str, body: Any) -> Any:
    try:
        return compile_path(expression).search(body)
    except (ValueError, JMESPathError, TypeError):
        return None


def wrong_expressions(rule: str | None, names: dict[str, str]) -> list[tuple[str, str]]:
    """The pointer of each expression by which no response can be read, and why."""
    found: list[tuple[str, str]] = []
    if rule is not None:
        try:
            check_rule(rule)
            why = never(rule)
        except ValueError as error:
            why = str(error)
        found += [("/signal_rule", why)] if why is not None else []
    for name, expression in names.items():
        try:
            compile_path(expression)
        except ValueError as error:
            found.append((f"/response_map{pointed(name)}", str(error)))
    return found
