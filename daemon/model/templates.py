"""Every version of a template that runs may be pinned to."""

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
        """Keep a template; SchemaMismatch when its vertical and version are taken by another digest."""

    async def template_document(self, digest: str) -> TemplateDocument | None:
        """The template of that digest."""
