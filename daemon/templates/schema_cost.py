"""What a JSON Schema of a tenant costs, counted before anything is made of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

INLINE_NS = 5_000_000
"""So long a schema may take on the event loop."""
APPLY_NS = 20
"""What one look takes for each unit of a value's weight, with room."""
INLINE_SUBSCHEMAS_MAX = 400
"""To compile a schema of more takes a process."""
DEPTH_MAX = 100
CHEAP_PATTERN_MAX = 64
COMPILE_NS = 5_000_000
"""So long the patterns of one text may take to compile on the event loop."""
# Nanoseconds for a character, as measured, with room: one that stands for itself or a few others,
# one that stands for all but some, and a white space, of which Unicode has many.
PLAIN_NS, BROAD_NS, SPACE_NS, ANY_CASE = 2_000, 50_000, 250_000, 10
_UNICODE = re.compile(r"\\[pPQX]")
_PIECE = re.compile(r"\{\s*(\d*)\s*,?\s*(\d*)\s*\}|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^]\\])*+\]|\\.|.", re.DOTALL)
_BROAD = re.compile(r"\.\Z|\^|\\[DWbB]|[^\x00-\x7f]")
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
    costly = has_more(schema, INLINE_SUBSCHEMAS_MAX * 8) or compile_ns(schema) > COMPILE_NS
    looks = UNBOUNDED if costly else _Looks(schema).count(schema, 0)
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
        self._left = INLINE_SUBSCHEMAS_MAX

    def count(self, schema: Any, depth: int) -> float:
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
            looks += self.count(within, depth)
        looks += max((self.count(one, depth) for one in _values(schema, "properties")), default=0)
        looks += max((self.count(one, depth) for one in _items(schema, "prefixItems")), default=0)
        looks += sum(self.count(one, depth) for one in _values(schema, "patternProperties"))
        looks += sum(_pattern(one) for one in schema.get("patternProperties") or ())
        looks += sum(self.count(schema[word], depth) for word in _EACH if word in schema)
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
        return self.count(found, depth)


def _own(schema: Mapping[str, Any]) -> float:
    """The looks of the words that are no schemas."""
    looks = len(_values(schema, "properties")) / 8 + len(_items(schema, "required")) / 8
    looks += len(_items(schema, "enum")) + (COMPARED_LOOKS if "enum" in schema or "const" in schema else 0)
    if schema.get("uniqueItems") is True:
        most = schema.get("maxItems")
        looks += most if isinstance(most, int) and 0 <= most <= UNIQUE_MAX else UNBOUNDED
    looks += COMPARED_LOOKS * len(_values(schema, "dependentRequired"))
    return looks + (_pattern(schema["pattern"]) if "pattern" in schema else 0)


def _pattern(pattern: Any) -> float:
    """The looks of a pattern: of one that counts its repetitions out nothing is sure."""
    plain = isinstance(pattern, str) and pattern_ns(pattern) <= COMPILE_NS
    counted = plain and any(int(one) > CHEAP_PATTERN_MAX for one in _numbers(pattern))
    return PATTERN_LOOKS if plain and not counted and pattern.count("{") <= 4 else UNBOUNDED  # noqa: PLR2004


def compile_ns(schema: Any) -> float:
    """What the patterns of a schema and of all in it take to compile, with room."""
    try:
        return sum(map(pattern_ns, _counted(schema)))
    except CostlySchema:
        return UNBOUNDED


def pattern_ns(pattern: str) -> float:
    """What a pattern takes to compile, with room; what is repeated so often is written out."""
    if len(pattern) > CHEAP_PATTERN_MAX or _UNICODE.search(pattern):
        return UNBOUNDED
    sums, last = [0.0], 0.0
    for piece in _PIECE.finditer(pattern):
        if piece[1] is not None:  # how often the last one stands there
            last *= max(1, int(piece[1] or 0), int(piece[2] or 0))
            continue
        sums[-1] += last
        last = 0.0
        if piece[0] == "(":
            sums.append(0.0)
        elif piece[0] == ")" and len(sums) > 1:
            last = sums.pop()
        else:
            last = _piece_ns(piece[0])
    return (sum(sums) + last) * (ANY_CASE if "(?" in pattern else 1)


def _piece_ns(piece: str) -> float:
    spaces = piece.count("\\s") + piece.count("\\S")
    return PLAIN_NS * len(piece) + BROAD_NS * len(_BROAD.findall(piece)) + SPACE_NS * spaces


def _numbers(text: str) -> list[str]:
    return "".join(one if one in "0123456789" else " " for one in text).split()


