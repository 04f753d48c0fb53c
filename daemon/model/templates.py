"""Stored templates, in all versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TemplateDocument:
    """The canonical JSON of a template under its digest."""

    digest: str
    vertical: str
    version: int
    document: str


class TemplateRepository(Protocol):
    """Every template that was ever loaded."""

    async def keep_template(self, document: TemplateDocument) -> None:
        """Store a template; SchemaMismatch when its version has another digest."""

    async def template_document(self, digest: str) -> TemplateDocument | None:
        """The template of that digest."""
