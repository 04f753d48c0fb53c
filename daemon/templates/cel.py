"""CEL expressions: conditions and signal rules, and those that can never be evaluated."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

import msgspec
from cel_expr_python import cel

from actors.core.rules import EdgeName, Violation
from actors.core.rules.questions import placeholders
from actors.core.schedule import is_duration
from actors.core.template import ConditionFailed
from daemon.templates.answers import answered
from daemon.templates.documents import Document
from daemon.templates.expression_cost import Members, inline_weight, inputs_read, members_read, only

TEXT_BYTES_MAX = 4096
SIGNAL_BYTES_MAX = 4096
INTEGER_MAX = 2**63 - 1
COMPILED_MAX = 1_024
"""So many compiled expressions are kept."""
# Chained or nested comprehensions can use all memory within CEL's own budget. Counting words is
# crude, but errs on the safe side only.
COMPREHENSIONS_MAX = 2
CONCATENATIONS_MAX = 16

_COMPREHENSION = re.compile(r"\b(all|exists|exists_one|existsOne|map|filter)\b")
_NO_KEY = re.compile(r"NOT_FOUND: Key not found in map : (.*)")
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
_MOMENTS = _environment(inputs=_OBJECT, facts=_OBJECT, clocks=_OBJECT)
_CALLS = _environment(inputs=_OBJECT, facts=_OBJECT, call=_OBJECT)
_ACTIONS = _environment(arguments=_OBJECT, context=_OBJECT, agent=cel.Type.STRING, model=cel.Type.STRING, spent=_OBJECT)
_OUTPUTS = _environment(output=cel.Type.DYN)
_RULES = _environment(response=_OBJECT)
_NOTHING = _environment()
_VARIABLE = re.compile(r"\b(?:inputs|facts|clocks|call|output|response|arguments|context|agent|model|spent)\b")


@dataclass(frozen=True, slots=True)
class Cel:
    """A condition over `inputs` and `facts`; equal when the texts are."""

    text: str
    reads: tuple[str, ...] = field(default=(), repr=False, compare=False)
    _members: Members | None = field(default=None, repr=False, compare=False)

    def holds(self, inputs: dict[str, Any], facts: dict[str, Any]) -> bool:
        """Evaluate the condition; ConditionFailed without a clear yes or no."""
        if self._members is not None:  # to hand over what it does not read would take as long
            inputs, facts = only(self._members[0], inputs), only(self._members[1], facts)
        return _holds("condition", self.text, {"inputs": inputs, "facts": facts})


@dataclass(frozen=True, slots=True)
class MomentCel:
    """A question over `inputs`, `facts` and `clocks` whose answer is a time."""

    text: str
    reads: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def time(self, inputs: dict[str, Any], facts: dict[str, Any], clocks: dict[str, Any] | None = None) -> datetime:
        """Evaluate the question; ConditionFailed without a clear answer."""
        data = {"inputs": inputs, "facts": facts}
        if "clocks" in self.text:
            data["clocks"] = clocks or {}
        found = answered("moment", self.text, data, partial(moment_of, self.text, data), inline_weight(self.text))
        return datetime.fromisoformat(found)


@dataclass(frozen=True, slots=True)
class SpanCel:
    """A question over `inputs` and `facts` whose answer is a duration in text of ISO 8601."""

    text: str
    reads: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def duration(self, inputs: dict[str, Any], facts: dict[str, Any]) -> str:
        """Evaluate the question; ConditionFailed without a clear answer."""
        data = {"inputs": inputs, "facts": facts}
        return answered("span", self.text, data, partial(span_of, self.text, data), inline_weight(self.text))


@dataclass(frozen=True, slots=True)
class OutputCel:
    """A condition over an `output`; equal when the texts are."""

    text: str

    def holds(self, output: Any) -> bool:
        """Evaluate the condition; ConditionFailed without a clear yes or no."""
        return _holds("output", self.text, {"output": output})


@dataclass(frozen=True, slots=True)
class CallCel:
    """A rule over `inputs`, `facts` and a prepared `call`; equal when the texts are."""

    text: str

    def holds(self, inputs: dict[str, Any], facts: dict[str, Any], call: dict[str, Any]) -> bool:
        """Evaluate the condition; ConditionFailed without a clear yes or no."""
        return _holds("call", self.text, {"inputs": inputs, "facts": facts, "call": call})


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


Question = Literal["action", "condition", "moment", "output", "call", "span"]
_ENVIRONMENTS: dict[Question, Any] = {
    "action": _ACTIONS,
    "condition": _CONDITIONS,
    "moment": _MOMENTS,
    "output": _OUTPUTS,
    "call": _CALLS,
    "span": _CONDITIONS,
}
_ANSWERS: dict[Question, tuple[Any, str]] = {
    "moment": (cel.Type.TIMESTAMP, "a time is asked for, and this answers {}: use timestamp(…)"),
    "span": (cel.Type.STRING, "a duration in text, such as 'P7D', is asked for, and this answers {}"),
}
"""What other questions than those for yes or no ask for, and what is said to any other answer."""


def condition(text: str) -> Cel:
    """A condition that was compiled when it was stored."""
    return Cel(text, inputs_read(text), members_read(text))


def moment(text: str) -> MomentCel:
    """A question for a time that was compiled when it was stored."""
    return MomentCel(text, inputs_read(text))


def span(text: str) -> SpanCel:
    """A question for a duration that was compiled when it was stored."""
    return SpanCel(text, inputs_read(text))


def compile_condition(text: str) -> Cel:
    """A condition; ValueError when it is invalid."""
    _compiled("condition", text)
    return condition(text)


def compile_moment(text: str) -> MomentCel:
    """A question for a time; ValueError when it is invalid."""
    _compiled("moment", text)
    return moment(text)


def compile_span(text: str) -> SpanCel:
    """A question for a duration; ValueError when it is invalid."""
    _compiled("span", text)
    return span(text)


def compile_output_condition(text: str) -> OutputCel:
    _compiled("output", text)
    return OutputCel(text)


def compile_call_condition(text: str) -> CallCel:
    """The rule of a judge; ValueError when it is invalid."""
    _compiled("call", text)
    return CallCel(text)


def check_action_condition(text: str) -> None:
    """ValueError for a condition of a rule for calls of agents that is not to be stored."""
    _compiled("action", text)
    if (why := "a loop (all, exists, map, …) stands inside another one" if nests(text) else never(text)) is not None:
        raise ValueError(why)


def action_holds(text: str, data: dict[str, Any]) -> bool:
    """Evaluate such a condition; ConditionFailed without a clear yes or no."""
    return _holds("action", text, data)


@lru_cache(COMPILED_MAX)
def _compiled(kind: Question, text: str) -> Any:
    """An expression, compiled when it is first asked; ValueError when it is invalid."""
    if kind not in _ANSWERS:
        return _compile_question(_ENVIRONMENTS[kind], text)
    expression = _compile(_ENVIRONMENTS[kind], text, _CLOCK_TIME if kind == "moment" else None)
    asked, refused = _ANSWERS[kind]
    if (found := _type_of(expression)) not in (asked, cel.Type.DYN):
        raise ValueError(refused.format(found))
    return expression


def holds(kind: Question, text: str, data: dict[str, Any]) -> bool:
    """Evaluate a condition; ConditionFailed without a clear yes or no."""
    return _yes_or_no(_evaluate(_expression(kind, text), data))


def moment_of(text: str, data: dict[str, Any]) -> str:
    """Evaluate a question for a time; ConditionFailed without a clear answer."""
    value = _evaluate(_expression("moment", text), {"clocks": {}, **data})
    _check(kind := value.type(), value)
    plain = value.plain_value()
    try:
        found = datetime.fromisoformat(plain) if isinstance(plain, str) else plain
        if isinstance(found, datetime) and found.tzinfo is not None:
            return found.astimezone(UTC).isoformat()
    except (OverflowError, ValueError):  # it is no time, or is beyond all times in UTC
        pass
    raise ConditionFailed(f"the answer is of type {kind}, and no time with a zone")


def span_of(text: str, data: dict[str, Any]) -> str:
    """Evaluate a question for a duration; ConditionFailed without a clear answer."""
    value = _evaluate(_expression("span", text), data)
    _check(kind := value.type(), value)
    plain = value.plain_value()
    if not isinstance(plain, str) or not is_duration(plain):
        raise ConditionFailed(f"the answer is of type {kind}, and no duration such as P7D")
    return plain


def _holds(kind: Question, text: str, data: dict[str, Any]) -> bool:
    return answered(kind, text, data, partial(holds, kind, text, data), inline_weight(text))


def _expression(kind: Question, text: str) -> Any:
    try:
        return _compiled(kind, text)
    except ValueError as failed:  # it was stored by a version of the service that took it
        raise ConditionFailed(str(failed)) from failed


def compile_rule(text: str) -> Rule:
    """Compile a signal rule; ValueError when it is invalid."""
    return Rule(text, _compile(_RULES, text))


def check_rule(text: str) -> None:
    """ValueError for a signal rule that is not to be stored: it is invalid, or no boolean."""
    _compile_question(_RULES, text)
    if (other := _OTHER_MEMBER.search(re.sub(_TEXT, '""', text))) is not None:
        raise ValueError(f"a response has status and body, and no {other[1]}")


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


def _compile(env: Any, text: str, times: re.Pattern[str] | None = None) -> Any:
    """An expression, compiled; the `times` that it reads of clocks are text that is made a time."""
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
    if times is not None:
        text = times.sub(lambda found: f"timestamp({found[0]})" if found[1] else found[0], text)
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


# One that is not closed counts, too: else each quote would be looked for from each other one.
_TEXT = r"""r?(?:"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?)"""
# A text, or a function of one text: such a call stands where no text has begun.
_CALL = re.compile(rf"\b(duration|timestamp|int|uint|double|bool)\s*\(\s*({_TEXT})\s*\)|{_TEXT}")
_MATCHES = re.compile(rf"\bmatches\s*\(\s*({_TEXT})\s*\)|\bmatches\s*\([^()\"']*,\s*({_TEXT})\s*\)|{_TEXT}")
_PATH = r"\binputs(?:\.[A-Za-z_]\w*+)++"
_NUMBER = r"(?<![\w.])\d++(?:\.\d++)?+(?:e[+-]?\d++)?+(?![\w.])"
# An operand, an operator, or any other sign.
_TOKEN = re.compile(rf"({_PATH}|{_TEXT}|{_NUMBER})|(<=|>=|[-<>*/%+])|\S")
_INDEX = re.compile(r"""(?<=\w)\[\s*["']([A-Za-z_]\w*)["']\s*\]""")
_FACT = re.compile(rf"\bfacts(?:\.([A-Za-z_]\w*)|\[\s*({_TEXT})\s*\])|{_TEXT}")
_CONVERTS = re.compile(r"\b(?:double|int|size)\s*\(|\d\.\d|\bfacts\b")
_LOOKS_FIRST = re.compile(r"\bhas\s*\(|\bin\s+facts\b")
_MOMENT = r"\b(?:timestamp|duration)\s*\([^()]*+\)"
_NO_MOMENT = re.compile(
    rf"(?<![\w.])({_PATH})\s*(?:<=|>=|[-<>+])\s*{_MOMENT}(?!\s*\.)|{_MOMENT}\s*(?:<=|>=|[-<>+])\s*({_PATH})(?!\s*[(.])"
)
# The time of a clock, unless it is only asked whether it is there, or stands in a text.
_CLOCK_TIME = re.compile(
    rf"""\bhas\s*\([^)]*\)|(\bclocks(?:\.[A-Za-z_]\w*+|\[\s*{_TEXT}\s*\])\.(?:(?:started|due|breached|stopped)_at)\b)|{_TEXT}"""
)
_OTHER_MEMBER = re.compile(r"(?<![\w.])response\.(?!(?:status|body)\b)(\w+)")
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
    steps = {step.id for step in document.steps}
    for one in _expressions(document):
        why = never(one.text, document.inputs_schema, is_time=one.is_time) or _no_step(one.text, steps)
        if why is not None:
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


def _no_step(text: str, steps: AbstractSet[str]) -> str | None:
    """Why a fact is never there: the step that would give it is none."""
    if _LOOKS_FIRST.search(text):
        return None
    named = (found[1] or (found[2] or "").removeprefix("r")[1:-1] for found in _FACT.finditer(text))
    return next((f"it reads facts of {one}, which is no step" for one in named if one and one not in steps), None)


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
    text = _INDEX.sub(r".\1", text)
    if (moment := _NO_MOMENT.search(re.sub(_TEXT, '""', text))) is not None:
        yield f"{moment[1] or moment[2]} is never a time or a duration: write timestamp(…) or duration(…)"
    tokens = list(_TOKEN.finditer(text))
    for left, sign, right in ((a[1], b[2], c[1]) for a, b, c in zip(tokens, tokens[1:], tokens[2:], strict=False)):
        if sign == "/" and None in (left, right) and _is_open(text, schema):
            yield f"a quotient in {text} is rounded down or not by how a number is written: write double(…) / double(…)"
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


def _is_open(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether what is divided is of numbers of the inputs, and nothing makes it a decimal."""
    return _CONVERTS.search(text) is None and any(
        _has_number(_member(schema, one[1])) for one in _TOKEN.finditer(text) if one[1]
    )


def _has_number(schema: Any) -> bool:
    """Whether a value of a schema is a number, or has one in it."""
    if not isinstance(schema, Mapping):
        return False
    members = schema.get("properties")
    inner = [schema.get("items"), *(members.values() if isinstance(members, Mapping) else ())]
    return schema.get("type") == "number" or any(map(_has_number, inner))


def _member(schema: Mapping[str, Any], path: str) -> Any:
    """The schema that an input has by its path; None where it has none."""
    found: Any = schema if path.startswith("inputs.") else None
    for name in path.split(".")[1:]:
        members = found.get("properties") if isinstance(found, Mapping) else None
        found = members.get(name) if isinstance(members, Mapping) else None
    return found


def _kind(schema: Mapping[str, Any], operand: str) -> str | None:
    """The type of a constant, or the one that the schema gives an input; None where it is open."""
    if not operand.startswith("inputs."):
        if operand[0] in "\"'r":
            return "text"
        return "integer" if operand.isdecimal() else "decimal" if operand[0].isdecimal() else None
    found = _member(schema, operand)
    kind = found.get("type") if isinstance(found, Mapping) else None
    return _KINDS.get(kind) if isinstance(kind, str) else None


def _expressions(document: Document) -> Iterator[_Placed]:
    yield from _of_clocks(document)
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


def _of_clocks(document: Document) -> Iterator[_Placed]:
    for clock in document.clocks:
        if clock.from_ is not None:
            yield _Placed(clock.from_, None, is_time=True, prefix=f"clocks/{clock.id}/from: ")
        if not is_duration(clock.within):
            yield _Placed(clock.within, None, prefix=f"clocks/{clock.id}/within: ")
