"""One past for all tests of a process: to make it takes longer than to tamper with it."""

from __future__ import annotations

import pytest

from tests.audit import past


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> past.Past:
    return past.make(tmp_path_factory.mktemp("past"))
