"""The rig in short: few agents, daemons that are killed, and faults planted in what was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.postgres import Server
from tests.swarm.checker import faults
from tests.swarm.plants import missed
from tests.swarm.rig import Rig, Size


@pytest.mark.parametrize("daemons", [1, 2])
async def test_no_call_is_made_twice_or_without_consent_or_lost(tmp_path: Path, postgres: Server, daemons: int) -> None:
    outcome = await Rig(tmp_path, Size(120, 8, daemons), postgres if daemons > 1 else None).perform()
    assert faults(outcome.notes) == {}
    assert missed(outcome.notes, few=True) == []
    assert outcome.kills
    assert outcome.notes.arrivals
    assert not outcome.out_of_time
