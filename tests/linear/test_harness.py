"""The harness in short: concurrent verdicts, callers without patience and a kill leave every record
linearizable.
"""

from __future__ import annotations

from pathlib import Path

from tests.linear.crowd import Shares
from tests.linear.harness import Harness


async def test_the_record_of_every_gate_is_linearizable(tmp_path: Path) -> None:
    outcome = await Harness(tmp_path, gates=60, callers=20, kills=1, shares=Shares(hasty=0.05, hasty_s=0.005)).perform()
    assert not outcome.faults, outcome
    assert (outcome.gates, outcome.decided, outcome.kills) == (60, 60, 1)
    assert outcome.statuses[409] > outcome.statuses[200]
    assert outcome.statuses[0] > 0
