"""The JSON Schema of a template's inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from actors.core.inputs import pointed

ABSENT = frozenset({"required", "dependentRequired", "minProperties"})
"""What a schema says of members that are not there."""

Validator = jsonschema_rs.Draft202012Validator


@dataclass(frozen=True, slots=True)
class InputsSchema:
    validator: Validator

    def errors(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        """The errors of given values; missing members are not errors."""
        return [*map(_told, filter(_present, self.validator.iter_errors(inputs)))]

    def all_errors(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        return [*map(_told, self.validator.iter_errors(inputs))]


def leaves(key: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Required members of a key, as keys; for an object, each member that the schema requires."""
    found: Any = schema
    for part in key.removeprefix("inputs.").split("."):
        found = found.get("properties", {}).get(part) if isinstance(found, dict) else None
    required = found.get("required", ()) if isinstance(found, dict) and not key.startswith("facts.") else ()
    if not required:
        yield key
    for name in required:
        yield from leaves(f"{key}.{name}", schema)


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
