"""`python -m tests.attack.hosted FILE`: the service as `penstock serve` runs it, beside a meter of
its loop's lag.
"""

from __future__ import annotations

import asyncio
import sys
import time
from array import array
from contextlib import suppress
from pathlib import Path

from daemon.app import serve
from daemon.observability import logs
from daemon.settings import Settings

try:
    from uvloop import new_event_loop
except ImportError:
    from asyncio import new_event_loop  # type: ignore[assignment]

EVERY_S = 0.005
KEPT_MAX = 400_000


async def _measure(found: array[float]) -> None:
    """Note how much later than asked the loop woke this, all the time."""
    while len(found) < KEPT_MAX:
        due = time.monotonic() + EVERY_S
        await asyncio.sleep(EVERY_S)
        now = time.monotonic()
        found.extend((now, now - due))


def _keep(found: array[float], path: Path) -> None:
    pairs = zip(found[::2], found[1::2], strict=True)
    path.write_text("".join(f"{at:.6f} {lag_s:.6f}\n" for at, lag_s in pairs), encoding="ascii")


def _announce(address: str) -> None:
    sys.stdout.write(f"Ready at {address}\n")
    sys.stdout.flush()


async def _main(path: Path) -> int:
    found = array("d")
    meter = asyncio.get_running_loop().create_task(_measure(found))
    settings = Settings()
    logs.configure(settings.log_level)
    try:
        return await serve(settings, _announce)
    finally:
        meter.cancel()
        with suppress(asyncio.CancelledError):
            await meter
        _keep(found, path)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        sys.exit(runner.run(_main(Path(sys.argv[1]))))
