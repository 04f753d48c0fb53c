"""`make publishing`: publishes many versions of a process while runs of it start and go on.

Most runs are decided at once, one in ten stays parked until all is published. Right behind the last
answer the service is killed; then every version has to be there, and every run that was answered
has to end by its own version.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.service import Service, serving, together, write_templates

CALLERS = 8
KEPT_EVERY = 10
PATH = "/process-templates/petty-cash"
STARTS = {"vertical": "petty-cash", "inputs": {}}
PAGE = 200


def document(number: int) -> dict[str, Any]:
    """A process whose gate has the number of its version as its label."""
    gate = {"id": "signoff", "kind": "gate", "label": f"Sign-off {number}", "next": "done"}
    end = {"id": "done", "kind": "end", "label": "Done", "outcome": f"by-{number}"}
    return {"vertical": "petty-cash", "title": "Petty cash", "steps": [gate, end]}


async def answer(service: Service, method: str, path: str, body: Any = None) -> Any:
    """The body of an answer that is no refusal."""
    status, found = await service.send(method, path, body)
    assert status in {200, 201}, found
    return found


async def publish(service: Service, number: int) -> int:
    """Store a draft and publish it; the number of the version."""
    await answer(service, "PUT", f"{PATH}/draft", document(number))
    return int((await answer(service, "POST", f"{PATH}/publish"))["version"])


@dataclass
class Load:
    """Runs that start and go on while versions are published."""

    service: Service
    newest: int = 0
    going: bool = True
    done: int = 0
    parked: dict[str, int] = field(default_factory=dict)
    took_s: list[float] = field(default_factory=list)

    async def publish(self, number: int) -> None:
        """The next version counts from the answer on."""
        begun = time.monotonic()
        assert await publish(self.service, number) == number
        self.took_s.append(time.monotonic() - begun)
        self.newest = number

    async def call(self) -> None:
        """Start runs, each by no version older than the newest that was answered, and decide."""
        started = 0
        while self.going:
            least, started = self.newest, started + 1
            run = await answer(self.service, "POST", "/process-runs/", STARTS)
            version = run["template"]["version"]
            assert version >= least
            assert run["gate"]["label"] == f"Sign-off {version}"
            if started % KEPT_EVERY:
                await decide(self.service, run["id"], version)
                self.done += 1
            else:
                self.parked[run["id"]] = version


async def decide(service: Service, run_id: str, version: int) -> None:
    """Approve; the run ends by its own version."""
    over = await answer(service, "POST", f"/process-runs/{run_id}/resume", {"gate": "signoff", "decision": "approved"})
    assert (over["status"], over["outcome"], over["template"]["version"]) == ("completed", f"by-{version}", version)


async def published(folder: Path, count: int) -> Load:
    """Publish so many versions under load, kill the service, and see that nothing is lost."""
    async with serving(folder) as service:
        await service.register()
        load = Load(service)
        await load.publish(1)
        callers = [asyncio.create_task(load.call()) for _ in range(CALLERS)]
        for number in range(2, count + 1):
            await load.publish(number)
        load.going = False
        await asyncio.gather(*callers)
        await load.publish(count + 1)
        await service.kill()
    async with serving(folder, service.token) as service:
        assert await numbers(service) == list(range(count + 1, 0, -1))
        await together(decide(service, run_id, version) for run_id, version in load.parked.items())
    return load


async def numbers(service: Service) -> list[int]:
    """The numbers of all versions, as they are listed."""
    found: list[int] = []
    path = f"{PATH}/versions?limit={PAGE}"
    while path:
        async with service.session.get(
            service.address + path, headers={"Authorization": f"Bearer {service.token}"}
        ) as page:
            found += [one["version"] for one in await page.json()]
            following = page.links.get("next")
            path = "" if following is None else str(following["url"]).removeprefix(service.address)
    return found


async def main() -> int:
    """Print the figures; an assertion says what was lost."""
    parser = argparse.ArgumentParser(prog="make publishing", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000)
    count = parser.parse_args().count
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="penstock-publishing-") as name:
        write_templates(Path(name) / "templates")
        load = await published(Path(name), count)
    took = [round(1000 * one) for one in sorted(load.took_s)]
    print(f"{len(took):,} versions in {time.monotonic() - begun:.0f} s, half within {took[len(took) // 2]:,} ms,")
    print(f"the longest {took[-1]:,} ms; {load.done:,} runs were decided meanwhile, {len(load.parked):,} afterwards,")
    print(f"by {len(set(load.parked.values())):,} versions; none lost")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
