"""Keys of a connector that no process that calls its tool can ever have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from actors.core.calls import PLACEHOLDER, Connector
from daemon.templates.loading import CatalogEntry
from daemon.templates.schemas import Misfit

ELSEWHERE = frozenset({"call", "documents", "item"})
"""What a map may name beside inputs and facts: the judged call, documents, an item of many."""
CLOSE = 0.75
"""How alike two names are of which one is a slip of the other."""
NAME_CHARS_MAX = 64
QUICK, WHOLE = 10, 100
"""What two ways to compare names take, beside a look at their lengths."""
EFFORT_MAX = 30_000
"""So much all comparisons for one connector take: some 40 ms. Beyond it no name is close."""
_PLAIN = ("string", "number", "integer", "boolean", "null")
_OPEN = ("patternProperties", "$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")


def never_found(connector: Connector, entries: Sequence[CatalogEntry]) -> Iterator[Misfit]:
    """The keys that none of these processes, which call its tool, has."""
    names = _Names()
    for field, name, key in _keys(connector):
        first = None
        for entry in entries:
            why = names.why(key, entry)
            if why is None:
                break
            first = first or why
        else:
            if first is not None:
                yield Misfit(field, name, f"names {key}, which is never found: {first}")


def _keys(connector: Connector) -> Iterator[tuple[str, str, str]]:
    for field, names in (("body_map", connector.body_map), ("query_map", connector.query_map)):
        for name, key in (names or {}).items():
            if isinstance(key, str):
                yield field, name, key
    for key in PLACEHOLDER.findall(connector.path):
        yield "path", "", key


@dataclass(slots=True)
class _Names:
    """Looks names up, and close ones while there is effort left."""

    left: int = EFFORT_MAX

    def why(self, key: str, entry: CatalogEntry) -> str | None:
        """Why a process never has a key; None where it may have it."""
        first, _, rest = key.partition(".")
        vertical = entry.template.vertical
        if first in ELSEWHERE:
            return None
        if first == "inputs" and rest:
            return self._absent(rest.split("."), entry.inputs_schema, f"an input of {vertical}")
        fact = rest if first == "facts" and rest else key
        why = self._no_fact(fact, entry)
        if why is None or first == "facts":
            return why
        unknown = self._absent(key.split("."), entry.inputs_schema, f"an input of {vertical}", near=False)
        return None if unknown is None else f"{why}, and {unknown}"

    def _no_fact(self, key: str, entry: CatalogEntry) -> str | None:
        step, _, rest = key.partition(".")
        template = entry.template
        if not template.has(step):
            close = self._or(step, (node.id for node in template.nodes))
            return f"{step} is no step of {template.vertical}{close}"
        schemas = entry.tools.get(template.node(step).tool or "")
        if rest and schemas is not None and schemas.output is not None:
            return self._absent(rest.split("."), schemas.output, f"a member of what {step} answers")
        return None

    def _absent(self, path: Sequence[str], schema: Any, what: str, *, near: bool = True) -> str | None:
        """Why a schema has no such member: it is closed, or has one of almost the same name."""
        for part in path:
            if isinstance(schema, Mapping) and schema.get("type") in _PLAIN:
                return f"{part} is within a {schema['type']}, which has no members"
            members = schema.get("properties") if isinstance(schema, Mapping) else None
            if not isinstance(members, Mapping) or any(word in schema for word in _OPEN):
                return None
            if part not in members:
                closed, close = schema.get("additionalProperties") is False, self._or(part, members)
                if closed or (near and close) or (not near and "additionalProperties" not in schema):
                    return f"{part} is not {what}{close}"
                return None
            schema = members[part]
        return None

    def _or(self, name: str, known: Iterable[str]) -> str:
        """The known name that is closest to one, if any is close."""
        matcher, found = SequenceMatcher(b=name), list[tuple[float, str]]()
        for one in known if len(name) <= NAME_CHARS_MAX else ():
            self.left -= 1
            if self.left <= 0:
                break
            matcher.set_seq1(one)
            if matcher.real_quick_ratio() < CLOSE:
                continue
            self.left -= QUICK
            if matcher.quick_ratio() < CLOSE:
                continue
            self.left -= WHOLE
            found.append((matcher.ratio(), one))
        ratio, close = max(found, default=(0.0, ""))
        return f" ({close} is)" if ratio >= CLOSE else ""
