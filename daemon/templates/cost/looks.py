"""What a JSON Schema may cost, by its text: how often it looks at one value, at most."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

INLINE_NS = 5_000_000
"""So long a schema may take on the event loop."""
APPLY_NS = 20
"""What one look takes for each unit of a value's weight, with room."""
SUBSCHEMAS_MAX = 400
"""To compile a schema of more takes a process."""
DEPTH_MAX = 100
CHEAP_PATTERN_MAX = 64
PATTERN_LOOKS, COMPARED_LOOKS = 20, 10
UNIQUE_MAX = 100
UNBOUNDED = math.inf
_SAME = ("allOf", "anyOf", "oneOf")
_SAME_ONE = ("if", "then", "else", "not")
_EACH = ("additionalProperties", "items", "contains", "propertyNames")
# What looks at what others have looked at, or leads to a place that is not plain.
_STRANGE = frozenset(
    {"unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef", "$id", "$vocabulary"}
)


def inline_weight(schema: Any) -> int:
    """The largest weight of a value that a schema is asked about on the event loop."""
    looks = UNBOUNDED if has_more(schema, SUBSCHEMAS_MAX * 8) else _Looks(schema).of(schema, 0)
    return 0 if math.isinf(looks) else int(INLINE_NS / (APPLY_NS * looks))


def has_more(value: Any, most: int) -> bool:
    """Whether a value has more than so many in it."""
    rest, left = [value], most
    while rest and left > 0:
        one = rest.pop()
        left -= 1
        within = [*one.values()] if isinstance(one, dict) else one if isinstance(one, list) else []
        if len(within) > left:
            return True
        rest += within
    return bool(rest)


class _Looks:
    """Counts how often one value is looked at; each subschema is counted once."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._known: dict[int, float] = {}
        self._left = SUBSCHEMAS_MAX

    def of(self, schema: Any, depth: int) -> float:
        if not isinstance(schema, dict):
            return 1
        found = self._known.get(id(schema))
        if found is None:
            self._left -= 1
            if depth > DEPTH_MAX or self._left < 0 or _STRANGE & schema.keys():
                return UNBOUNDED
            self._known[id(schema)] = UNBOUNDED  # where it leads back to itself
            found = self._known[id(schema)] = self._counted(schema, depth + 1)
        return found

    def _counted(self, schema: Mapping[str, Any], depth: int) -> float:
        looks = 1 + _own(schema)
        for within in _same(schema):
            looks += self.of(within, depth)
        looks += max((self.of(one, depth) for one in _members(schema, "properties")), default=0)
        looks += max((self.of(one, depth) for one in _items(schema, "prefixItems")), default=0)
        looks += sum(self.of(one, depth) for one in _members(schema, "patternProperties"))
        looks += sum(_pattern(one) for one in schema.get("patternProperties") or ())
        looks += sum(self.of(schema[word], depth) for word in _EACH if word in schema)
        if "$ref" in schema:
            looks += self._at(schema["$ref"], depth)
        return looks

    def _at(self, ref: Any, depth: int) -> float:
        """What a reference within the schema leads to."""
        if not isinstance(ref, str) or not ref.startswith("#") or "%" in ref or (ref != "#" and ref[1] != "/"):
            return UNBOUNDED
        found = self._root
        for part in ref.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or name not in found:
                return UNBOUNDED
            found = found[name]
        return self.of(found, depth)


def _own(schema: Mapping[str, Any]) -> float:
    """The looks of the words that are no schemas."""
    looks = len(_members(schema, "properties")) / 8 + len(_items(schema, "required")) / 8
    looks += len(_items(schema, "enum")) + (COMPARED_LOOKS if "enum" in schema or "const" in schema else 0)
    if schema.get("uniqueItems") is True:
        most = schema.get("maxItems")
        looks += most if isinstance(most, int) and 0 <= most <= UNIQUE_MAX else UNBOUNDED
    looks += COMPARED_LOOKS * len(_members(schema, "dependentRequired"))
    return looks + (_pattern(schema["pattern"]) if "pattern" in schema else 0)


def _pattern(pattern: Any) -> float:
    """The looks of a pattern: of one that counts its repetitions out nothing is sure."""
    plain = isinstance(pattern, str) and len(pattern) <= CHEAP_PATTERN_MAX
    counted = plain and any(int(one) > CHEAP_PATTERN_MAX for one in _numbers(pattern))
    return PATTERN_LOOKS if plain and not counted and pattern.count("{") <= 4 else UNBOUNDED  # noqa: PLR2004


def _numbers(text: str) -> list[str]:
    return "".join(one if one in "0123456789" else " " for one in text).split()


def _same(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas that are asked of the same value."""
    for word in _SAME:
        yield from _items(schema, word)
    yield from (schema[word] for word in _SAME_ONE if word in schema)
    yield from _members(schema, "dependentSchemas")


def _items(schema: Mapping[str, Any], word: str) -> list[Any]:
    found = schema.get(word)
    return found if isinstance(found, list) else []


def _members(schema: Mapping[str, Any], word: str) -> list[Any]:
    found = schema.get(word)
    return [*found.values()] if isinstance(found, dict) else []
