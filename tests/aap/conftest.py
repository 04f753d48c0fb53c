"""The service of the web tests, and an agent whose credential the public client has."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.aap.support import Agent, agent_of
from tests.web.conftest import _fast, ann, blank, database_url, house, settings, usual
from tests.web.support import Person

__all__ = ["_fast", "agent", "ann", "blank", "database_url", "house", "settings", "usual"]


@pytest.fixture
async def agent(ann: Person) -> AsyncIterator[Agent]:
    """An agent of Ann's company."""
    async with agent_of(ann) as one:
        yield one
