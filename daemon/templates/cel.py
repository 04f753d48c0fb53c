"""CEL expressions: conditions of templates, and signal rules of connectors."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from cel_expr_python import cel

from actors.core.template import ConditionFailed
from daemon.templates.reads import Members, inputs_read, members_read, only, weighs_more

TEXT_BYTES_MAX = 4096
SIGNAL_BYTES_MAX = 4096
INTEGER_MAX = 2**63 - 1
WEIGHT_MAX = 32 * 1024
# Chained or nested comprehensions can use all memory within CEL's own budget. Counting words is
# crude, but errs on the safe side only.
COMPREHENSIONS_MAX = 2
CONCATENATIONS_MAX = 16

_COMPREHENSION = re.compile(r"\b(all|exists|exists_one|existsOne|map|filter)\b")
_NO_KEY = re.compile(r"NOT_FOUND: Key not found in map : (.*)")
# A pattern that is no literal: only then its length is not the author's.
_PATTERN = re.compile(r"""\bmatches\s*+\(\s*+(?!r?["'])""")
_PLACE = re.compile(r"<input>:(\d+):(\d+): (?:Syntax error: )?(.*)")
_OBJECT = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)
_BOOL = cel.Type.BOOL
_NO_ANSWER = (cel.Type.ERROR, cel.Type.UNKNOWN)
_EXACT = 2**53


def _mixed(name: str, compute: Callable[[float, float], float]) -> Any:
    """An operator between a double and an integer, which JSON does not tell apart."""

    def either(left: float, right: float) -> float:
        if max(abs(left), abs(right)) > _EXACT:
            raise ValueError("a number is too large to be computed with exactly")
        return compute(float(left), float(right))

    pairs = ((cel.Type.DOUBLE, cel.Type.INT), (cel.Type.INT, cel.Type.DOUBLE))
    names = (f"mixed{name}double", f"mixed{name}int")
    # Of type dyn, so that what comes of it may be compared with either.
    overloads = [
        cel.Overload(one, cel.Type.DYN, list(pair), impl=either) for one, pair in zip(names, pairs, strict=True)
    ]
    return cel.FunctionDecl(name, overloads)


_OPERATORS = {"_*_": operator.mul, "_+_": operator.add, "_-_": operator.sub, "_/_": operator.truediv}
_NUMBERS = cel.CelExtension("numbers", [_mixed(name, compute) for name, compute in _OPERATORS.items()])


def _environment(**variables: Any) -> Any:
    return cel.NewEnv(variables=variables, extensions=[_NUMBERS])


_CONDITIONS = _environment(inputs=_OBJECT, facts=_OBJECT)
_CALLS = _environment(inputs=_OBJECT, facts=_OBJECT, call=_OBJECT)
_OUTPUTS = _environment(output=cel.Type.DYN)
_RULES = _environment(response=_OBJECT)
_NOTHING = _environment()
_VARIABLE = re.compile(r"\b(?:inputs|facts|call|output|response)\b")


@dataclass(frozen=True, slots=True)
class Cel:
    """A compiled condition over `inputs` and `facts`; equal when the texts are."""

    text: str
    _expression: Any = field(repr=False, compare=False)
    reads: tuple[str, ...] = field(default=(), repr=False, compare=False)
    _members: Members | None = field(default=None, repr=False, compare=False)
    _weight_max: int | None = field(default=None, repr=False, compare=False)

    def holds(self, inputs: dict[str, Any], facts: dict[str, Any]) -> bool:
        """Evaluate the condition; ConditionFailed without a clear yes or no."""
        if self._members is not None:  # to hand over what it does not read would take as long
            inputs, facts = only(self._members[0], inputs), only(self._members[1], facts)
        data = {"inputs": inputs, "facts": facts}
        _check_weight(data, self._weight_max)
        return _yes_or_no(_evaluate(self._expression, data))


@dataclass(frozen=True, slots=True)
class MomentCel:
    """A compiled question over `inputs` and `facts` whose answer is a time."""

    text: str
    _expression: Any = field(repr=False, compare=False)
    reads: tuple[str, ...] = field(default=(), repr=False, compare=False)
    _weight_max: int | None = field(default=None, repr=False, compare=False)

    def time(self, inputs: dict[str, Any], facts: dict[str, Any]) -> datetime:
        """Evaluate the question; ConditionFailed without a clear answer."""
        data = {"inputs": inputs, "facts": facts}
        _check_weight(data, self._weight_max)
        value = _evaluate(self._expression, data)
        _check(kind := value.type(), value)
        plain = value.plain_value()
        try:
            found = datetime.fromisoformat(plain) if isinstance(plain, str) else plain
        except ValueError:
            found = None
        if not isinstance(found, datetime) or found.tzinfo is None:
            raise ConditionFailed(f"the answer is of type {kind}, and no time with a zone")
        return found.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class OutputCel:
    """A compiled condition over an `output`; equal when the texts are."""

    text: str
    _expression: Any = field(repr=False, compare=False)
    _weight_max: int | None = field(default=None, repr=False, compare=False)

    def holds(self, output: Any) -> bool:
        _check_weight(output, self._weight_max)
        return _yes_or_no(_evaluate(self._expression, {"output": output}))


@dataclass(frozen=True, slots=True)
class CallCel:
    """A compiled rule over `inputs`, `facts` and a prepared `call`; equal when the texts are."""

    text: str
    _expression: Any = field(repr=False, compare=False)
    _weight_max: int | None = field(default=None, repr=False, compare=False)

    def holds(self, inputs: dict[str, Any], facts: dict[str, Any], call: dict[str, Any]) -> bool:
        """Evaluate the condition; ConditionFailed without a clear yes or no."""
        data = {"inputs": inputs, "facts": facts, "call": call}
        _check_weight(data, self._weight_max)
        return _yes_or_no(_evaluate(self._expression, data))


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
    return Cel(text, _compile_question(_CONDITIONS, text), inputs_read(text), members_read(text), _weight_max(text))


def compile_moment(text: str) -> MomentCel:
    """Compile a question for a time; ValueError when it is invalid."""
    expression = _compile(_CONDITIONS, text)
    if (found := _type_of(expression)) not in (cel.Type.TIMESTAMP, cel.Type.DYN):
        raise ValueError(f"a time is asked for, and this answers {found}: use timestamp(…)")
    return MomentCel(text, expression, inputs_read(text), _weight_max(text))


def compile_output_condition(text: str) -> OutputCel:
    return OutputCel(text, _compile_question(_OUTPUTS, text), _weight_max(text))


def compile_call_condition(text: str) -> CallCel:
    """Compile the rule of a judge; ValueError when it is invalid."""
    return CallCel(text, _compile_question(_CALLS, text), _weight_max(text))


def compile_rule(text: str) -> Rule:
    """Compile a signal rule; ValueError when it is invalid."""
    return Rule(text, _compile(_RULES, text))


def check_rule(text: str) -> None:
    """ValueError for a signal rule that is not to be stored: it is invalid, or no boolean."""
    _compile_question(_RULES, text)


def is_constant(bare: str) -> bool:
    """Whether an expression, given without its texts, reads nothing, and does not loop."""
    return not _VARIABLE.search(bare) and not _COMPREHENSION.search(bare)


def constant_error(text: str) -> str | None:
    """Why an expression that reads nothing has no value; None if it has one."""
    try:
        value = _evaluate(_compile(_NOTHING, text), {})
        _check(value.type(), value)
    except (ConditionFailed, ValueError) as failed:
        return str(failed)
    return None


def signal_of(text: str, status: int, body: Any) -> Any:
    """The signal that a rule reads in a response; a hit when there is none, or a long one."""
    try:
        value = compile_rule(text).value(status, body)
    except (ConditionFailed, ValueError):
        return True
    return value if len(msgspec.json.encode(value)) <= SIGNAL_BYTES_MAX else True


def _compile_question(env: Any, text: str) -> Any:
    expression = _compile(env, text)
    if (found := _type_of(expression)) != _BOOL:
        raise ValueError(f"a condition answers true or false, this one answers {found}: compare it with something")
    return expression


def _type_of(expression: Any) -> Any:
    try:
        return expression.return_type()
    except RuntimeError as failed:  # a map whose keys are maps compiles, and has no type
        raise ValueError(f"the expression has no type: {_first_line(failed)}") from failed


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
        raise ValueError(f"the expression does not compile{_where(_first_line(failed))}") from failed


def _where(message: str) -> str:
    """What a compiler said, with its place in words."""
    found = _PLACE.search(message)
    if found is None:
        return f": {message}"
    line, column, why = found.groups()
    return f" at line {line}, column {column}: {why}"


def nests(text: str) -> bool:
    """Whether a loop stands inside another one."""
    for found in _COMPREHENSION.finditer(text):
        depth, end = 0, len(text)
        for at in range(found.end(), len(text)):
            depth += (text[at] == "(") - (text[at] == ")")
            if depth <= 0 and text[at] in "()":
                end = at
                break
        if _COMPREHENSION.search(text, found.end(), end):
            return True
    return False


def _weight_max(text: str) -> int | None:
    """How much a condition may be evaluated over on the event loop; None where it does not loop."""
    loops = len(_COMPREHENSION.findall(text))
    if loops > 1:
        return WEIGHT_MAX // 4
    return WEIGHT_MAX if loops or _PATTERN.search(text) else None


def _check_weight(data: Any, weight_max: int | None) -> None:
    if weight_max is not None and weighs_more(data, weight_max):
        raise ConditionFailed("what the condition loops over is too large to be judged")


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
    line = str(said).partition("\n")[0].removesuffix(" [INVALID_ARGUMENT]").strip()
    missing = _NO_KEY.fullmatch(line)
    return line if missing is None else f"there is no {missing[1]}"


def _is_json(value: Any) -> bool:
    match value:
        case None | bool() | str():
            return True
        case int():
            return -INTEGER_MAX - 1 <= value <= INTEGER_MAX
        case float():
            return math.isfinite(value)
        case list():
            return all(_is_json(item) for item in value)
        case dict():
            return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
        case _:
            return False
