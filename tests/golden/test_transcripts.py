"""The scenarios beside this are played again, and nothing in them may change unnoticed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.core.gate_policy import Escalation
from tests.golden.processes import PROCESSES, SHIPPED
from tests.golden.transcript import transcript

SCENARIOS = sorted(Path(__file__).parent.rglob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_conversation_goes_as_it_is_written_down(path: Path) -> None:
    scenario = path.read_text(encoding="utf-8")
    today = transcript(scenario)
    if os.environ.get("PENSTOCK_UPDATE_GOLDEN") == "1":
        path.write_text(today, encoding="utf-8")
    else:
        assert today == scenario


def test_every_process_has_a_scenario() -> None:
    told = {line.removeprefix("process ") for path in SCENARIOS for line in path.read_text().splitlines()}
    assert (set(PROCESSES) | set(SHIPPED)) - told == set()


@pytest.mark.parametrize("vertical", sorted(SHIPPED))
def test_every_shipped_process_has_its_main_path_a_denial_and_its_clock(vertical: str) -> None:
    told = (Path(__file__).parent / "shipped" / f"{vertical}.txt").read_text(encoding="utf-8")
    ends = {line for line in told.splitlines() if line.startswith("    run_ended")}
    assert len(ends) > 1
    clocks = (node.policy.on_deadline for node in SHIPPED[vertical].nodes if node.gate)
    if any(isinstance(one, Escalation) for one in clocks):
        assert "    gate_escalated" in told
