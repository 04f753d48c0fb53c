"""Questions of gates: texts with placeholders for inputs, facts and the business key."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from actors.core.canonical import canonical
from actors.core.rules.violation import Violation
from actors.core.template import Node, Template

QUESTION_CHARS_MAX = 200
PLACEHOLDERS_MAX = 8
VALUE_CHARS_MAX = 60
INTEGER_MAX = 2**64
"""No integer of JSON here is beyond it, and a longer one is not shown."""
BUSINESS_KEY = "business_key"
SAMPLE = " (sample)"
"""What stands behind a value of a dry run."""
_PLACEHOLDER = re.compile(r"\{(business_key|(?:inputs|facts)(?:\.[^\s.{}:]+)+)(?::\.([0-6])f)?\}")


class Placeholder(NamedTuple):
    """A value in a question: a dotted key, and for a number how many decimals it has at least."""

    key: str
    decimals: int | None = None

    @property
    def root(self) -> str:
        return self.key.partition(".")[0]

    @property
    def path(self) -> list[str]:
        """The names below the root."""
        return self.key.split(".")[1:]


@lru_cache(maxsize=1_024)
def parts(text: str) -> tuple[str | Placeholder, ...]:
    """The texts and the placeholders of a question, in order."""
    found: list[str | Placeholder] = []
    start = 0
    for match in _PLACEHOLDER.finditer(text):
        decimals = None if match[2] is None else int(match[2])
        found += [text[start : match.start()], Placeholder(match[1], decimals)]
        start = match.end()
    return (*found, text[start:])


def placeholders(text: str) -> list[Placeholder]:
    return [one for one in parts(text) if isinstance(one, Placeholder)]


def rendered(
    text: str,
    inputs: dict[str, Any],
    facts: dict[str, Any],
    business_key: str | None,
    samples: Container[str] = (),
) -> str | None:
    """The question with its values; None where one of them is missing, or cannot be shown.

    A result of one of the steps in `samples` is what a dry run gave, and is marked as such.
    """
    values = {"inputs": inputs, "facts": facts, BUSINESS_KEY: business_key}
    found = ""
    for one in parts(text):
        shown = one if isinstance(one, str) else _shown(_value(values, one), one.decimals)
        if shown is None:
            return None
        sample = isinstance(one, Placeholder) and one.root == "facts" and one.path[0] in samples
        found += f"{shown}{SAMPLE}" if sample else shown
    return found


def _value(values: dict[str, Any], one: Placeholder) -> Any:
    found: Any = values[one.root]
    for name in one.path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _shown(value: Any, decimals: int | None) -> str | None:
    """A value in one short line; None for what is none."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int() if not -INTEGER_MAX <= value <= INTEGER_MAX:
            return None
        case int() | float():
            return _number(canonical(value), decimals)
        case str():
            line = " ".join(value[: 4 * VALUE_CHARS_MAX].split())
            return (line if len(line) <= VALUE_CHARS_MAX else f"{line[: VALUE_CHARS_MAX - 1]}…") or None
        case _:
            return None


def _number(sent: str, decimals: int | None) -> str:
    """A number with so many decimals; as it is sent where that would hide a digit."""
    whole, _, fraction = sent.partition(".")
    if not decimals or "e" in sent or len(fraction) > decimals:
        return sent
    return f"{whole}.{fraction:0<{decimals}}"


def question_violations(template: Template) -> Iterator[Violation]:
    """What is wrong with the questions of gates, but for inputs that the schema does not know."""
    for node in template.nodes:
        if node.question is not None:
            yield from (Violation("question_refused", node.id, why) for why in _wrong(template, node, node.question))


def _wrong(template: Template, node: Node, text: str) -> Iterator[str]:
    if not text.strip() or len(text) > QUESTION_CHARS_MAX or not text.isprintable():
        yield f"a question is one line of 1 to {QUESTION_CHARS_MAX} characters"
    asked = placeholders(text)
    if len(asked) > PLACEHOLDERS_MAX:
        yield f"a question has at most {PLACEHOLDERS_MAX} placeholders"
    if any(sign in one for one in parts(text) if isinstance(one, str) for sign in "{}"):
        yield "a placeholder is {inputs.…}, {facts.<step-id>.…} or {business_key}, and :.2f asks for decimals"
    for one in asked:
        if one.root == "facts" and not _comes_before(template, node, one):
            yield f"the question names {one.key}, which is no result of a step before it"


def _comes_before(template: Template, node: Node, one: Placeholder) -> bool:
    step, *rest = one.path
    return bool(rest) and step != node.id and template.has(step) and node.id in template.downstream(step)
