"""The distribution penstock-client: built, installed beside aiohttp and pydantic alone, and used
against the service.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

from daemon import __version__, client
from tests.deploy.environments import Environment, closure
from tests.house.packages import ROOT, laid_out
from tests.programs import announced

WITH_ASYNCIO = """
import asyncio, json, sys
from penstock_client import Penstock, Problem

async def main():
    async with Penstock(sys.argv[1]) as api:
        await api.register("ada@ada.test", "correct horse", "Ada inc")
        run = await api.start("prior-auth", inputs=(await api.template("prior-auth")).inputs)
        refused = ""
        try:
            await api.resume(run.id, gate="elsewhere", decision="approved")
        except Problem as problem:
            refused = problem.code
        while run.gate is not None:
            run = await api.resume(run.id, gate=run.gate.step_id, decision="approved", digest=run.gate.digest)
        seen = [event.seq async for event in api.watch(run.id)]
    print(json.dumps([refused, run.status, run.outcome, seen == list(range(1, run.version + 1))]))

asyncio.run(main())
"""
WITHOUT_ASYNCIO = """
import json, sys
from penstock_client import SyncPenstock

with SyncPenstock(sys.argv[1]) as api:
    api.register("bob@bob.test", "correct horse", "Bob inc")
    run = api.start("prior-auth", inputs=api.template("prior-auth").inputs)
    waiting = [one.run_id for one in api.gates(mine=True)]
    while run.gate is not None:
        run = api.resume(run.id, gate=run.gate.step_id, decision="approved", digest=run.gate.digest)
    api.calendar(api.me().company.id)
print(json.dumps([waiting == [run.id], run.status, run.outcome]))
"""
EVERYTHING = """
import importlib, json, pkgutil, penstock_client, sys
names = [one.name for one in pkgutil.walk_packages(penstock_client.__path__, "penstock_client.")]
for name in names:
    importlib.import_module(name)
print(json.dumps([len(names), penstock_client.__all__, penstock_client.Penstock.__module__]))
print(json.dumps(sorted(name for name in ("actors", "daemon") if name in sys.modules)))
"""


def project(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    return found


def build(tree: Path, folder: Path) -> Path:
    command = (sys.executable, "-m", "hatchling", "build", "--directory", str(folder))
    subprocess.run(command, cwd=tree, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("penstock_client-*.whl")
    return wheel


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment with the client's wheel, and what that needs."""
    (tree := tmp_path / "tree").mkdir()
    wheel = build(laid_out(ROOT, tree), tmp_path / "dist")
    environment = Environment(tmp_path / "environment")
    environment.install(wheel)
    environment.lend("aiohttp", "pydantic")
    return environment


async def test_it_needs_aiohttp_and_pydantic_and_nothing_of_the_service(environment: Environment) -> None:
    assert environment.installed() == {"penstock-client", *closure("aiohttp", "pydantic")}
    about, modules = map(json.loads, (await environment.run(EVERYTHING)).splitlines())
    assert (about[0] > 20, about[1], about[2]) == (True, client.__all__, "penstock_client.api")
    assert modules == []


async def test_it_drives_a_run_with_asyncio_and_without(environment: Environment, tmp_path: Path) -> None:
    serve = ("daemon", "serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--log-level", "error")
    async with announced(*serve, env={}) as (_, port):
        address = f"http://127.0.0.1:{port}"
        first = json.loads(await environment.run(WITH_ASYNCIO, address))
        assert first == ["gate_mismatch", "completed", "authorized", True]
        second = json.loads(await environment.run(WITHOUT_ASYNCIO, address))
        assert second == [True, "completed", "authorized"]


def test_its_source_distribution_builds_the_same_wheel(tmp_path: Path) -> None:
    (tree := tmp_path / "tree").mkdir()
    wheel = build(laid_out(ROOT, tree), tmp_path / "dist")
    (archive,) = (tmp_path / "dist").glob("penstock_client-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    assert build(source, tmp_path / "again").read_bytes() == wheel.read_bytes()


def test_its_metadata_agrees_with_that_of_the_service() -> None:
    service, own = project(ROOT / "pyproject.toml"), project(ROOT / "daemon" / "client" / "pyproject.toml")
    assert own["version"] == __version__
    assert [own[name] for name in ("license", "requires-python")] == [
        service[name] for name in ("license", "requires-python")
    ]
    floors = {one.split(",")[0] for one in service["dependencies"]}
    assert [one for one in own["dependencies"] if one.split(",")[0] not in floors] == []
