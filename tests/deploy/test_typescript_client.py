"""The client in TypeScript: packed, installed elsewhere, and used by node against the service."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
from aiohttp import web

from daemon import __version__
from tests.house.packages import ROOT
from tests.listening import Listener
from tests.programs import announced

PACKAGE = ROOT / "daemon" / "client" / "typescript"
MODULES = PACKAGE / "node_modules"
NODE, NPM = shutil.which("node"), shutil.which("npm")
needs_node = pytest.mark.skipif(
    NODE is None or NPM is None or not (MODULES / "typescript").exists(), reason="needs node, and make client"
)
SAID = ["409 gate_mismatch signoff", "completed authorized", "A-4 A-3 A-2 A-1"]
ONCE = """
import { createPenstock, value } from "penstock-client";
const api = createPenstock({ baseUrl: process.argv[2], token: "t", patience: { firstMs: 1 } });
const run = await value(api.POST("/process-runs/", { body: { vertical: "refund" } }));
const tested = await api.POST("/connectors/{tool_id}/test", { params: { path: { tool_id: "a" } }, body: {} });
console.log(run.id, tested.response.status);
"""


class Busy(Listener):
    """A server that is overloaded at first, loses the second answer, and notes the keys."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[tuple[str, str | None, str | None]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        key, bearer = request.headers.get("Idempotency-Key"), request.headers.get("Authorization")
        self.keys.append((request.path, key, bearer))
        if len(self.keys) == 2:
            assert request.transport is not None
            request.transport.abort()
        done = len(self.keys) == 3
        return web.json_response({"id": "run-1"}, status=201 if done else 503, headers={"Retry-After": "0"})


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as npm installs it, and the compiled example."""
    folder = tmp_path_factory.mktemp("typescript")
    tree = folder / "tree"
    own = shutil.ignore_patterns("node_modules", "dist", "contract.ts")
    shutil.copytree(PACKAGE, tree / "daemon" / "client" / "typescript", ignore=own)
    (tree / "docs").mkdir()
    shutil.copyfile(ROOT / "docs" / "openapi.json", tree / "docs" / "openapi.json")
    package = tree / "daemon" / "client" / "typescript"
    shutil.copytree(MODULES, package / "node_modules", symlinks=True)
    subprocess.run(("npm", "run", "--silent", "check"), cwd=package, check=True, capture_output=True, timeout=300)
    pack = ("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(folder))
    subprocess.run(pack, cwd=package, check=True, capture_output=True, timeout=60)
    (archive,) = folder.glob("penstock-client-*.tgz")
    shutil.unpack_archive(archive, folder / "node_modules", "gztar", filter="data")
    (folder / "node_modules" / "package").rename(folder / "node_modules" / "penstock-client")
    for name in ("openapi-fetch", "openapi-typescript-helpers"):
        shutil.copytree(MODULES / name, folder / "node_modules" / name)
    shutil.copyfile(package / "node_modules" / ".examples" / "run.js", folder / "run.mjs")
    (folder / "once.mjs").write_text(ONCE, encoding="utf-8")
    return folder


async def node(folder: Path, script: str, address: str) -> list[str]:
    process = await asyncio.create_subprocess_exec("node", script, address, cwd=folder, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    assert (process.returncode, err.decode()) == (0, "")
    return out.decode().splitlines()


@needs_node
async def test_the_example_drives_a_run_and_reads_a_list_of_several_pages(installed: Path, tmp_path: Path) -> None:
    serve = ("daemon", "serve", "--port", "0", "--data-dir", str(tmp_path), "--log-level", "error")
    async with announced(*serve, env={}) as (_, port):
        assert await node(installed, "run.mjs", f"http://127.0.0.1:{port}") == SAID


@needs_node
async def test_a_request_is_repeated_under_its_key_and_a_test_of_a_connector_never(installed: Path) -> None:
    async with Busy() as busy:
        assert await node(installed, "once.mjs", busy.url) == ["run-1 503"]
    started, tested = [one for one in busy.keys if one[0] == "/process-runs/"], busy.keys[3:]
    assert len(started) == 3
    assert len(set(started)) == 1
    assert started[0][1:] != (None, None)
    assert tested == [("/connectors/a/test", None, "Bearer t")]


def test_the_package_agrees_with_the_service_and_its_lock_names_no_address() -> None:
    about = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    lock = (PACKAGE / "package-lock.json").read_text(encoding="utf-8")
    assert about["version"] == __version__
    assert json.loads(lock)["packages"][""]["dependencies"] == about["dependencies"] == {"openapi-fetch": "0.17.0"}
    assert "://" not in lock
    page = json.loads((ROOT / "daemon" / "ui" / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    assert about["devDependencies"] == {name: page[name] for name in about["devDependencies"]}
