"""What an expression reads of inputs, facts and outputs, and what it may cost, by its text.

All costs err on the safe side. A word counts wherever it stands, and what is not known to take
time in proportion to the data counts as a product.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from daemon.templates.schema_cost import UNBOUNDED, pattern_ns

# Paths below the inputs, tests for them, and the parts of a path without methods.
_READ = re.compile(r"""\binputs((?:\.[A-Za-z_]\w*+(?!\s*\()|\["[^".\]]+"\])+)""")
_ASKED = re.compile(r"\bhas\s*\([^)]*\)")
_NAMED = re.compile(r"""["']([^"']+)["']\s+in\s+inputs\b""")
_PART = re.compile(r"""\.(\w+)|\["([^"]+)"\]""")
# Members at the top, and how the two roots stand where no member is read.
_MEMBER = re.compile(r"""\b(inputs|facts)(?:\.([A-Za-z_]\w*+)(?!\s*\()|\["([^"\\\]]+)"\])""")
_INPUTS_OR_FACTS = re.compile(r"\b(?:inputs|facts)\b")
_AMONG = re.compile(r"\bin\s+(?:inputs|facts)\b(?!\s*[.\[])")
VALUE_WEIGHT = 16

Members = tuple[frozenset[str], frozenset[str]]


def inputs_read(text: str) -> tuple[str, ...]:
    """The inputs, as dotted keys, that an expression reads without testing for them."""
    asked = {*map(_dotted, _READ.findall(" ".join(_ASKED.findall(text)))), *_NAMED.findall(text)}
    return tuple(key for key in dict.fromkeys(map(_dotted, _READ.findall(text))) if key not in asked)


def members_read(text: str) -> Members | None:
    """The members of inputs and of facts that an expression reads; None where it may read all."""
    found = _MEMBER.findall(text)
    if len(found) + len(_AMONG.findall(text)) < len(_INPUTS_OR_FACTS.findall(text)):
        return None
    inputs = frozenset(dotted or indexed for root, dotted, indexed in found if root == "inputs")
    facts = frozenset(dotted or indexed for root, dotted, indexed in found if root == "facts")
    return inputs, facts


def only(names: frozenset[str], members: dict[str, Any]) -> dict[str, Any]:
    """The members with null for the value of each that is not read."""
    return {name: value if name in names else None for name, value in members.items()}


def weighs_more(value: Any, limit: int) -> bool:
    """Whether a value weighs more: its characters, and VALUE_WEIGHT for each value in it."""
    weight, rest = VALUE_WEIGHT, [value]
    for one in rest:  # grows while it is walked, to as many as weigh too much
        kind = type(one)
        if kind is str:
            weight += len(one)
        elif kind is dict or kind is list:
            weight += VALUE_WEIGHT * len(one)
            if weight > limit:
                return True
            if kind is dict:
                weight += len("".join(map(str, one)))
                rest += filter(None, one.values())  # what is empty weighs no more than its place
            else:
                rest += filter(None, one)
        if weight > limit:
            return True
    return False


def _dotted(path: str) -> str:
    return ".".join(dotted or indexed for dotted, indexed in _PART.findall(path))


INLINE_NS = 5_000_000
"""So long an expression may take on the event loop."""
LITERAL_MAX = 64
# Nanoseconds, as measured, with room: to hand data over and to compare it, for each unit of its
# weight; to look for one text in another, and for what is not known, for each pair of units.
HAND_OVER_NS, COMPARE_NS, FIND_NS, UNKNOWN_NS = 40, 15, 0.1, 5
PATTERN_STEPS = 40
_LINEAR = frozenset(
    (
        *("has", "size", "startsWith", "endsWith", "in"),
        *("int", "uint", "double", "string", "bytes", "bool", "dyn", "type", "timestamp", "duration"),
        *("getFullYear", "getMonth", "getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear"),
        *("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
    )
)
_LOOPS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
_LOOP = re.compile(r"\b(?:all|exists|exists_one|existsOne|map|filter)\b")
# A macro stands behind a point; `map` is the name of a type, too.
_MACRO = re.compile(r"\.\s*+(?:all|exists|exists_one|existsOne|map|filter)\b(?=\s*+\()")
_ROOT = re.compile(r"\b(?:inputs|facts|call|output|response|arguments|context|agent|model|spent)\b")
_CALL = re.compile(r"\b(\w++)\s*+\(")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
# A short text of the author, in which a repetition is not counted out.
_FOUND = re.compile(rf"\bcontains\s*\(\s*(?:\"[^\"\\]{{0,{LITERAL_MAX}}}\"|'[^'\\]{{0,{LITERAL_MAX}}}')\s*\)")
_MATCHED = re.compile(rf"\bmatches\s*\(\s*r?(\"[^\"{{]{{0,{LITERAL_MAX}}}\"|'[^'{{]{{0,{LITERAL_MAX}}}')\s*\)")


@dataclass(frozen=True, slots=True)
class ExpressionCost:
    """What an expression costs over data of a weight."""

    terms: int
    growth: int
    loops: int
    finds: int
    unknown: int
    compile_ns: float
    """What its patterns take to compile, each time; unbounded where the data may hold one."""

    def ns(self, weight: int) -> float:
        """A bound of what it takes."""
        each, grown = (weight / VALUE_WEIGHT) ** self.loops, weight * self.growth
        products = (FIND_NS * self.finds + UNKNOWN_NS * self.unknown) * grown * grown
        compared = COMPARE_NS * self.terms * grown + products + self.compile_ns
        return HAND_OVER_NS * weight + compared * max(1, each)


@lru_cache(4_096)
def inline_weight(text: str) -> int:
    """The largest weight of data that an expression is evaluated over on the event loop."""
    cost, weight = cost_of(text), 1 << 20
    while weight and cost.ns(weight) > INLINE_NS:
        weight //= 2
    return weight


def cost_of(text: str) -> ExpressionCost:
    """What the text of an expression says of its cost."""
    # Where strings cannot be told from the rest, nothing in them may hide a word or a bracket.
    plain = "\\" not in text and '"""' not in text and "'''" not in text
    bare = _STRING.sub('""', text) if plain else text
    hidden = not plain or "//" in bare or '"' in bare.replace('""', "") or "'" in bare
    known_finds, known = len(_FOUND.findall(text)), [one[1:-1] for one in _MATCHED.findall(text)]
    called = _CALL.findall(bare) if not hidden else re.findall(r"\w+", text)
    finds = called.count("contains") - (0 if hidden else known_finds)
    unknown_pattern = called.count("matches") > (0 if hidden else len(known))
    strange = [name for name in called if name not in _LINEAR | _LOOPS | {"contains", "matches"}] if not hidden else []
    loops = len((_LOOP if hidden else _MACRO).findall(bare))
    return ExpressionCost(
        terms=len(_TOKEN.findall(text)) // 4 + 1 + len(known) * PATTERN_STEPS + (loops > 1) * len(text),
        growth=1 + text.count("+") + (loops > 1) * text.count(","),
        loops=loops if hidden else _loops_over_all(bare),
        finds=finds,
        unknown=len(strange) + hidden,
        compile_ns=UNBOUNDED if unknown_pattern else sum(map(pattern_ns, known)),
    )


def _loops_over_all(bare: str) -> int:
    """The loops whose bodies may look at all of the data each time; others look at an item."""
    bodies = [_body(bare, found.end()) for found in _MACRO.finditer(bare)]
    nested = any(_MACRO.search(body) for body in bodies)
    return len(bodies) if nested else sum(_ROOT.search(body) is not None for body in bodies)


def _body(text: str, begin: int) -> str:
    """What stands in the brackets behind a word."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth <= 0 and text[at] in "()":
            return text[begin:at]
    return text[begin:]
