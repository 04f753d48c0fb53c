"""The JSON Schema of the form that a gate asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import Any

import jsonschema_rs

from actors.core.inputs import pointed
from actors.core.template import ConditionFailed
from daemon.templates.answers import answered
from daemon.templates.cost.looks import inline_weight
from daemon.templates.documents import ORDER
from daemon.templates.input_schema import ERRORS_MAX, NOT_LINEAR, STOPPED, Validator, nothing_remote

Kind = jsonschema_rs.ValidationErrorKind


@dataclass(frozen=True)
class FormSchema:
    """Finds all that is wrong with a form, in the order of the schema.

    It is compiled when it is first asked here.
    """

    schema: dict[str, Any] = field(compare=False)
    names: tuple[str, ...]

    @classmethod
    def stored(cls, schema: dict[str, Any]) -> FormSchema:
        """A form that was compiled when it was stored."""
        order = schema.get(ORDER)
        return cls(schema, tuple(map(str, order)) if isinstance(order, list) else ())

    @classmethod
    def of(cls, schema: dict[str, Any]) -> FormSchema:
        """ValueError when it is no schema of an object, or refers to another."""
        if schema.get("type") != "object":
            raise ValueError("a form is of type object")
        found = cls.stored(schema)
        _ = found._validator  # noqa: SLF001 - its own
        return found

    @cached_property
    def _validator(self) -> Validator:
        options: dict[str, Any] = {"retriever": nothing_remote, "mask": "the value"}
        try:
            return Validator(self.schema, pattern_options=jsonschema_rs.RegexOptions(), **options)
        except ValueError as failed:
            message = str(failed).partition("\n")[0]
            raise ValueError(f"{message}, or {NOT_LINEAR}") from failed

    @cached_property
    def _inline_weight(self) -> int:
        return inline_weight(self.schema)

    def errors(self, values: dict[str, Any]) -> list[tuple[str, str]]:
        """A pointer below the form and a sentence for each finding."""
        try:
            found = answered("form", self.schema, values, partial(self.errors_here, values), self._inline_weight)
        except ConditionFailed:
            return [("", f"the values {STOPPED}")]
        return [(where, said) for where, said in found]

    def errors_here(self, values: dict[str, Any]) -> list[tuple[str, str]]:
        """The same, whatever it costs."""
        found = [one for error in islice(self._validator.iter_errors(values), ERRORS_MAX) for one in _said(error)]
        return sorted(found, key=lambda one: self._place(one[0]))

    def _place(self, where: str) -> int:
        name = where.split("/")[1] if where else ""
        return self.names.index(name) if name in self.names else len(self.names)


def _said(error: jsonschema_rs.ValidationError) -> Iterator[tuple[str, str]]:
    where, kind = "".join(pointed(str(part)) for part in error.instance_path), error.kind
    if isinstance(kind, Kind.Required):
        yield where + pointed(kind.property), "is missing"
    elif isinstance(kind, Kind.AdditionalProperties):
        for name in kind.unexpected:
            yield where + pointed(name), "is not asked for"
    else:
        yield where, error.message
