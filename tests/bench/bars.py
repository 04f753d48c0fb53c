"""The goals, and whether the figures reach them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.bench.growth import GROWN_FROM, KINDS

GROWTH_MOST = 1.10
GROWN_MOST = 1.15
LANGGRAPH_LEAST = 10.0
DBOS_LEAST = 30.0
WATCHED_MOST = 0.05
CLIENT_SHARE_MOST = 0.9


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure, and what it has to be at least or at most."""

    what: str
    found: float
    bar: float
    least: bool

    @property
    def held(self) -> bool:
        """Whether it is."""
        return self.found >= self.bar if self.least else self.found <= self.bar

    @property
    def verdict(self) -> str:
        """The same as a word."""
        return "held" if self.held else "MISSED"

    @property
    def asked(self) -> str:
        """What is asked for, in words."""
        return f"{'at least' if self.least else 'at most'} {self.bar:g}"


def bars(figures: dict[str, Any]) -> list[Bar]:
    """Every bar whose figure is there."""
    readers = {"rounds": _rounds, "growth": _growth, "loops": _loops, "watching": _watching}
    return [bar for name, read in readers.items() if name in figures for bar in read(figures[name])]


def _rounds(rounds: dict[str, Any]) -> Iterator[Bar]:
    failed = sum(one[kind]["failed"] for one in rounds["connections"].values() for kind in one)
    yield Bar("requests that failed", failed, 0, False)


def _growth(growth: dict[str, Any]) -> Iterator[Bar]:
    smallest, *_, largest = growth["sizes"]
    for kind in KINDS if smallest < GROWN_FROM else ():
        what = f"{kind.replace('_', ' ')}, processor time with {largest:,} runs in that with {smallest:,}"
        yield Bar(what, growth["kinds"][kind][str(largest)]["cpu_times"], GROWTH_MOST, False)
    before = GROWN_FROM if GROWN_FROM in growth["sizes"] else smallest
    for name, by_size in grown(growth).items():
        what = f"{name}, with {largest:,} runs in those with {before:,}"
        yield Bar(what, by_size[str(largest)]["grown"], GROWN_MOST, False)
    failed = sum(one["failed"] for by_size in growth["kinds"].values() for one in by_size.values())
    yield Bar("requests to stored runs that failed", failed, 0, False)


def grown(growth: dict[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    """By name and size the processor time of a request, a start-up, and a run that is backed up or
    verified, in µs, and that in the one from which nothing may grow.
    """
    sizes = growth["sizes"]
    before = str(GROWN_FROM if GROWN_FROM in sizes else sizes[0])
    found = {f"{kind.replace('_', ' ')}, µs": by_size for kind, by_size in growth["kinds"].items()}
    startup = {size: one["cpu_s"] * 1e6 for size, one in growth["startup"]["sizes"].items()}
    others = {"start-up, µs": startup}
    for name in ("backup", "verify"):
        others[f"{name}, µs a run"] = {size: one[f"{name}_us"] for size, one in growth["linear"].items()}
    for name, by_size in others.items():
        found[name] = {size: {"cpu_us": us, "grown": us / by_size[before]} for size, us in by_size.items()}
    return found


def _loops(loops: dict[str, Any]) -> Iterator[Bar]:
    """Against each engine as it comes, and against its fastest way."""
    for name, title, least in (("langgraph", "LangGraph", LANGGRAPH_LEAST), ("dbos", "DBOS", DBOS_LEAST)):
        ways = [one["times"] for way, one in loops["loops"].items() if way.startswith(name)]
        what = f"loops over HTTP, in {title}'s in process, {loops['callers']} callers"
        if ways:
            yield Bar(f"{what}, as it comes", ways[0], least, True)
            yield Bar(f"{what}, its fastest way", min(ways), least, True)


def _watching(watching: dict[str, Any]) -> Iterator[Bar]:
    for kind, cost in watching["usual"].items():
        yield Bar(f"{kind}, processor time that the access log and the figures add", cost["more"], WATCHED_MOST, False)


def unsound(figures: dict[str, Any]) -> list[str]:
    """What makes the figures of less worth than they look."""
    said = [
        f"{name} was measured in a form that says little of speed: {plan}"
        for name, plan in figures.get("plans", {}).items()
        if plan != "full"
    ]
    busy = figures.get("machine", {}).get("busy_before", 0.0)
    if busy > WATCHED_MOST:
        said.append(f"the machine was not quiet: others used {busy:.0%} of it before anything was measured")
    for kind, cost in figures.get("watching", {}).get("again", {}).items():
        if abs(cost["more"]) > WATCHED_MOST:
            said.append(f"two services without observability differ: {kind}, processor time {cost['more']:+.1%}")
    for connections, kinds in figures.get("rounds", {}).get("connections", {}).items():
        for kind, cost in kinds.items():
            if cost["client_share"] > CLIENT_SHARE_MOST:
                share = f"{cost['client_share']:.0%} of a processor"
                said.append(f"the client may have been what was slow: {kind} at {connections} connections, {share}")
    for name, why in figures.get("loops", {}).get("skipped", {}).items():
        said.append(f"{name} was skipped: {why}")
    if "skipped" in figures.get("layers", {}):
        said.append(f"no profile: {figures['layers']['skipped']}")
    return said
