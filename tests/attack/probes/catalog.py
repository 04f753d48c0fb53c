"""All probes by name."""

from __future__ import annotations

from collections.abc import Callable

from tests.attack.probes.answers import Charsets, Masking, Signals
from tests.attack.probes.bodies import CompanyBodies, LoginBodies
from tests.attack.probes.connections import Connections
from tests.attack.probes.documents import Documents
from tests.attack.probes.evaluations import Evaluations
from tests.attack.probes.pauses import Pauses
from tests.attack.probes.people import Guessers, Registrations, Relay
from tests.attack.probes.runs import LargeRuns, Lists, Schemas
from tests.attack.probes.world import Probe

PROBES: dict[str, Callable[[], Probe]] = {
    probe.name: probe
    for probe in (
        LoginBodies,
        CompanyBodies,
        Signals,
        Charsets,
        Masking,
        Lists,
        LargeRuns,
        Schemas,
        Connections,
        Guessers,
        Relay,
        Registrations,
        Pauses,
        Documents,
        Evaluations,
    )
}
