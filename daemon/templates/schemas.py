"""The JSON Schemas of a template: of its inputs, and of what its tools take and give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any

import jsonschema_rs
from jsonschema_rs import FancyRegexOptions, RegexOptions
from pydantic import BaseModel, ConfigDict, JsonValue

from actors.core.calls import CONSTANT, PLACEHOLDER, Connector
from actors.core.template import ConditionFailed, pointed
from daemon.runtime.json_codec import dumps
from daemon.templates.answers import Kind, answered
from daemon.templates.schema_cost import inline_weight

ERRORS_MAX = 50
STOPPED = "take too long to check against the template's schema"
SMALL_BYTES = 4 * 1024
"""Inputs of this size have few errors, whatever their schema."""
ABSENT = frozenset({"required", "dependentRequired", "minProperties"})
"""What a schema says of members that are not there."""
BACKTRACK_MAX = 10_000
NOT_LINEAR = "a pattern looks around or back; that may take too long to match"
_NAMED = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_VALUES = frozenset({"const", "enum", "default", "examples"})
# Keywords that say no more than others do of the same value, and have one error at most.
_FLAT = ABSENT | _VALUES | {"type", "properties", "title", "description", "format", "pattern", "uniqueItems"}
_FLAT |= {f"{least}{what}" for least in ("min", "max") for what in ("imum", "Length", "Items", "Properties")}
_FLAT |= {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "$schema", "$comment", "x-order", "x-shown"}
_PLAIN = frozenset({"string", "number", "integer", "boolean"})
# Keywords that compare whole values, and patterns, which look at all of a text.
_COMPARING = frozenset({"const", "enum", "uniqueItems", "pattern", "format"})
# Keywords that ask whether a schema holds: without what it says of absent members it may hold more.
_ASKING = frozenset({"not", "if", "oneOf", "anyOf", "contains", "unevaluatedProperties", "unevaluatedItems"})

Validator = jsonschema_rs.Draft202012Validator


class InputsSchema:
    """The form of inputs, which is compiled when it is first asked here."""

    def __init__(self, schema: dict[str, Any]) -> None:
        words = {*_words(schema)}
        self.schema = schema
        self.flat = words <= _FLAT
        """Whether the schema, and not the inputs, bounds the number of errors."""
        self.quick = words <= _FLAT - _COMPARING
        """Whether to find out that values hold takes no time, however large they are."""
        self._asking = bool(words & _ASKING)

    @classmethod
    def from_schema(cls, schema: dict[str, Any]) -> InputsSchema:
        """ValueError when it is no schema, or refers to another."""
        found = cls(schema)
        _ = found._compiled
        return found

    @cached_property
    def inline_weight(self) -> int:
        """The largest weight of values that are checked at once."""
        return inline_weight(self.schema)

    @property
    def linear(self) -> bool:
        """Whether every pattern is matched in linear time."""
        return self._compiled[2]

    @property
    def validator(self) -> Validator:
        return self._compiled[0]

    @property
    def present(self) -> Validator:
        """Leaves out what the schema says of absent members, where that can be told apart."""
        return self._compiled[1]

    @cached_property
    def _compiled(self) -> tuple[Validator, Validator, bool]:
        present = self.schema if self._asking else _without_absent(self.schema)
        try:
            return *_validators(self.schema, present, RegexOptions()), True
        except ValueError:
            patterns = FancyRegexOptions(backtrack_limit=BACKTRACK_MAX)
            return *_validators(self.schema, present, patterns), False

    def errors(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        """The errors of given values; missing members are not errors.

        Of large inputs the first alone, where each of them may have many: to list those takes
        seconds.
        """
        if self.inline_weight and self.plainly_hold(inputs):
            return []
        return self._answered("inputs", inputs, partial(self.errors_here, inputs))

    def errors_here(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        """The same, whatever it costs."""
        if self.present.is_valid(inputs):
            return []
        if not self.flat and len(dumps(inputs)) > SMALL_BYTES:
            return self._first(inputs)
        return [*map(_told, islice(filter(_present, self.validator.iter_errors(inputs)), ERRORS_MAX))]

    def plainly_hold(self, inputs: dict[str, Any]) -> bool:
        return self.quick and self.present.is_valid(inputs)

    def all_errors(self, inputs: Any) -> list[tuple[str, str]]:
        """The first errors of whole values."""
        return self._answered("all_errors", inputs, partial(self.all_errors_here, inputs))

    def all_errors_here(self, inputs: Any) -> list[tuple[str, str]]:
        return [*map(_told, islice(self.validator.iter_errors(inputs), ERRORS_MAX))]

    def _answered(self, kind: Kind, value: Any, here: Callable[[], list[tuple[str, str]]]) -> list[tuple[str, str]]:
        try:
            return [(where, said) for where, said in answered(kind, self.schema, value, here, self.inline_weight)]
        except ConditionFailed:
            return [("/inputs", STOPPED)]

    def _first(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        try:
            self.present.validate(inputs)
        except jsonschema_rs.ValidationError as error:
            if _present(error):
                return [_told(error)]
            return [("/inputs", f"lack what decides how they are read, and are larger than {SMALL_BYTES} bytes")]
        return []


def _validators(schema: Any, present: Any, patterns: RegexOptions | FancyRegexOptions) -> tuple[Validator, Validator]:
    options: dict[str, Any] = {"retriever": nothing_remote, "mask": "the value", "pattern_options": patterns}
    validator = Validator(schema, **options)
    return validator, validator if present is schema else Validator(present, **options)


def nothing_remote(uri: str) -> Any:
    """Refuse to fetch what a schema refers to."""
    raise ValueError(f"{uri} is elsewhere, and nothing is fetched")


def _words(schema: Any) -> Iterator[str]:
    """The keywords of a schema and of all in it."""
    for inner in parts(schema):
        yield from inner


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema, and all that are in it."""
    if isinstance(schema, dict):
        yield schema
        for word, value in schema.items():
            within = value.values() if word in _NAMED and isinstance(value, dict) else [value]
            yield from (part for one in within if word not in _VALUES for part in parts(one))
    elif isinstance(schema, list):
        yield from (part for one in schema for part in parts(one))


