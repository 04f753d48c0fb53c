"""The costs of a tree, in a short form: each kind has a figure, and none is nothing."""

from __future__ import annotations

from dataclasses import replace

from tests.bench.environments import ROOT
from tests.cost.__main__ import ACTIONS, KINDS, SHARE, TIMED, compared


async def test_each_kind_of_work_has_its_cost() -> None:
    (found,) = (await compared({"now": ROOT}, replace(TIMED, loops=40), 1))["now"]
    assert set(found) == set(KINDS)
    assert all(
        found[kind] > 0 for kind in ("process start", "start", "resume", "loop", "loops a second", *ACTIONS, SHARE)
    )
