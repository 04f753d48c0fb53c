"""The events of a company, read from the newest back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from daemon.model.event_log import BEGINNING
from daemon.stores.store import Store
from tests.histories import ACME, start
from tests.stores.contract.test_evidence import sign

if TYPE_CHECKING:
    from daemon.model.event_log import Position


@pytest.mark.parametrize("sealed", [0, 3, 6])
async def test_backwards_they_are_what_they_are_forwards(store: Store, sealed: int) -> None:
    for number in range(1, 7):
        await store.append(start(f"run-{number}"))
        await store.append(start(f"other-{number}", company_id="eve"))
        if number == sealed:
            await store.seal(sign)
    forwards = [one.position for one in await store.read_after(ACME, BEGINNING, 200)]
    backwards: list[Position] = []
    before = await store.log_end(ACME)
    while page := await store.read_before(ACME, before, 2):
        before = page[-1].position
        backwards += [one.position for one in page]
    assert backwards == forwards[::-1]
    assert len(backwards) > 6
