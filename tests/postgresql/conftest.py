"""What the tests of PostgreSQL share: a database of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.postgres import Server


@pytest.fixture
async def url(postgres: Server, template: str) -> AsyncIterator[str]:
    """A database with the schema and nothing in it."""
    made = await postgres.made(template)
    yield made
    await postgres.dropped(made)
