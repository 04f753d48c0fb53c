"""Keys of a connector that no process that calls its tool can ever have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from actors.core.calls import PLACEHOLDER, Connector
from daemon.templates.loading import CatalogEntry
from daemon.templates.tools import Misfit

ELSEWHERE = frozenset({"call", "documents", "item"})
"""What a map may name beside inputs and facts: the judged call, documents, an item of many."""
CLOSE = 0.75
"""How alike two names are of which one is a slip of the other."""
_PLAIN = ("string", "number", "integer", "boolean", "null")
_OPEN = ("patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")


def never_found(connector: Connector, entries: Sequence[CatalogEntry]) -> Iterator[Misfit]:
    """The keys that none of these processes, which call its tool, has."""
    if not entries:
        return
    for field, name, key in _keys(connector):
        whys = [_why(key, entry) for entry in entries]
        if None not in whys:
            yield Misfit(field, name, f"names {key}, which is never found: {whys[0]}")


def _keys(connector: Connector) -> Iterator[tuple[str, str, str]]:
    for field, names in (("body_map", connector.body_map), ("query_map", connector.query_map)):
        for name, key in (names or {}).items():
            if isinstance(key, str):
                yield field, name, key
    for key in PLACEHOLDER.findall(connector.path):
        yield "path", "", key


def _why(key: str, entry: CatalogEntry) -> str | None:
    """Why a process never has a key; None where it may have it."""
    first, _, rest = key.partition(".")
    vertical = entry.template.vertical
    if first in ELSEWHERE:
        return None
    if first == "inputs" and rest:
        return _absent(rest.split("."), entry.inputs_schema, f"an input of {vertical}")
    fact = rest if first == "facts" and rest else key
    why = _no_fact(fact, entry)
    if why is None or first == "facts":
        return why
    unknown = _absent(key.split("."), entry.inputs_schema, f"an input of {vertical}", near=False)
    return None if unknown is None else f"{why}, and {unknown}"


def _no_fact(key: str, entry: CatalogEntry) -> str | None:
    step, _, rest = key.partition(".")
    template = entry.template
    if not template.has(step):
        known = sorted(node.id for node in template.nodes)
        return f"{step} is no step of {template.vertical}{_or(step, known)}"
    schemas = entry.tools.get(template.node(step).tool or "")
    if rest and schemas is not None and schemas.output is not None:
        return _absent(rest.split("."), schemas.output, f"a member of what {step} answers")
    return None


def _absent(path: Sequence[str], schema: Any, what: str, *, near: bool = True) -> str | None:
    """Why a schema has no such member: it is closed, or has one whose name is almost the same."""
    for part in path:
        if isinstance(schema, Mapping) and schema.get("type") in _PLAIN:
            return f"{part} is within a {schema['type']}, which has no members"
        members = schema.get("properties") if isinstance(schema, Mapping) else None
        if not isinstance(members, Mapping) or any(word in schema for word in _OPEN):
            return None
        if part not in members:
            closed = schema.get("additionalProperties") is False
            slip = near and get_close_matches(part, members, 1, CLOSE)
            if closed or slip or (not near and "additionalProperties" not in schema):
                return f"{part} is not {what}{_or(part, members)}"
            return None
        schema = members[part]
    return None


def _or(name: str, known: Any) -> str:
    close = get_close_matches(name, list(known), 1, CLOSE)
    return f" ({close[0]} is)" if close else ""
