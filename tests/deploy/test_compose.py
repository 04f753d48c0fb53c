"""compose.yaml: what it promises, what it names, and its cluster without an engine: a real nginx
with its configuration, in front of three daemons with its settings on one PostgreSQL.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from daemon.settings import KEY_FILES, Settings, key_file_name
from tests.crash.service import PERSON, command, environment
from tests.deploy.dockerfile import stages
from tests.house.packages import ROOT
from tests.postgres import Server, free_port
from tests.programs import announced, stopped
from tests.proxies.behind import changed, program

FILE = ROOT / "compose.yaml"
NGINX = ROOT / "docs" / "deploy" / "nginx.conf"
GUIDE = (ROOT / "docs" / "guides" / "install.md").read_text(encoding="utf-8")
DOCUMENT: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = DOCUMENT["services"]
DAEMONS = {name: one for name, one in SERVICES.items() if name.startswith("daemon-")}
OURS = {name: one for name, one in SERVICES.items() if "build" in one}


def test_the_service_starts_alone_and_the_rest_with_its_profile() -> None:
    assert [name for name, one in SERVICES.items() if "profiles" not in one] == ["penstock"]
    assert {profile for one in SERVICES.values() for profile in one.get("profiles", ())} == {"cluster"}
    assert set(SERVICES) == {"penstock", "keys", "database", "daemon-1", "daemon-2", "daemon-3", "proxy"}
    assert set(SERVICES["proxy"]["depends_on"]) == set(DAEMONS)


@pytest.mark.parametrize("name", SERVICES)
def test_no_container_has_rights_or_writes_to_its_root(name: str) -> None:
    one = SERVICES[name]
    assert one["read_only"] is True
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices", "pid", "ipc"} & one.keys()
    assert "build" in one or one["user"] in {"postgres", "nginx"}  # the image of the service says its user itself
    assert re.fullmatch(r"[a-z]+:\d[\w.-]*", one["image"])
    assert all(port.startswith("127.0.0.1:") for port in one.get("ports", ()))


def test_the_database_is_in_a_network_that_reaches_nothing_and_the_proxy_is_not_in_it() -> None:
    networks = yaml.safe_load(FILE.read_text(encoding="utf-8"))["networks"]
    assert networks["database"] == {"internal": True}
    assert SERVICES["database"]["networks"] == ["database"]
    assert SERVICES["proxy"]["networks"] == ["cluster"]
    assert {tuple(SERVICES[name]["networks"]) for name in DAEMONS} == {("cluster", "database")}


def test_every_container_that_stays_has_a_health_check() -> None:
    own = {name for name, one in SERVICES.items() if "test" in one.get("healthcheck", {})}
    of_the_image = {name for name, one in OURS.items() if "healthcheck" not in one}
    assert {instruction.name for instruction in stages()[-1]} >= {"HEALTHCHECK"}
    assert own | of_the_image == set(SERVICES) - {"keys"}
    waits = {(on, how["condition"]) for one in SERVICES.values() for on, how in one.get("depends_on", {}).items()}
    assert waits == {("keys", "service_completed_successfully"), ("database", "service_healthy")} | {
        (name, "service_healthy") for name in DAEMONS
    }


def test_every_variable_is_a_setting_and_no_secret_stands_in_one() -> None:
    for name, one in OURS.items():
        given = {variable.removeprefix("PENSTOCK_").lower() for variable in one.get("environment", {})}
        assert given <= set(Settings.model_fields), name
    assert "PASSWORD_FILE" in str(SERVICES["database"]["environment"])
    assert not re.search(r"PASSWORD:|:[^/@\s]+@", FILE.read_text(encoding="utf-8"))


def test_the_daemons_are_alike_and_share_the_key_files_that_are_made_once() -> None:
    first, *others = DAEMONS.values()
    assert all(other == first for other in others)
    variables, files = first["environment"], set[str]()
    for setting in KEY_FILES.values():
        path = Path(variables[f"PENSTOCK_{setting.upper()}"])
        files.add(path.name)
        assert f"{path.name}" == key_file_name(setting)
        assert f"keys:{path.parent}:ro" in first["volumes"]
    assert len(files) == len(KEY_FILES)
    folder = SERVICES["keys"]["command"][-1]
    assert SERVICES["keys"]["command"][:2] == ["keys", "create"]
    assert SERVICES["keys"]["volumes"] == [f"keys:{folder}"]
    (owned,) = (one.text for one in stages()[-1] if one.name == "VOLUME")
    assert folder == owned  # a new volume takes the owner of that folder of the image


def test_every_file_that_it_names_is_in_the_tree_or_made_as_the_guide_says() -> None:
    mounted = [volume.split(":")[0] for one in SERVICES.values() for volume in one.get("volumes", ())]
    paths = [name for name in mounted if name.startswith(".")] + [one["build"] for one in OURS.values()]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert {name for name in mounted if not name.startswith(".")} == set(DOCUMENT["volumes"])
    (secret,) = (one["file"] for one in DOCUMENT["secrets"].values())
    assert secret.removeprefix("./") in GUIDE
    assert subprocess.run(("git", "check-ignore", "--quiet", secret), cwd=ROOT, check=False).returncode == 0
    for one in SERVICES.values():
        assert set(one.get("secrets", ())) <= set(DOCUMENT["secrets"])


def test_docker_compose_finds_nothing_wrong_with_it(capfd: pytest.CaptureFixture[str]) -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run((docker, "compose", "version"), capture_output=True, check=False).returncode:
        with capfd.disabled():
            print("\nThere is no docker compose here: compose.yaml is judged by our own tests alone", file=sys.stderr)
        return
    checked = subprocess.run(
        (docker, "compose", "--file", FILE, "--profile", "cluster", "config", "--quiet"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def proxied(folder: Path, listen: int, ports: list[int]) -> list[str]:
    """The proxy's command with its own configuration, but for names and addresses of containers."""
    text = re.sub(r"^ *resolver .*\n", "", NGINX.read_text(encoding="utf-8"), flags=re.MULTILINE).replace(
        " resolve;", ";"
    )
    names = {f"server{n}": (f"{name}:8080", f"127.0.0.1:{ports[n]}") for n, name in enumerate(sorted(DAEMONS))}
    text = changed(text, **names, port=("listen 8080;", f"listen 127.0.0.1:{listen};"))
    (folder / "nginx.conf").write_text(text.replace("/tmp/", f"{folder}/"), encoding="utf-8")  # noqa: S108
    where, (_, *arguments) = program("nginx"), SERVICES["proxy"]["entrypoint"]
    given = ["-c", str(folder / "nginx.conf"), "-p", str(folder)]
    assert arguments == ["-e", "stderr", "-c", "/etc/penstock/nginx.conf"]
    return [str(where), "-e", "stderr", *given]


