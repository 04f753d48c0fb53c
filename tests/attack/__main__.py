"""Attacks a service that it starts, in every way that it knows, and prints what came of it; exit 1
on a missed bar.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import tempfile
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.attack import logins, malformed, overload, places, slow, tokens
from tests.attack.flow import apart
from tests.attack.probes.catalog import PROBES
from tests.attack.probes.running import Bars, Row, probed, table
from tests.attack.report import Report, percentile
from tests.attack.service import attacked, mailing
from tests.seeds import drawn

try:
    from uvloop import new_event_loop
except ImportError:
    from asyncio import new_event_loop  # type: ignore[assignment]

CALM_S = 3.0
EACH, ALL = "probes", "all"
Attack = Callable[[Path, Report, argparse.Namespace], Awaitable[None]]


async def _slow(folder: Path, report: Report, given: argparse.Namespace) -> None:
    async with attacked(folder) as target:
        await slow.slow(target, report, given.connections, slow.Bounds())


async def _overload(folder: Path, report: Report, given: argparse.Namespace) -> None:
    # The connections of the generator wait for their turn, some of them for long.
    async with attacked(folder, keepalive_timeout_s="300") as target:
        with apart():
            await overload.overload(target, report, overload.Load(seconds=given.seconds))


async def _malformed(folder: Path, report: Report, given: argparse.Namespace) -> None:
    async with attacked(folder) as target:
        await malformed.malformed(target, report, given.count, drawn() if given.seed is None else given.seed)


async def _tokens(folder: Path, report: Report, _given: argparse.Namespace) -> None:
    async with attacked(folder) as target:
        await tokens.tokens(target, report)


async def _logins(folder: Path, report: Report, _given: argparse.Namespace) -> None:
    async with attacked(folder) as target:
        await asyncio.sleep(CALM_S)
        calm = time.monotonic() - CALM_S, time.monotonic()
        window = await logins.crowd(target, report, 10.0)
        await logins.enumeration(target, report, 200)
    before = list(target.lags_ms(*calm))
    report.told("loop lag before, p50 and p99", f"{percentile(before, 0.5):.2f} and {percentile(before, 0.99):.2f} ms")
    lags = list(target.lags_ms(*window))
    report.told("loop lag during log-ins, p50 and the most", f"{percentile(lags, 0.5):.2f} and {max(lags):.1f} ms")
    report.most("loop lag during log-ins, p99", percentile(lags, 0.99), logins.LAG_MS, " ms")


async def _forgotten(folder: Path, report: Report, _given: argparse.Namespace) -> None:
    async with mailing(folder) as target:
        await logins.forgotten(target, report, 400)


async def _invitations(folder: Path, report: Report, _given: argparse.Namespace) -> None:
    async with attacked(folder) as target:
        await logins.invitations(target, report, 400)


async def _places(folder: Path, report: Report, given: argparse.Namespace) -> None:
    await places.places(folder, report, given.place_seconds)


ATTACKS: dict[str, Attack] = {
    "slow": _slow,
    "overload": _overload,
    "malformed": _malformed,
    "tokens": _tokens,
    "logins": _logins,
    "forgotten": _forgotten,
    "invitations": _invitations,
    "places": _places,
}


async def _probe(name: str, folder: Path, report: Report, given: argparse.Namespace) -> Row:
    probes = [make() for key, make in PROBES.items() if name in {key, ALL}]
    seconds = given.all_seconds if name == ALL else given.probe_seconds
    try:
        return await probed(name, probes, folder, seconds, report, Bars())
    except Exception:  # noqa: BLE001 - the probes after it are to run, too
        traceback.print_exc()
        report.least(f"{name}: ran to its end", 0, 1)
        return Row(name)


def _asked(names: list[str]) -> list[str]:
    return [one for name in names for one in (PROBES if name == EACH else (name,))]


async def main() -> int:
    """Run the attacks that are asked for, one after the other."""
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("--only", choices=[*ATTACKS, *PROBES, ALL, EACH], action="append")
    parser.add_argument("--probe-seconds", type=float, default=8.0)
    parser.add_argument("--place-seconds", type=float, default=2.0)
    parser.add_argument("--all-seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--seed", type=int)
    given, report, rows = parser.parse_args(), Report(), list[Row]()
    with tempfile.TemporaryDirectory(prefix="penstock-attack-") as folder:
        for name in _asked(given.only or [*ATTACKS, EACH, ALL]):
            print(f"== {name}", flush=True)
            (own := Path(folder) / name).mkdir()
            began = time.monotonic()
            if name in ATTACKS:
                await ATTACKS[name](own, report, given)
            else:
                rows.append(await _probe(name, own, report, given))
            print(f"   took {time.monotonic() - began:.0f} s", flush=True)
    if rows:
        print(table(rows), flush=True)
    print("missed: " + "; ".join(report.missed) if report.missed else "every bar is held")
    return 1 if report.missed else 0


if __name__ == "__main__":
    gc.freeze()
    gc.set_threshold(50_000, 20, 1_000)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        sys.exit(runner.run(main()))
