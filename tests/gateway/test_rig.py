"""What the gateway costs, in a short form: each kind has its figure, what is planted is seen."""

from __future__ import annotations

import pytest

from tests.gateway.rig import NEWEST, OLDEST, Plan, pair, standing
from tests.gateway.served import PLANTED_S


@pytest.mark.parametrize("revision", [NEWEST, OLDEST])
async def test_a_call_through_the_gateway_has_its_cost_and_a_late_one_is_seen(revision: str) -> None:
    plan = Plan(callers=4, calls=2, rate=16.0, rounds=1, revision=revision)
    async with standing() as (direct, through, service):
        found = await pair(direct, through, service, plan, charge="ch_1", idle_s=0.1)
        late = await pair(direct, through, service, plan, charge="late", turned=True, idle_s=0.1)
    assert len(found.direct_ms) == len(found.through_ms) == plan.callers * plan.calls
    assert found.processor_ms > 0
    assert min(late.through_ms) >= PLANTED_S * 1_000
