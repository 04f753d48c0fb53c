"""How many connections each network has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from daemon.web.clients import Clients, prefix_of
from daemon.web.problems import Problem, quota_exceeded

BUDGET = "network_connections"


class Networks:
    """Bounds the connections of a network; this machine's and a proxy's are those of many."""

    def __init__(self, clients: Clients, connections_max: int, exceeded: Callable[[str], None] | None) -> None:
        self._clients = clients
        self._max = connections_max
        self._exceeded = exceeded
        self._open: Counter[str] = Counter()

    def enter(self, address: str) -> str | None:
        """Count a connection, and return its network; None if it does not count.

        Problem beyond the budget.
        """
        if self._clients.is_near(address):
            return None
        network = prefix_of(address)
        if self._open[network] >= self._max:
            if self._exceeded is not None:
                self._exceeded(BUDGET)
            raise self._too_many()
        self._open[network] += 1
        return network

    def leave(self, network: str) -> None:
        self._open[network] -= 1
        if not self._open[network]:
            del self._open[network]

    def _too_many(self) -> Problem:
        return quota_exceeded(BUDGET, self._max, f"Your network has {self._max} connections already.")
