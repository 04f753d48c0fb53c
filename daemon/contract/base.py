"""What all requests, and all responses, have in common."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


def example(members: dict[str, Any]) -> ConfigDict:
    """The example that OpenAPI has of a model, where `examples.json` has none."""
    return ConfigDict(json_schema_extra={"examples": [members]})


class Request(BaseModel):
    """A request body. An unknown field is refused: a typo must never be taken for consent."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    @classmethod
    def is_optional(cls) -> bool:
        """Whether a missing body counts as an empty object."""
        return not any(field.is_required() for field in cls.model_fields.values())


class Empty(Request):
    """A request without fields."""

    model_config = example({})


class Response(BaseModel):
    """A part of a response. Members that a newer service adds are kept.

    Defaults are for a client that reads the response of an older service; this one sends all.
    """

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="allow", json_schema_serialization_defaults_required=True
    )

    @classmethod
    def view(cls, source: object, **computed: Any) -> dict[str, Any]:
        """The members of this response: attributes of `source`, but for the computed ones."""
        return {name: computed[name] if name in computed else getattr(source, name) for name in cls.model_fields}