async def settings_of_a_daemon(folder: Path, url: str) -> dict[str, str]:
    """The variables of a daemon, with the paths and the address of this machine."""
    given = dict(DAEMONS["daemon-1"]["environment"])
    (folder / "password").write_text("unasked", encoding="utf-8")
    await command("keys", "create", str(folder / "keys"), env=environment(folder))
    given["PENSTOCK_DATABASE_URL"] = url
    given["PENSTOCK_DATABASE_PASSWORD_FILE"] = str(folder / "password")
    given["PENSTOCK_TRUSTED_PROXIES"] = "127.0.0.1"
    return {name: value.replace("/keys/", f"{folder}/keys/") for name, value in given.items()}


async def verdicts(address: str) -> list[int]:
    """Drive runs through the proxy, each request on a connection of its own."""
    found = []
    async with aiohttp.ClientSession(address, connector=aiohttp.TCPConnector(force_close=True)) as session:
        async with session.post("/auth/register", json=PERSON) as answer:
            session.headers["Authorization"] = f"Bearer {(await answer.json())['token']}"
        for _ in range(3):
            async with session.post("/process-runs/", json={"vertical": "refund", "inputs": {}}) as answer:
                run = await answer.json()
            verdict = {"gate": run["parked_at"], "decision": "denied", "digest": run["gate"]["digest"]}
            async with session.post(f"/process-runs/{run['id']}/resume", json=verdict) as answer:
                found.append(answer.status)
    return found


async def test_three_daemons_share_the_work_behind_the_proxy(
    postgres: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if program("nginx") is None:
        pytest.skip("There is no nginx here: apt-get install nginx")
    given, listen = await settings_of_a_daemon(tmp_path, await postgres.made()), free_port()
    async with AsyncExitStack() as stack:
        logs = [tmp_path / f"log-{number}" for number in range(3)]
        serve = ("daemon", "serve", "--port", "0", "--data-dir")
        starting = [
            announced(
                *serve,
                str(tmp_path / log.name.replace("log", "data")),
                env={**given, "PENSTOCK_ACCESS_LOG": "all"},
                log=log,
            )
            for log in logs
        ]
        ports = [(await stack.enter_async_context(one))[1] for one in starting]
        nginx = await asyncio.create_subprocess_exec(*proxied(tmp_path, listen, ports), env=dict(os.environ))
        stack.push_async_callback(stopped, nginx)
        address = f"http://127.0.0.1:{listen}"
        await until_healthy(address)
        assert await verdicts(address) == [200, 200, 200]
        lines = [[json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] for log in logs]
        assert [any(line.get("path", "").startswith("/process-runs") for line in one) for one in lines] == [True] * 3


async def until_healthy(address: str) -> None:
    async with aiohttp.ClientSession(address) as session, asyncio.timeout(30):
        while True:
            try:
                async with session.get("/health") as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.01)
