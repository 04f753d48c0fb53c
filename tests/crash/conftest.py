"""A folder for a service, and a far side."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.crash.service import FarSide, write_templates


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_templates(tmp_path / "templates")
    return tmp_path


@pytest.fixture
async def far_side() -> AsyncIterator[FarSide]:
    async with FarSide() as side:
        yield side
        side.released.set()
