"""Large inputs are checked in a process of their own, which is ended when that takes too long."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from daemon.runtime.offload import Offload
from daemon.templates.input_checks import STOPPED, InputChecks
from daemon.templates.loading import CatalogEntry, load_text, shipped
from tests.effort import Effort

TEMPLATE = """
vertical: strict-inputs
version: 1
title: Strict inputs
description: Its schema looks at every item.
inputs_schema: %s
example: {}
steps:
  - {id: done, kind: end, label: Done, outcome: done}
"""
UNIQUE = "{type: object, properties: {x: {type: array, uniqueItems: true, items: {type: object, required: [b]}}}}"
COSTLY = f"{{type: object, properties: {{x: {{items: {{enum: [{', '.join(f'{{a: {n}}}' for n in range(2_000))}]}}}}}}}}"


@pytest.fixture
async def checks() -> AsyncIterator[InputChecks]:
    offload = Offload()
    one = InputChecks(offload)
    yield one
    await one.close()
    offload.close()


async def errors(checks: InputChecks, entry: CatalogEntry, inputs: dict[str, Any]) -> list[tuple[str, str]]:
    """The errors, found without holding up the event loop."""
    with Effort() as effort:
        found = await checks.errors("company", entry, inputs, large=True)
    assert effort.calls("iter_errors") == 0
    assert effort.calls("Encoder.encode") == 0
    return found


async def test_large_inputs_are_checked_in_another_process(checks: InputChecks) -> None:
    entry = load_text(TEMPLATE % UNIQUE, "strict.yaml")
    assert await errors(checks, entry, {"x": [{"a": n} for n in range(50_000)]}) == []
    assert await errors(checks, entry, {"x": [*range(100_000)]}) == [
        ("/inputs/x/0", 'the value is not of type "object"'),
    ]
    assert await errors(checks, entry, {"x": [{}, {}], "y": "x" * 100_000}) == [
        ("/inputs/x", "the value has non-unique elements"),
    ]


async def test_a_check_without_an_end_is_stopped_and_the_next_is_made(checks: InputChecks) -> None:
    entry = load_text(TEMPLATE % COSTLY, "costly.yaml")
    assert await errors(checks, entry, {"x": [{"a": 1_999}] * 60_000}) == [("/inputs", STOPPED)]
    assert await errors(checks, entry, {"x": [{"a": 0}] * 100}) == []


@pytest.mark.parametrize("entry", shipped(), ids=lambda entry: entry.template.vertical)
async def test_what_plainly_holds_starts_no_process(checks: InputChecks, entry: CatalogEntry) -> None:
    inputs = {**entry.example, "more": [{"a": 1}] * 100_000}
    if entry.plainly_hold({}):
        assert await errors(checks, entry, inputs) == []
        assert checks._worker.pid is None
