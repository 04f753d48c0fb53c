"""The shipped templates, read once in a process: most tests that look at them look at all."""

from __future__ import annotations

from functools import cache

from daemon.templates import loading
from daemon.templates.loading import CatalogEntry


@cache
def shipped() -> tuple[CatalogEntry, ...]:
    """The templates of all packs, by vertical."""
    return tuple(loading.shipped())
