"""Random values that a JSON Schema allows, and values that it does not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.library.expressions import EACH, Path

MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
GONE: Any = object()
"""The value of a member that is left out."""
UNEXPECTED = "unexpected"
ITEMS_MAX = 3
_PIECE = re.compile(r"\[([^\]]+)\]|\\(d)|([^\\^$()|?*+{}\[\].])")
_TIMES = re.compile(r"\{(\d+)(?:,(\d+)?)?\}|([+*?])")
Pool = Mapping[Path, Sequence[Any]]
Schema = Mapping[str, Any]


def value(schema: Schema, random: Random, pool: Pool, path: Path = ()) -> Any:
    """A value that a schema allows; the values of the pool are preferred at their paths."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return random.choice(schema["enum"])
    for word in ("oneOf", "anyOf"):
        if schema.get(word):
            return value(random.choice(schema[word]), random, pool, path)
    kinds = schema.get("type", "string")
    kind = random.choice(kinds) if isinstance(kinds, list) else kinds
    return _OF_KIND[kind](schema, random, pool, path)


def _object(schema: Schema, random: Random, pool: Pool, path: Path) -> dict[str, Any]:
    required = schema.get("required") or ()
    return {
        name: value(one, random, pool, (*path, name))
        for name, one in (schema.get("properties") or {}).items()
        if name in required or random.random() < 0.8
    }


def _array(schema: Schema, random: Random, pool: Pool, path: Path) -> list[Any]:
    least = schema.get("minItems", 0)
    most = min(schema.get("maxItems", least + ITEMS_MAX), least + ITEMS_MAX)
    items = schema.get("items") or {"type": "string"}
    return [value(items, random, pool, (*path, EACH)) for _ in range(random.randint(least, most))]


def _number(schema: Schema, random: Random, pool: Pool, path: Path) -> float:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", max(1_000_000, low + 1_000)))
    near = [one for known in pool.get(path, ()) if _is_number(known) for one in (known - 1, known, known + 1)]
    near = [one for one in near if low <= one <= high]
    if near and random.random() < 0.7:
        found = random.choice(near)
    else:
        found = round(random.choice((random.uniform(low, high), random.uniform(low, min(high, low + 100)))), 2)
    if found in (schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")):
        found = (low + high) / 2
    return float(found)


def _integer(schema: Schema, random: Random, pool: Pool, path: Path) -> int:
    found = round(_number(schema, random, pool, path))
    low, high = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1), schema.get("maximum", found)
    return int(min(max(found, low), high))


def _string(schema: Schema, random: Random, pool: Pool, path: Path) -> str:
    known = [one for one in pool.get(path, ()) if isinstance(one, str) and _fits(one, schema)]
    if known and random.random() < 0.9:
        return random.choice(known)
    form = schema.get("format")
    if form in _OF_FORMAT:
        return _OF_FORMAT[form](random)
    if "pattern" in schema:
        return random.choice(known) if known else matching(schema["pattern"], random)
    found = f"{path[-1] if path else 'text'} {random.randint(1, 9_999)}".replace(EACH, "item")
    return found.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength", 1_000)]


def _fits(text: str, schema: Schema) -> bool:
    long_enough = schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 10_000)
    return long_enough and re.search(schema.get("pattern", ""), text) is not None


def matching(pattern: str, random: Random) -> str:
    """A text of a pattern of characters and classes with counts; the first of its alternatives."""
    body, found, at = pattern.strip("^$").replace("(?:", "(").split("|")[0].strip("()"), "", 0
    while at < len(body):
        piece = _PIECE.match(body, at)
        if piece is None:
            at += 1
            continue
        at = piece.end()
        times = _TIMES.match(body, at)
        at = times.end() if times else at
        signs = _signs(piece[1]) if piece[1] else "0123456789" if piece[2] else piece[3]
        found += "".join(random.choice(signs) for _ in range(int(times[1] or 1) if times else 1))
    return found


def _signs(group: str) -> str:
    """The characters of a class."""
    found, at = "", 0
    group = group.replace("\\d", "0-9").replace("\\", "")
    while at < len(group):
        if group[at + 1 : at + 2] == "-" and at + 2 < len(group):
            found, at = found + "".join(map(chr, range(ord(group[at]), ord(group[at + 2]) + 1))), at + 3
        else:
            found, at = found + group[at], at + 1
    return found


def _is_number(one: Any) -> bool:
    return isinstance(one, int | float) and not isinstance(one, bool)


def _date(random: Random, form: str) -> str:
    at = MORNING + timedelta(days=random.randint(-400, 60), minutes=random.randint(0, 1_440))
    return at.strftime(form)


_OF_FORMAT: dict[str, Callable[[Random], str]] = {
    "date": lambda random: _date(random, "%Y-%m-%d"),
    "date-time": lambda random: _date(random, "%Y-%m-%dT%H:%M:%SZ"),
    "time": lambda random: _date(random, "%H:%M:%SZ"),
    "email": lambda random: f"someone{random.randint(1, 99)}@example.com",
    "uri": lambda random: f"https://example.com/{random.randint(1, 99)}",
}
_OF_KIND: dict[str, Callable[[Schema, Random, Pool, Path], Any]] = {
    "object": _object,
    "array": _array,
    "number": _number,
    "integer": _integer,
    "string": _string,
    "boolean": lambda _schema, random, _pool, _path: random.random() < 0.5,
    "null": lambda *_: None,
}


def spoiled(known: Any) -> list[Any]:
    """What a tool may answer that its schema does not allow, for a value that it does."""
    if isinstance(known, bool):
        return [GONE, None, "perhaps"]
    if isinstance(known, str):
        return [GONE, None, UNEXPECTED, 7]
    if _is_number(known):
        return [GONE, None, "many"]
    return [GONE, None, UNEXPECTED]


def put(whole: Any, path: Path, one: Any) -> Any:
    """A copy in which the member of a path is another, in every item of lists on its way."""
    copy = deepcopy(whole)
    _put(copy, path, one)
    return copy


def _put(within: Any, path: Path, one: Any) -> None:
    first, *rest = path
    if first == EACH:
        for item in within if isinstance(within, list) else ():
            if rest:
                _put(item, tuple(rest), one)
    elif isinstance(within, dict):
        if rest and first not in within and one is not GONE:
            within[first] = {}
        if rest:
            _put(within.get(first), tuple(rest), one)
        elif one is GONE:
            within.pop(first, None)
        else:
            within[first] = one


def get(whole: Any, path: Path) -> Any:
    """The member of a path, of the first item where lists are on its way; GONE without one."""
    for part in path:
        if part == EACH and isinstance(whole, list) and whole:
            whole = whole[0]
        elif isinstance(whole, dict) and part in whole:
            whole = whole[part]
        else:
            return GONE
    return whole
