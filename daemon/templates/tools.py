"""What a template says of its tools, and whether a connector's mappings fit it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, JsonValue

from actors.core.calls import CONSTANT, PLACEHOLDER, Connector
from daemon.templates.input_schema import NOT_LINEAR, InputsSchema, parts

Schema = dict[str, JsonValue]
SHOWN = "x-shown"
"""The keyword of a property of an output that people read at a gate, and no expression."""


class ToolSchemas(BaseModel):
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


def refusals(tools: Mapping[str, ToolSchemas]) -> Iterator[str]:
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
    connector: Connector, schemas: ToolSchemas, inputs_schema: Mapping[str, Any], vertical: str
) -> Iterator[Misfit]:
    """Where the mappings of a connector do not fit the schemas of its tool in a template."""
    if schemas.input is not None:
        yield from _sent(connector, schemas.input, inputs_schema, vertical)
    if schemas.output is not None and connector.response_map is not None:
        for name in _required(schemas.output):
            if name not in connector.response_map:
                yield Misfit("response_map", name, f"is missing: {vertical} reads it")
        yield from _unknown("response_map", connector.response_map, schemas.output, vertical)


def unfit(output: Any, schema: Schema) -> list[tuple[str, str]]:
    """Where an output is not as its schema says: JSON pointers, and a sentence for each."""
    errors = InputsSchema.from_schema(schema).all_errors(output)
    return [(f"/output{where.removeprefix('/inputs')}", detail) for where, detail in errors]


def _sent(connector: Connector, schema: Schema, inputs_schema: Mapping[str, Any], vertical: str) -> Iterator[Misfit]:
    """A name in a path is the last part of its key."""
    maps = {"body_map": connector.body_map or {}, "query_map": connector.query_map or {}}
    in_path = {key.rpartition(".")[2]: key for key in PLACEHOLDER.findall(connector.path)}
    named = {**in_path, **maps["query_map"], **maps["body_map"]}
    tops = {name.partition(".")[0] for name in named}
    for name in _required(schema):
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


def _required(schema: Schema) -> list[str]:
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
