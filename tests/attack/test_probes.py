"""The short form of each probe: smaller, and beside bars that a busy machine does not break.

What is counted is not loose: calls for one visit, refusals, memory, faults in the log.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attack.probes.answers import RULES, Charsets, Masking, Signals
from tests.attack.probes.bodies import CompanyBodies, LoginBodies
from tests.attack.probes.connections import Connections
from tests.attack.probes.documents import Documents
from tests.attack.probes.evaluations import Evaluations
from tests.attack.probes.pauses import Pauses
from tests.attack.probes.people import Guessers, Registrations, Relay
from tests.attack.probes.running import Bars, probed
from tests.attack.probes.runs import LargeRuns, Lists, Schemas
from tests.attack.probes.world import Probe
from tests.attack.report import Report

SECONDS = 2.5
LOOSE = Bars(health_ms=1_500.0, other_ms=3_000.0, stalls=4, normal_s=1.0, normal_ms=1_000.0, calm_s=0.5)


@pytest.mark.parametrize(
    "probe",
    [
        LoginBodies(burst=16),
        CompanyBodies(),
        Signals(rules=RULES[:2]),
        Charsets(),
        Masking(),
        Lists(readers=24),
        LargeRuns(between_s=0.0),
        Schemas(),
        Connections(each=200),
        Guessers(guessers=30),
        Relay(),
        Registrations(),
        Pauses(),
        Documents(),
        Evaluations(),
    ],
    ids=lambda probe: probe.name,
)
async def test_nobody_else_notices(tmp_path: Path, probe: Probe) -> None:
    report = Report()
    await probed(probe.name, [probe], tmp_path, SECONDS, report, LOOSE)
    assert report.missed == []
