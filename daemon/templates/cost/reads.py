"""What of inputs, facts and outputs an expression reads, by its text, and how much that is."""

from __future__ import annotations

import re
from typing import Any

# Paths below the inputs, tests for them, and the parts of a path without methods.
_READ = re.compile(r"""\binputs((?:\.[A-Za-z_]\w*+(?!\s*\()|\["[^".\]]+"\])+)""")
_ASKED = re.compile(r"\bhas\s*\([^)]*\)")
_NAMED = re.compile(r"""["']([^"']+)["']\s+in\s+inputs\b""")
_PART = re.compile(r"""\.(\w+)|\["([^"]+)"\]""")
# Members at the top, and how the two roots stand where no member is read.
_MEMBER = re.compile(r"""\b(inputs|facts)(?:\.([A-Za-z_]\w*+)(?!\s*\()|\["([^"\\\]]+)"\])""")
_ROOT = re.compile(r"\b(?:inputs|facts)\b")
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
    if len(found) + len(_AMONG.findall(text)) < len(_ROOT.findall(text)):
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
