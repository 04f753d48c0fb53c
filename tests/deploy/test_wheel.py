"""The wheel of the service: installed beside what it needs and nothing else, it has its page, its
templates and its schema.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from asyncio.subprocess import PIPE
from importlib import metadata
from pathlib import Path

import aiohttp
import pytest

from tests.crash.service import PERSON, READY
from tests.deploy.environments import Environment, closure
from tests.house.packages import ROOT
from tests.programs import stopped
from tests.shelf import shipped

WHERE = "import actors, daemon, sys; print(actors.__file__, daemon.__file__)"


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    build = (sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "dist"))
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = (tmp_path / "dist").glob("penstockd-*.whl")
    environment = Environment(tmp_path / "environment")
    environment.install(wheel)
    environment.lend(*(closure("penstockd") - {"penstockd"}))
    return environment


async def test_the_installed_program_serves_its_page_and_its_templates(
    environment: Environment, tmp_path: Path
) -> None:
    assert "uvloop" not in environment.installed()  # an extra: the service works without
    assert {Path(path).parents[1] for path in (await environment.run(WHERE)).split()} == {environment.packages}
    program = environment.python.with_name("penstock")
    serve = (program, "serve", "--port", "0", "--data-dir", tmp_path / "data", "--log-level", "error")
    process = await asyncio.create_subprocess_exec(*serve, stdout=PIPE, env={}, cwd=tmp_path)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            address = (await process.stdout.readline()).decode().removeprefix(READY).strip()
        async with aiohttp.ClientSession(address) as session:
            async with session.get("/") as answer:
                page = await answer.text()
            assets = re.findall(r'(?:src|href)="(/assets/[^"]+)"', page)
            assert len(assets) >= 3
            for asset in assets:
                async with session.get(asset) as answer:
                    assert (answer.status, len(await answer.read()) > 100) == (200, True)
            async with session.post("/auth/register", json=PERSON) as answer:
                session.headers["Authorization"] = f"Bearer {(await answer.json())['token']}"
            async with session.get("/process-templates/") as answer:
                assert len(await answer.json()) == len(shipped())
    finally:
        await stopped(process)


def test_the_wheel_brings_units_and_documentation_and_no_source_of_the_page(environment: Environment) -> None:
    (found,) = metadata.distributions(name="penstockd", path=[str(environment.packages)])
    names = {str(file) for file in found.files or ()}
    tails = (
        "systemd/system/penstock.service",
        "share/doc/penstock/guides/install.md",
        "daemon/web/static/index.html",
    )
    for tail in tails:
        assert any(name.endswith(tail) for name in names), tail
    assert [name for name in names if name.startswith(("daemon/ui", "daemon/client/typescript", "tests"))] == []
    assert "daemon/client/pyproject.toml" not in names
