"""Expressions that compile and can never be evaluated, found where they are stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from actors.core.rules import EdgeName, Violation
from actors.core.rules.questions import placeholders
from actors.core.template import ConditionFailed
from daemon.templates.cel import compile_moment, constant_error, is_constant
from daemon.templates.documents import Document

# One that is not closed counts, too: else each quote would be looked for from each other one.
_TEXT = r"""r?(?:"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)"""
# A text, or a function of one text: such a call stands where no text has begun.
_CALL = re.compile(rf"\b(duration|timestamp|int|uint|double|bool)\s*\(\s*({_TEXT})\s*\)|{_TEXT}")
_MATCHES = re.compile(rf"\bmatches\s*\(\s*({_TEXT})\s*\)|\bmatches\s*\([^()\"']*,\s*({_TEXT})\s*\)|{_TEXT}")
_PATH = r"\binputs(?:\.[A-Za-z_]\w*+)++"
_NUMBER = r"(?<![\w.])\d++(?:\.\d++)?+(?:e[+-]?\d++)?+(?![\w.])"
# An operand, an operator, or any other sign.
_TOKEN = re.compile(rf"({_PATH}|{_TEXT}|{_NUMBER})|(<=|>=|[-<>*/%+])|\S")
_BY_ZERO = re.compile(r"[/%]\s*0+(?![\w.])")
_FORMS = {
    "timestamp": "a time is written as 2026-01-31T09:00:00Z, with its zone",
    "duration": "a duration is written as 90s, 30m or 72h",
}
_KINDS = {"string": "text", "number": "number", "integer": "integer", "boolean": "boolean"}


class _Placed(NamedTuple):
    """An expression with its step, and its edge if it stands at one."""

    text: str
    node: str | None
    edge: EdgeName | None = None
    is_time: bool = False
    prefix: str = ""


def senseless(document: Document) -> Iterator[Violation]:
    """Expressions that no run can evaluate, and questions that ask a text for decimals."""
    for one in _expressions(document):
        if (why := never(one.text, document.inputs_schema, is_time=one.is_time)) is not None:
            yield Violation("condition_refused", one.node, f"{one.prefix}{why}", one.edge)
    for step in document.steps:
        for asked in placeholders(step.question or ""):
            kind = _kind(document.inputs_schema, asked.key) if asked.decimals is not None else None
            if kind in ("text", "boolean"):
                yield Violation("question_refused", step.id, f"{asked.key} is a {kind}, and has no decimals")


def never(text: str, inputs_schema: Mapping[str, Any] | None = None, *, is_time: bool = False) -> str | None:
    """Why an expression that compiles can never be evaluated."""
    for call in _constants(text):
        if (failed := constant_error(call)) is not None:
            return f"{call} can never be evaluated: {_FORMS.get(call.partition('(')[0].strip(), failed)}"
    bare = re.sub(_TEXT, '""', text)
    if (zero := _BY_ZERO.search(bare)) is not None:
        return f"it divides by zero at {zero[0]!r}"
    if is_constant(bare):
        return _constant(text, is_time=is_time)
    if is_time and (kind := _kind(inputs_schema or {}, text.strip())) in ("number", "integer", "boolean"):
        return f"{text.strip()} is a {kind} by inputs_schema, and never a time"
    return next(_misfits(text, inputs_schema or {}), None)


def _constants(text: str) -> Iterator[str]:
    """The calls of a text with constants that have to be of some form."""
    yield from (found[0] for found in _CALL.finditer(text) if found[1])
    yield from (f"''.matches({found[1] or found[2]})" for found in _MATCHES.finditer(text) if found[1] or found[2])


def _constant(text: str, *, is_time: bool) -> str | None:
    """Why an expression that reads nothing has no answer."""
    if is_time:
        try:
            compile_moment(text).time({}, {})
        except (ConditionFailed, ValueError) as failed:
            return f"it can never be a time: {failed}"
        return None
    why = constant_error(text)
    return None if why is None else f"it can never be evaluated: {why}"


def _misfits(text: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Operators between an input and what does not fit the type that the schema gives it."""
    tokens = list(_TOKEN.finditer(text))
    for left, sign, right in ((a[1], b[2], c[1]) for a, b, c in zip(tokens, tokens[1:], tokens[2:], strict=False)):
        if None in (left, sign, right):
            continue
        kinds = _kind(schema, left), _kind(schema, right)
        if None in kinds or not any(one.startswith("inputs") for one in (left, right)):
            continue
        numbers = {"number", "integer", "decimal"}
        if len({one in numbers for one in kinds}) > 1:
            yield f"{left} {sign} {right} joins a {kinds[0]} and a {kinds[1]}: write both as numbers or as texts"
        elif "number" in kinds and sign == "%":
            yield f"{left} % {right} needs integers, and the schema says number: use int(…)"
        elif "number" in kinds and sign == "/" and "decimal" not in kinds:
            yield (
                f"{left} / {right} is rounded down or not by how a number is written: "
                f"write double({left}) / double({right})"
            )


def _kind(schema: Mapping[str, Any], operand: str) -> str | None:
    """The type of a constant, or the one that the schema gives an input; None where it is open."""
    if not operand.startswith("inputs."):
        if operand[0] in "\"'r":
            return "text"
        return "integer" if operand.isdecimal() else "decimal" if operand[0].isdecimal() else None
    found: Any = schema
    for name in operand.split(".")[1:]:
        members = found.get("properties") if isinstance(found, Mapping) else None
        found = members.get(name) if isinstance(members, Mapping) else None
    kind = found.get("type") if isinstance(found, Mapping) else None
    return _KINDS.get(kind) if isinstance(kind, str) else None


def _expressions(document: Document) -> Iterator[_Placed]:
    for judge in document.judges:
        if judge.rule is not None:
            yield _Placed(judge.rule, None, prefix=f"judges/{judge.id}/rule: ")
    for step in document.steps:
        for text in (step.signal_when, *(case.when for case in step.dry_run)):
            if text is not None:
                yield _Placed(text, step.id)
        if step.until is not None:
            yield _Placed(step.until, step.id, is_time=True)
        for way in step.branches:
            if way.when is not None:
                yield _Placed(way.when, step.id, EdgeName(step.id, way.to, way.branch))
