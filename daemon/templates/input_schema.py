"""The form of a template's inputs: what may be missing, what is wrong, and what a step needs of them."""

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
    """A schema of inputs, compiled."""

    validator: Validator

    def errors(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        """What is there and breaks the schema; members that are missing break nothing."""
        return [*map(_told, filter(_present, self.validator.iter_errors(inputs)))]

    def all_errors(self, inputs: dict[str, Any]) -> list[tuple[str, str]]:
        """What breaks the schema, members that are missing included."""
        return [*map(_told, self.validator.iter_errors(inputs))]


def leaves(key: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """The keys that a step needs where it needs that one: of an object each member that the schema requires."""
    found: Any = schema
    for part in key.removeprefix("inputs.").split("."):
        found = found.get("properties", {}).get(part) if isinstance(found, dict) else None
    required = found.get("required", ()) if isinstance(found, dict) and not key.startswith("facts.") else ()
    if not required:
        yield key
    for name in required:
        yield from leaves(f"{key}.{name}", schema)


def _present(error: jsonschema_rs.ValidationError) -> bool:
    """Whether an error is about what is there; of alternatives each has to be."""
    kind = error.kind
    if kind.name in ABSENT:
        return False
    alternatives: Iterable[list[jsonschema_rs.ValidationError]] = getattr(kind, "context", ())
    return all(any(map(_present, each)) for each in alternatives)


def _told(error: jsonschema_rs.ValidationError) -> tuple[str, str]:
    """A JSON pointer that begins with `/inputs`, and a sentence that repeats no value."""
    return "/inputs" + "".join(pointed(str(part)) for part in error.instance_path), error.message
