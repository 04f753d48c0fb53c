"""The rig in short: the service is killed a few times under load, and nothing that it answered is
lost.
"""

from __future__ import annotations

from pathlib import Path

from tests.crash.conductor import Conductor


async def test_a_few_kills_under_load_lose_nothing(tmp_path: Path) -> None:
    outcome = await Conductor(tmp_path, "short", clients=8, period_s=1.5).perform(
        seconds=0, kills_min=3, new_folder=False
    )
    assert outcome.sound, outcome
    assert outcome.kills == 3
    assert outcome.figures["verdicts acknowledged"] > 0