def _same(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The schemas that are asked of the same value."""
    for word in _SAME:
        yield from _items(schema, word)
    yield from (schema[word] for word in _SAME_ONE if word in schema)
    yield from _values(schema, "dependentSchemas")


def _items(schema: Mapping[str, Any], word: str) -> list[Any]:
    found = schema.get(word)
    return found if isinstance(found, list) else []


def _values(schema: Mapping[str, Any], word: str) -> list[Any]:
    found = schema.get(word)
    return [*found.values()] if isinstance(found, dict) else []


SUBSCHEMAS_MAX = 5_000
REFERENCES_MAX = 200
EVALUATIONS_MAX = 10_000
META_COST = 200
"""What a reference to a schema of the standard costs."""
INDEX_CHARS = 10
"""No list of a schema has an index of so many characters."""

Location = tuple[str, ...]
ITEM, MEMBER = "#", "*"
_HERE = frozenset({"not", "if", "then", "else"})
_HERE_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
_HERE_NAMED = frozenset({"dependentSchemas", "dependencies"})
_WITHIN = {
    **dict.fromkeys(("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"), ITEM),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties", "propertyNames"), MEMBER),
}
_DEFINED = ("$defs", "definitions")
# Keywords that evaluate their neighbours a second time.
_AGAIN = frozenset({"unevaluatedProperties", "unevaluatedItems"})
_DYNAMIC = ("$dynamicRef", "$recursiveRef")


class CostlySchema(ValueError):
    """A schema that costs too much; the message says where and why."""


class SchemaCost(NamedTuple):
    """How many schemas a value passes, references followed; and the patterns of a schema."""

    evaluations: int
    patterns: tuple[str, ...]


class _Ref(NamedTuple):
    location: Location
    times: int
    target: str


class _Body(NamedTuple):
    """A schema without what it refers to: what it costs by itself, and its references."""

    evaluations: int
    references: tuple[_Ref, ...]


def schema_cost(schema: Any) -> SchemaCost:
    """The cost of a schema; CostlySchema beyond a bound.

    Members of members count as often as they are reached: a reference that is reached twice doubles
    what it refers to. What refers to itself may do so once for each place in a value.
    """
    patterns = _counted(schema)
    bodies = {"#": _body(schema, "#")}
    waiting = [bodies["#"]]
    for body in waiting:  # grows while it is walked
        for one in body.references:
            if one.target not in bodies:
                if len(bodies) > REFERENCES_MAX:
                    raise CostlySchema(f"it refers to more than {REFERENCES_MAX} definitions")
                bodies[one.target] = _body(_target(schema, one.target), one.target)
                waiting.append(bodies[one.target])
    return SchemaCost(_evaluations(bodies), patterns)


def _counted(schema: Any) -> tuple[str, ...]:
    """The patterns of a schema and all of its definitions, whose number is bounded."""
    patterns: list[str] = []
    waiting, defined = [schema], 0
    for number, one in enumerate(waiting):  # grows while it is walked
        if number >= SUBSCHEMAS_MAX:
            raise CostlySchema(f"it has more than {SUBSCHEMAS_MAX:,} schemas in it")
        if isinstance(one, dict):
            _check_names(one, inner=number > 0)
            patterns += _patterns(one)
            definitions = [inner for word in _DEFINED for inner in _members(one, word)]
            defined += len(definitions)
            if defined > REFERENCES_MAX:
                raise CostlySchema(f"it has more than {REFERENCES_MAX} definitions")
            waiting += (*definitions, *(found for _, found in _inner(one)))
    return tuple(patterns)


def _check_names(schema: dict[str, Any], *, inner: bool) -> None:
    """CostlySchema for a schema in which nobody can tell what a reference leads to."""
    if inner and isinstance(schema.get("$id"), str):
        raise CostlySchema("a schema within it has an $id of its own")
    if any(word in schema for word in _DYNAMIC):
        raise CostlySchema("it refers by $dynamicRef, whose end nobody can tell: use $ref")


def _patterns(schema: dict[str, Any]) -> Iterator[str]:
    if isinstance(schema.get("pattern"), str):
        yield schema["pattern"]
    named = schema.get("patternProperties")
    yield from named if isinstance(named, dict) else ()


def _members(schema: dict[str, Any], word: str) -> Iterator[Any]:
    value = schema.get(word)
    yield from value.values() if isinstance(value, dict) else ()


def _inner(schema: dict[str, Any]) -> Iterator[tuple[Location, Any]]:
    """The schemas that are evaluated with one, each with where in a value."""
    for word, value in schema.items():
        if word in _HERE:
            yield (), value
        elif word in _HERE_LISTS and isinstance(value, list):
            yield from (((), one) for one in value)
        elif word in _HERE_NAMED and isinstance(value, dict):
            yield from (((), one) for one in value.values() if isinstance(one, dict))
        elif word == "properties" and isinstance(value, dict):
            yield from (((f".{name}",), one) for name, one in value.items())
        elif word == "patternProperties" and isinstance(value, dict):
            yield from (((MEMBER,), one) for one in value.values())
        elif word in _WITHIN:
            yield from (((_WITHIN[word],), one) for one in (value if isinstance(value, list) else [value]))


def _body(schema: Any, name: str) -> _Body:
    evaluations, references = META_COST if schema is None else 0, list[_Ref]()
    waiting: list[tuple[Location, int, Any]] = [((), 1, schema)]
    while waiting:
        location, times, one = waiting.pop()
        evaluations += times
        if not isinstance(one, dict):
            continue
        if evaluations > EVALUATIONS_MAX:
            raise CostlySchema(_too_many(name))
        if isinstance(one.get("$ref"), str):
            references.append(_Ref(location, times, one["$ref"]))
        again = 2 if _AGAIN & one.keys() else 1
        waiting += ((location + where, times * again, inner) for where, inner in _inner(one))
    return _Body(evaluations, tuple(references))


def _target(root: Any, reference: str) -> Any:
    """What a reference leads to; None for what is elsewhere, or nowhere."""
    address, _, fragment = unquote(reference).partition("#")
    named = root.get("$id") if isinstance(root, dict) else None
    if address and not (isinstance(named, str) and named.partition("#")[0] == address):
        return None
    if fragment and not fragment.startswith("/"):
        return _anchored(root, fragment)
    found = root
    for escaped in fragment.split("/")[1:]:
        part = escaped.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and part.isdecimal() and len(part) < INDEX_CHARS and int(part) < len(found):
            found = found[int(part)]
        else:
            found = found.get(part) if isinstance(found, dict) else None
    return found


def _anchored(root: Any, name: str) -> Any:
    waiting = [root]
    for one in waiting:  # grows while it is walked
        if isinstance(one, dict):
            if name in (one.get("$anchor"), one.get("$dynamicAnchor")):
                return one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return None


def _evaluations(bodies: dict[str, _Body]) -> int:
    """How many schemas the root evaluates for one value, but for what refers to itself."""
    reach = {name: _reached(bodies, name) for name in bodies}
    known: dict[str, int] = {}

    def cost(name: str) -> int:
        if name not in known:
            body, own = bodies[name], [one for one in bodies[name].references if name in reach[one.target]]
            _check_circle(name, own, bodies, reach)
            known[name] = body.evaluations
            for one in body.references:
                if name not in reach[one.target]:
                    known[name] += one.times * cost(one.target)
                if known[name] > EVALUATIONS_MAX:
                    raise CostlySchema(_too_many(name))
        return known[name]

    return max(cost(name) for name in bodies)


def _reached(bodies: dict[str, _Body], start: str) -> frozenset[str]:
    """The schemas that one refers to, and all that they refer to."""
    found: dict[str, None] = {}
    waiting = [one.target for one in bodies[start].references]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += (one.target for one in bodies[name].references)
    return frozenset(found)


def _check_circle(name: str, own: list[_Ref], bodies: dict[str, _Body], reach: dict[str, frozenset[str]]) -> None:
    """CostlySchema where what refers to itself does so twice for one place in a value."""
    if any(one.times > 1 for one in own) or any(
        _overlap(one.location, other.location) for nth, one in enumerate(own) for other in own[:nth]
    ):
        raise CostlySchema(f"{name} refers to itself more than once for the same place in a value")
    here, seen = name, set[str]()
    while here not in seen:
        seen.add(here)
        on = [one.target for one in bodies[here].references if not one.location and here in reach[one.target]]
        if not on:
            return
        here = on[0]
    raise CostlySchema(f"{name} refers to itself for the same place in a value, and so has no end")


def _overlap(one: Location, other: Location) -> bool:
    """Whether two places may be one, or one within the other."""
    return all(a == b or (MEMBER in (a, b) and ITEM not in (a, b)) for a, b in zip(one, other, strict=False))


def _too_many(name: str) -> str:
    at = "" if name == "#" else f"{name} is reached so often that "
    return f"{at}a value passes more than {EVALUATIONS_MAX:,} schemas, references followed"
