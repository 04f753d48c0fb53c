"""Many verdicts on each of many gates at once, over all daemons: exactly one 200 each."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from tests.cluster.cluster import Cluster
from tests.linear.crowd import GATE
from tests.load.__main__ import contended
from tests.load.pump import Shot, fire, wire

CONNECTIONS = 32


@dataclass
class Once:
    """How the gates were closed."""

    gates: int
    callers: int
    wrong: int = 0
    took_s: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def sound(self) -> bool:
        """Whether each was closed by exactly one verdict, and everybody else was told so."""
        return not self.wrong and set(self.statuses) <= {200, 409}

    def __str__(self) -> str:
        answers = ", ".join(f"{times:,} x {status or 'no answer'}" for status, times in self.statuses.most_common())
        return (
            f"crowded           {self.gates - self.wrong:,} of {self.gates:,} gates closed exactly once by "
            f"{self.callers} callers over {CONNECTIONS} connections, in {self.took_s:,.0f} s: {answers}"
        )


async def closed_once(cluster: Cluster, gates: int, callers: int) -> Once:
    """Start runs, and decide on each many times at once; each connection ends at one of the
    daemons.
    """
    for daemon in cluster.daemons:
        await daemon.ready()
    port, token, once = cluster.balancer.port, cluster.token, Once(gates, callers)
    headers = {"Authorization": f"Bearer {token}"}
    start = Shot(None, wire("POST", "/process-runs/", b'{"vertical": "held"}', headers))
    begun = time.monotonic()
    started = await fire(port, (start for _ in range(gates)), CONNECTIONS)
    run_ids = [_id(hit.body) for hit in started.hits if hit.status == 201]
    assert len(run_ids) == gates, Counter(hit.status for hit in started.hits)
    fought = await fire(port, contended(run_ids, callers, token), CONNECTIONS)
    by_gate: dict[str, Counter[int]] = {}
    for hit in fought.hits:
        by_gate.setdefault(hit.tag, Counter())[hit.status] += 1
        once.statuses[hit.status] += 1
    once.wrong = sum(found != Counter({200: 1, 409: callers - 1}) for found in by_gate.values())
    once.took_s = time.monotonic() - begun
    return once


def _id(body: bytes) -> str:
    return body.split(b'"id":"', 1)[1].split(b'"', 1)[0].decode()


assert GATE == "signoff"
