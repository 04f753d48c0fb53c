"""How much is measured: the full form, and a short one that shows only that everything works."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Plan:
    """How often, how long and how many; every part is bounded by it."""

    rounds: int = 5
    seconds: float = 1.5
    connections: tuple[int, ...] = (1, 64, 256)
    held_at: int = 64
    ways: tuple[str, ...] = ("neither", "again", "figures", "usual", "all")
    watch_passes: int = 4
    watch_rounds: int = 12
    watch_seconds: float = 0.2
    callers: int = 32
    loop_rounds: int = 3
    loop_seconds: float = 5.0
    profile_seconds: float = 6.0
    live: int = 10_000
    sizes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    startup_runs: int = 100_000
    startup_rounds: int = 3
    growth_rounds: int = 8
    growth_requests: int = 400
    pages: int = 500
    syncs: int = 200
    installs: bool = True
    kept: Path | None = None
    """Where the folders of stored runs are kept, and taken from; None for none."""


FULL = Plan()
TRIAL = Plan(
    rounds=2,
    seconds=0.7,
    watch_passes=2,
    watch_rounds=3,
    watch_seconds=0.2,
    loop_rounds=1,
    loop_seconds=3.0,
    profile_seconds=3.0,
    live=2_000,
    sizes=(1_000, 10_000),
    startup_runs=10_000,
    startup_rounds=1,
    growth_rounds=4,
    growth_requests=200,
)
SHORT = Plan(
    rounds=1,
    seconds=0.2,
    connections=(1, 4),
    held_at=4,
    ways=("neither", "usual"),
    watch_passes=1,
    watch_rounds=1,
    watch_seconds=0.1,
    callers=4,
    loop_rounds=1,
    loop_seconds=0.3,
    profile_seconds=0.5,
    live=50,
    sizes=(20, 60),
    startup_runs=60,
    startup_rounds=1,
    growth_rounds=1,
    growth_requests=10,
    pages=5,
    syncs=5,
    installs=False,
)
PLANS = {"full": FULL, "trial": TRIAL, "short": SHORT}