def _without_absent(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_absent(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {word: _within(word, value) for word, value in schema.items() if word not in ABSENT}


def _within(word: str, value: Any) -> Any:
    if word in _VALUES:
        return value
    if word in _NAMED and isinstance(value, dict):
        return {name: _without_absent(one) for name, one in value.items()}
    return _without_absent(value)


def may_be_plain(path: Iterable[str], schema: Any) -> bool:
    """Whether a schema allows a text, number or boolean there; one that is silent allows it."""
    return _may_be(_PLAIN, path, schema)


def may_be_text(path: Iterable[str], schema: Any) -> bool:
    """Whether a schema allows a text there; one that is silent allows it."""
    return _may_be(frozenset({"string"}), path, schema)


def _may_be(kinds: frozenset[str], path: Iterable[str], schema: Any) -> bool:
    for part in path:
        if not isinstance(schema, dict):
            return schema is True
        members = schema.get("properties")
        if "object" not in _kinds(schema):
            return False
        if not isinstance(members, dict):
            return True
        if part not in members:
            return False
        schema = members[part]
    return bool(kinds & _kinds(schema)) if isinstance(schema, dict) else schema is True


def _kinds(schema: Mapping[str, Any]) -> set[Any]:
    """The types that a schema names, or those that it leaves open."""
    kinds = schema.get("type", [*_PLAIN, "object"])
    return {one for one in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(one, str)}


def leaves(key: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Required members of a key, as keys; for an object, each member that the schema requires.

    Each key is looked at once: names with dots, and names said twice, lead to one key on many ways.
    """
    seen, waiting = {key}, [key]
    while waiting:
        one = waiting.pop()
        required = [] if one.startswith("facts.") else _required(one, schema)
        if not required:
            yield one
        within = [inner for name in required if (inner := f"{one}.{name}") not in seen]
        seen.update(within)
        waiting += reversed(dict.fromkeys(within))


def _required(key: str, schema: Mapping[str, Any]) -> list[Any]:
    """What the schema requires of the object of a key."""
    found: Any = schema
    for part in key.removeprefix("inputs.").split("."):
        members = found.get("properties") if isinstance(found, dict) else None
        found = members.get(part) if isinstance(members, dict) else None
    required = found.get("required", ()) if isinstance(found, dict) else ()
    return [*required] if isinstance(required, list) else []


def _present(error: jsonschema_rs.ValidationError) -> bool:
    """Whether an error is about a given value; of alternatives all must be."""
    kind = error.kind
    if kind.name in ABSENT:
        return False
    alternatives: Iterable[list[jsonschema_rs.ValidationError]] = getattr(kind, "context", ())
    return all(any(map(_present, each)) for each in alternatives)


def _told(error: jsonschema_rs.ValidationError) -> tuple[str, str]:
    """A JSON pointer below `/inputs`, and a sentence that repeats no value."""
    return "/inputs" + "".join(pointed(str(part)) for part in error.instance_path), error.message


Schema = dict[str, JsonValue]
SHOWN = "x-shown"
"""The keyword of a property of an output that people read at a gate, and no expression."""


class SchemasOfTool(BaseModel):
    """What a tool is sent and what it answers, as JSON Schemas of objects."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    input: Schema | None = None
    output: Schema | None = None


@dataclass(frozen=True, slots=True)
class Misfit:
    """A field of a connector that does not fit what a template says, and why."""

    field: str
    name: str
    detail: str


def refusals(tools: Mapping[str, SchemasOfTool]) -> Iterator[str]:
    """What is wrong with the schemas of tools, a sentence for each."""
    for tool, schemas in tools.items():
        for word, schema in (("input", schemas.input), ("output", schemas.output)):
            if schema is None:
                continue
            if schema.get("type") != "object":
                yield f"the {word} of {tool} is of type object"
            if any(one.get(SHOWN, True) is not True for one in parts(schema)):
                yield f"the {word} of {tool}: {SHOWN} is true or left out"
            try:
                if not InputsSchema.from_schema(schema).linear:
                    yield f"the {word} of {tool}: {NOT_LINEAR}"
            except ValueError as failed:
                yield f"the {word} of {tool}: {str(failed).partition(chr(10))[0]}"


def misfits(
    connector: Connector, schemas: SchemasOfTool, inputs_schema: Mapping[str, Any], vertical: str
) -> Iterator[Misfit]:
    """Where the mappings of a connector do not fit the schemas of its tool in a template."""
    if schemas.input is not None:
        yield from _sent(connector, schemas.input, inputs_schema, vertical)
    if schemas.output is not None and connector.response_map is not None:
        for name in _required_members(schemas.output):
            if name not in connector.response_map:
                yield Misfit("response_map", name, f"is missing: {vertical} reads it")
        yield from _unknown("response_map", connector.response_map, schemas.output, vertical)


def misfits_of_output(output: Any, schema: Schema) -> list[tuple[str, str]]:
    """Where an output is not as its schema says: JSON pointers, and a sentence for each."""
    errors = InputsSchema.from_schema(schema).all_errors(output)
    return [(f"/output{where.removeprefix('/inputs')}", detail) for where, detail in errors]


def _sent(connector: Connector, schema: Schema, inputs_schema: Mapping[str, Any], vertical: str) -> Iterator[Misfit]:
    """A name in a path is the last part of its key."""
    maps = {"body_map": connector.body_map or {}, "query_map": connector.query_map or {}}
    in_path = {key.rpartition(".")[2]: key for key in PLACEHOLDER.findall(connector.path)}
    named = {**in_path, **maps["query_map"], **maps["body_map"]}
    tops = {name.partition(".")[0] for name in named}
    for name in _required_members(schema):
        if name not in named and name not in tops:
            yield Misfit("body_map", name, f"is missing: {vertical} says that the tool needs it")
    for field, names in maps.items():
        yield from _unknown(field, names, schema, vertical)
        for name, key in names.items():
            constant = isinstance(key, dict)
            is_ = _type_of(key[CONSTANT]) if constant else _type(inputs_schema, key)
            due = _type(schema, name)
            if is_ is not None and due is not None and is_ != due and (is_, due) != ("integer", "number"):
                yield Misfit(field, name, f"is of type {is_}, and {vertical} says that the tool takes a {due}")


def _unknown(field: str, names: Mapping[str, Any], schema: Schema, vertical: str) -> Iterator[Misfit]:
    properties = schema.get("properties")
    if schema.get("additionalProperties") is False and isinstance(properties, dict):
        for name in names:
            if name not in properties and (field != "body_map" or name.partition(".")[0] not in properties):
                yield Misfit(field, name, f"is none of the names that {vertical} has for the tool")


def _required_members(schema: Schema) -> list[str]:
    required = schema.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _type_of(value: Any) -> str | None:
    """The type of a constant, as a schema names it."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case _:
            return None


def _type(schema: Mapping[str, Any], key: str) -> str | None:
    """The type of a member by its dotted key, if the schema says one; facts have none."""
    first, _, rest = key.partition(".")
    path = rest if first == "inputs" and rest else key
    found: Any = None if first == "facts" and rest else schema
    for part in path.split("."):
        properties = found.get("properties") if isinstance(found, Mapping) else None
        found = properties.get(part) if isinstance(properties, Mapping) else None
    kind = found.get("type") if isinstance(found, Mapping) else None
    return kind if isinstance(kind, str) else None
