"""What is fuzzed inside this process: JSON, CEL, JSON Schemas and YAML documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

import daemon
from actors.core.template import ConditionFailed
from daemon.runtime import json_codec
from daemon.templates.answers import Unanswered
from daemon.templates.cel import compile_condition, compile_output_condition, compile_rule
from daemon.templates.loading import TemplateRefused, load_text
from tests.fuzz.fuzzing import Target, within_time
from tests.fuzz.material import changed, leaves, mutated, values

NAMES = (
    "inputs",
    "inputs.a",
    "facts",
    'facts["a"].b',
    "response",
    "response.body",
    "response.status",
    "output",
    "x",
    "y",
)
LITERALS: tuple[str, ...] = (
    "1",
    "-1",
    "0",
    "9223372036854775807",
    "-9223372036854775808",
    "1u",
    "1.5",
    "1e308",
    "'a'",
    '"\\u00e9"',
    "r'\\d'",
)
LITERALS += (
    "b'\\xff'",
    "true",
    "null",
    "[]",
    "{}",
    "''",
    "'(a+)+$'",
    "duration('1h')",
    "timestamp('2026-01-01T00:00:00Z')",
)
BINARY = ("+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||", "in")
CALLS: tuple[str, ...] = (
    "size({0})",
    "string({0})",
    "int({0})",
    "double({0})",
    "bytes({0})",
    "type({0})",
    "dyn({0})",
    "has({0})",
    "!{0}",
)
CALLS += ("-{0}", "({0})", "uint({0})", "{0}.matches({1})", "{0}.contains({1})", "{0}.startsWith({1})", "{0}[{1}]")
CALLS += ("[{0}, {1}]", "{{{0}: {1}}}", "{0} ? {1} : {0}", "{0}.map(x, {1})", "{0}.exists(x, {1})", "{0}.all(y, {1})")
CALLS += (
    "{0}.filter(x, {1})",
    "duration({0})",
    "timestamp({0})",
    "{0}.size()",
    "{0}.a",
    "{0}.getFullYear()",
    "{0}.b.c",
)

expressions: st.SearchStrategy[str] = st.recursive(
    st.sampled_from((*NAMES, *LITERALS)),
    lambda inner: st.one_of(
        st.builds("{} {} {}".format, inner, st.sampled_from(BINARY), inner),
        st.builds(str.format, st.sampled_from(CALLS), inner, inner),
    ),
    max_leaves=12,
)
cel_texts = st.one_of(expressions, expressions.flatmap(lambda text: mutated(text.encode())), st.text(max_size=60))
SHIPPED = [
    (file.name, file.read_text(encoding="utf-8"))
    for file in sorted(Path(daemon.__path__[0], "templates", "shipped").glob("*/*.yaml"))
]
KEYWORDS: tuple[str, ...] = (
    "type",
    "enum",
    "const",
    "minimum",
    "multipleOf",
    "pattern",
    "format",
    "minLength",
    "maxItems",
    "uniqueItems",
)
KEYWORDS += (
    "items",
    "properties",
    "required",
    "$ref",
    "$id",
    "$defs",
    "allOf",
    "anyOf",
    "not",
    "if",
    "dependentRequired",
)
KEYWORDS += (
    "patternProperties",
    "propertyNames",
    "additionalProperties",
    "prefixItems",
    "contains",
    "$schema",
    "$dynamicRef",
)
KINDS = ("object", "array", "string", "integer", "number", "boolean", "null", "nothing")
schema_leaves = st.one_of(
    leaves,
    st.sampled_from(KINDS),
    st.sampled_from(("#", "#/$defs/a", "urn:x", "(a+)+$", "[", "\\p{L}", "(?=a)b", "date-time")),
)
schemas: st.SearchStrategy[Any] = st.recursive(
    schema_leaves,
    lambda inner: st.one_of(st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4), st.lists(inner, max_size=3)),
    max_leaves=12,
)


def _text(example: str | bytes) -> str:
    return example.decode("utf-8", "replace") if isinstance(example, bytes) else example


def _evaluate(example: tuple[str | bytes, Any]) -> None:
    text, value = _text(example[0]), example[1]
    given = value if isinstance(value, dict) else {"a": value}
    with suppress(ValueError):
        condition = within_time(lambda: compile_condition(text))
        with suppress(ConditionFailed, Unanswered):  # the second is asked of a process, which is bounded
            within_time(lambda: condition.holds(given, given))
    with suppress(ValueError):
        output = within_time(lambda: compile_output_condition(text))
        with suppress(ConditionFailed, Unanswered):
            within_time(lambda: output.holds(value))
    with suppress(ValueError):
        rule = within_time(lambda: compile_rule(text))
        with suppress(ConditionFailed):
            json.dumps(within_time(lambda: rule.value(200, value)), allow_nan=False)


def _parse(raw: bytes) -> None:
    with suppress(json_codec.NotJson):
        value = within_time(lambda: json_codec.loads(raw))
        json_codec.dumps(value).decode()


def _load(text: str | bytes) -> None:
    with suppress(TemplateRefused):
        entry = within_time(lambda: load_text(_text(text), "example"))
        within_time(lambda: entry.input_errors({"a": 1, "member_id": None}))


def _validate(example: tuple[Any, Any]) -> None:
    schema, value = example
    document = {**yaml.safe_load(SHIPPED[0][1]), "inputs_schema": schema, "example": {}}
    with suppress(TemplateRefused):
        entry = within_time(lambda: load_text(json.dumps(document), "example"))
        given = value if isinstance(value, dict) else {"a": value}
        for pointer, sentence in within_time(lambda: entry.input_errors(given)):
            json_codec.dumps([pointer, sentence]).decode()


def _json_texts() -> st.SearchStrategy[bytes]:
    written = values.map(lambda value: json.dumps(value).encode())
    return st.one_of(written, written.flatmap(mutated), st.binary(max_size=60))


def _documents() -> st.SearchStrategy[str | bytes]:
    shipped = st.sampled_from([text for _, text in SHIPPED])
    whole = shipped.map(yaml.safe_load).flatmap(changed).map(lambda value: yaml.safe_dump(value, allow_unicode=True))
    return st.one_of(whole, shipped.flatmap(lambda text: mutated(text.encode())), st.text(max_size=80))


def parsers() -> Iterator[Target]:
    """The parsers of what strangers write."""
    yield Target("JSON", _json_texts(), _parse)
    yield Target("CEL", st.tuples(cel_texts, values), _evaluate)
    yield Target("JSON Schema", st.tuples(schemas, values), _validate)
    yield Target("YAML", _documents(), _load)
