"""`make schemathesis`: start a service on throw-away data, have schemathesis try every operation,
stop the service.

Every operation is tried as somebody with a token. What keeps that token from the rest is tried by
itself and last: the policy, which may ask for a second factor, and the log-out.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.crash.service import Service, serving, write_templates

CONFIG = Path(__file__).parent / "schemathesis.toml"
LIMIT_S = 900
SEED = 20_260_101
LAST = ("/companies/{company_id}/policy", "/auth/logout")


async def tried(program: Path, folder: Path, service: Service, examples: int, which: Sequence[str]) -> int:
    """The exit code of schemathesis, once it has tried some of the operations; its words go to the
    terminal.
    """
    words = [
        *("--config-file", str(CONFIG), "--no-color", "run", f"{service.address}/openapi.json"),
        *("--header", f"Authorization: Bearer {service.token}"),
        *("--max-examples", str(examples), "--seed", str(SEED), "--workers", "1"),
        *("--continue-on-failure", *which),
    ]
    process = await asyncio.create_subprocess_exec(program, *words, cwd=folder)
    try:
        return await asyncio.wait_for(process.wait(), LIMIT_S)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def main(program: Path, examples: int) -> int:
    """Try all operations; 0 when no check failed."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="penstock-schemathesis-") as name:
        folder = Path(name)
        write_templates(folder / "templates")
        async with serving(folder, egress_allow="", egress_hosts="nowhere.invalid") as service:
            await service.register()
            rest = [word for path in LAST for word in ("--exclude-path", path)]
            parts = (rest, *(("--include-path", path) for path in LAST))
            codes = [await tried(program, folder, service, examples, which) for which in parts]
            stands = (await service.send("GET", "/health"))[0] == 200
    failed = sum(code != 0 for code in codes) + (not stands)
    print(
        f"schemathesis: {examples} examples for each operation, {failed} of {len(parts)} parts with a failed check, ",
        end="",
    )
    print(f"service {'well' if stands else 'not well'} after it, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="schemathesis, in an environment of its own")
    parser.add_argument("--examples", type=int, default=50)
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.program.absolute(), options.examples)))
