"""CEL expressions: conditions of templates, and signal rules of connectors."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from cel_expr_python import cel

from actors.core.template import ConditionFailed

TEXT_BYTES_MAX = 4096
# Chained or nested comprehensions can use all memory within CEL's own budget. Counting words is
# crude, but errs on the safe side only.
COMPREHENSIONS_MAX = 2
CONCATENATIONS_MAX = 16

_COMPREHENSION = re.compile(r"\b(all|exists|exists_one|existsOne|map|filter)\b")
# Paths below the inputs, tests for them, and the parts of a path without methods.
_READ = re.compile(r"""\binputs((?:\.[A-Za-z_]\w*(?!\w*\s*\()|\["[^".\]]+"\])+)""")
_ASKED = re.compile(r"\bhas\s*\([^)]*\)")
_NAMED = re.compile(r"""["']([^"']+)["']\s+in\s+inputs\b""")
_PART = re.compile(r"""\.(\w+)|\["([^"]+)"\]""")
_OBJECT = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
_BOOL = cel.Type.BOOL
_NO_ANSWER = (cel.Type.ERROR, cel.Type.UNKNOWN)
_CONDITIONS = cel.NewEnv(variables={"inputs": _OBJECT, "facts": _OBJECT})
_OUTPUTS = cel.NewEnv(variables={"output": cel.Type.DYN})
_RULES = cel.NewEnv(variables={"response": _OBJECT})


@dataclass(frozen=True, slots=True)
class Cel:
    """A compiled condition over `inputs` and `facts`; equal when the texts are."""

    text: str
    _expression: Any = field(repr=False, compare=False)
    reads: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def holds(self, inputs: dict[str, Any], facts: dict[str, Any]) -> bool:
        """Evaluate the condition; ConditionFailed without a clear yes or no."""
        return _yes_or_no(_evaluate(self._expression, {"inputs": inputs, "facts": facts}))


@dataclass(frozen=True, slots=True)
class OutputCel:
    """A compiled condition over an `output`; equal when the texts are."""

    text: str
    _expression: Any = field(repr=False, compare=False)

    def holds(self, output: Any) -> bool:
        return _yes_or_no(_evaluate(self._expression, {"output": output}))


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled rule that reads a signal from a `response`; equal when the texts are."""

    text: str
    _expression: Any = field(repr=False, compare=False)

    def value(self, status: int, body: Any) -> Any:
        """The signal in a response as JSON; ConditionFailed when there is none."""
        value = _evaluate(self._expression, {"response": {"status": status, "body": body}})
        _check(kind := value.type(), value)
        plain = value.plain_value()
        if not _is_json(plain):
            raise ConditionFailed(f"the value of type {kind} is no JSON value")
        return plain


def compile_condition(text: str) -> Cel:
    """Compile a condition; ValueError when it is invalid."""
    return Cel(text, _compile_question(_CONDITIONS, text), _reads(text))


def compile_output_condition(text: str) -> OutputCel:
    return OutputCel(text, _compile_question(_OUTPUTS, text))


def _reads(text: str) -> tuple[str, ...]:
    """The inputs, as dotted keys, that an expression reads without testing for them."""
    asked = {*map(_dotted, _READ.findall(" ".join(_ASKED.findall(text)))), *_NAMED.findall(text)}
    return tuple(key for key in dict.fromkeys(map(_dotted, _READ.findall(text))) if key not in asked)


def _dotted(path: str) -> str:
    return ".".join(dotted or indexed for dotted, indexed in _PART.findall(path))


def compile_rule(text: str) -> Rule:
    """Compile a signal rule; ValueError when it is invalid."""
    return Rule(text, _compile(_RULES, text))


def _compile_question(env: Any, text: str) -> Any:
    expression = _compile(env, text)
    found = expression.return_type()
    if found != _BOOL:
        raise ValueError(f"a condition answers true or false, this one answers {found}: compare it with something")
    return expression


def _compile(env: Any, text: str) -> Any:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValueError("the expression is not valid Unicode") from None
    if size > TEXT_BYTES_MAX:
        raise ValueError(f"the expression has {size} bytes, at most {TEXT_BYTES_MAX} are allowed")
    if len(_COMPREHENSION.findall(text)) > COMPREHENSIONS_MAX:
        raise ValueError(f"the expression has more than {COMPREHENSIONS_MAX} of all, exists, exists_one, map, filter")
    if text.count("+") > CONCATENATIONS_MAX:
        raise ValueError(f"the expression has more than {CONCATENATIONS_MAX} plus signs")
    try:
        return env.compile(text)
    except (RuntimeError, TypeError, ValueError) as failed:
        raise ValueError(f"the expression does not compile: {_first_line(failed)}") from failed


def _evaluate(expression: Any, data: dict[str, Any]) -> Any:
    try:
        return expression.eval(None, data)  # by place: half a microsecond less than by name
    except Exception as failed:  # what the binding may raise is not documented, and no failure may clear anything
        raise ConditionFailed(_first_line(failed)) from failed


def _yes_or_no(value: Any) -> bool:
    if (kind := value.type()) == _BOOL and isinstance(answer := value.value(), bool):
        return answer
    _check(kind, value)
    raise ConditionFailed(f"the answer is of type {kind}, neither true nor false")


def _check(kind: Any, value: Any) -> None:
    """Detect a run-time error: CEL returns it as a value, and a truthy one."""
    if kind in _NO_ANSWER:
        raise ConditionFailed(_first_line(value.value()))


def _first_line(said: object) -> str:
    return str(said).partition("\n")[0].removesuffix(" [INVALID_ARGUMENT]").strip()


def _is_json(value: Any) -> bool:
    match value:
        case None | bool() | int() | str():
            return True
        case float():
            return math.isfinite(value)
        case list():
            return all(_is_json(item) for item in value)
        case dict():
            return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
        case _:
            return False
