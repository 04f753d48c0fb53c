"""The installation guide, followed to the letter in a folder that stands for /."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from typer.main import get_command

from daemon.cli import app
from daemon.keys.keyring import read_ring
from daemon.settings import Settings
from tests.crash.confined import confinable
from tests.crash.service import PERSON, command, environment
from tests.crash.supervised import Manager, listener, supervised
from tests.house.units import UNITS, said

ROOT = UNITS.parent
KEY_FILES = ("jwt.keys", "vault.key", "audit.keys", "commit.keys")
GUIDES = ROOT / "docs" / "guides"
GUIDE = "\n".join((GUIDES / f"{name}.md").read_text(encoding="utf-8") for name in ("install", "upgrade"))
SHIM = """#!/bin/sh
echo "$(basename "$0") $*" >> {root}/called
"""
RULES = """
import asyncio
from actors.ports import Asker
from daemon.evaluation.evaluator import Signals
from daemon.evaluation.evaluator import Evaluator
from daemon.runtime.offload import Offload

async def read():
    evaluator = Evaluator(Offload())
    signals, endless = Signals(evaluator), {"s": "a" * 100_000, "p": "(a?){100}" * 900}
    found = [
        await signals.value(Asker("acme"), "[response.body].map(x, x)[0]", 200, 7, 1),
        await signals.value(Asker("acme"), "response.body.s.matches(response.body.p)", 200, endless, 108_000),
        await signals.value(Asker("acme"), "[response.body].map(x, x)[0]", 200, 8, 1),
    ]
    await evaluator.close()
    print(found)

asyncio.run(read())
"""
ENABLE = """
if [ "$1" = enable ]; then shift; exec {systemctl} --quiet --root={root} enable $(echo "$*" | sed "s|{root}||g"); fi
"""


def blocks(heading: str) -> list[str]:
    """The commands of a section, in order."""
    section = GUIDE[GUIDE.index(f"\n## {heading}\n") :]
    return re.findall(r"```sh\n(.*?)```", section[: section.find("\n## ", 1)], re.DOTALL)


def commands() -> set[str]:
    """Every command of `penstock`, with its group."""
    found: set[str] = set()
    for name, one in get_command(app).commands.items():  # type: ignore[attr-defined]
        found |= {f"{name} {inner}" for inner in getattr(one, "commands", ())} or {name}
    return found


class Machine:
    """A folder with the guide's paths in it; what would install packages or speak to systemd is
    only noted.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.heard, self.handed = Manager(str(root / "notify")), listener()
        self.address = f"http://127.0.0.1:{self.handed.getsockname()[1]}"
        shims = root / "shims"
        shims.mkdir()
        for name in ("apt-get", "systemctl", "journalctl"):
            text = SHIM
            if name == "systemctl" and (systemctl := shutil.which(name)):
                text += ENABLE.replace("{systemctl}", systemctl)
            (shims / name).write_text(text.replace("{root}", str(root)), encoding="utf-8")
            (shims / name).chmod(0o755)
        self.env = {
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("MAKE", "MFLAGS", "PENSTOCK_"))
            },
            "PATH": f"{shims}:{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
        }

    async def lend_packages(self) -> None:
        """Begin /opt/penstock with the packages of these tests, so that nothing has to be
        downloaded.
        """
        prefix = self.root / "opt" / "penstock"
        made = await asyncio.create_subprocess_exec(sys.executable, "-m", "venv", "--without-pip", prefix)
        assert await made.wait() == 0
        (packages,) = prefix.glob("lib/python*/site-packages")
        (packages / "lent.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")

    async def run(self, script: str) -> str:
        """Run commands of the guide, with each of its paths below the root."""
        ours = re.sub(r"(?<![\w.}])/(opt|etc|var)/", rf"{self.root}/\1/", script)
        ours = ours.replace("http://127.0.0.1:8080", self.address)
        bash = await asyncio.create_subprocess_exec(
            "bash", "-eu", cwd=ROOT, env=self.env, stdin=PIPE, stdout=PIPE, stderr=STDOUT
        )
        out, _ = await bash.communicate(ours.encode())
        assert bash.returncode == 0, (ours, out.decode())
        return out.decode()

    async def follow(self, *headings: str) -> str:
        """Run all commands of some sections; returns what they said."""
        return "".join([await self.run(script) for heading in headings for script in blocks(heading)])

    @asynccontextmanager
    async def serving(self, **variables: str) -> AsyncIterator[None]:
        """The service as systemd would start it from the installed unit, from ready to stopped."""
        async with supervised(
            self.root, self.heard, self.handed, self.serve(), **self.settings(), **variables
        ) as process:
            await self.heard.until("READY=1")
            yield
            process.terminate()
            assert await process.wait() == 0

    def serve(self) -> list[str]:
        """What the installed unit starts."""
        text = (self.root / "opt/penstock/lib/systemd/system/penstock.service").read_text(encoding="utf-8")
        (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
        return str(line).replace("%S", f"{self.root}/var/lib").split()

    def settings(self) -> dict[str, str]:
        """What the unit reads from the env file."""
        lines = (self.root / "etc/penstock/penstock.env").read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines if not line.startswith("#"))

    def hand_over(self) -> str:
        """The credentials as the unit asks for them: those that are there, under the names that it
        gives them.
        """
        folder = self.root / "run" / "credentials"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for credential in said("penstock.service")["LoadCredential"]:
            name, source = credential.split(":")
            if (file := self.root / "etc/credstore" / source).exists():
                shutil.copy(file, folder / name)
        return str(folder)


@pytest.fixture
def machine(folder: Path) -> Iterator[Machine]:
    one = Machine(folder)
    for path in ("var/lib", "etc/systemd/system"):
        (folder / path).mkdir(parents=True)
    yield one
    one.heard.close()
    one.handed.close()
    shutil.rmtree(folder / "opt", ignore_errors=True)


async def token(address: str) -> str:
    async with aiohttp.ClientSession() as session, session.post(f"{address}/auth/register", json=PERSON) as answer:
        assert answer.status == 201
        return str((await answer.json())["token"])


async def counts(address: str, ann: str) -> bool:
    bearer = {"Authorization": f"Bearer {ann}"}
    async with aiohttp.ClientSession() as session, session.get(f"{address}/auth/me", headers=bearer) as answer:
        return answer.status == 200


async def test_the_guide_leads_to_a_service_that_runs(folder: Path, machine: Machine) -> None:
    await machine.lend_packages()
    await machine.follow("Install", "Settings", "Start, now and at boot")
    if shutil.which("systemctl"):
        for target in ("sockets.target.wants/penstock.socket", "multi-user.target.wants/penstock.service"):
            assert (folder / "etc/systemd/system" / target).is_symlink()
    async with machine.serving():
        assert '"status":"ok"' in await machine.follow("Check it")
        ann = await token(machine.address)

    await machine.follow("Keys")
    store = folder / "etc/credstore"
    assert [len(read_ring(store / f"penstock.{name}").keys) for name in KEY_FILES] == [2, 2, 2, 2]
    async with machine.serving(CREDENTIALS_DIRECTORY=machine.hand_over()):
        assert await counts(machine.address, ann)
    assert not list((folder / "var/lib/penstock").glob("*.key*"))
    await machine.follow("Back up and restore", "Upgrade with systemd", "Roll back with systemd")


def test_everything_that_the_guide_names_exists() -> None:
    named = set(re.findall(r"bin/penstock ((?:audit|commits|keys|secrets) \w+|\w+)", GUIDE))
    assert named <= commands()
    assert {"audit rotate", "commits rotate", "keys rotate", "secrets rotate"} <= named
    for name in re.findall(r"PENSTOCK_([A-Z_]*[A-Z])", GUIDE):
        assert name.lower() in Settings.model_fields, name
    units = set(re.findall(r"penstock\.(?:service|socket)\b", GUIDE))
    assert units == {unit.name for unit in UNITS.iterdir()}
    assert {f"penstock.{name}" in GUIDE for name in KEY_FILES} == {True}
    for target in re.findall(r"^make (\w+) PREFIX=", GUIDE, re.MULTILINE):
        assert f"\n{target}: " in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_python_that_guides_have_run_is_python() -> None:
    for guide in GUIDES.glob("*.md"):
        for program in re.findall(r"python3? -c '([^']*)'", guide.read_text(encoding="utf-8")):
            compile(program, guide.name, "exec")


def test_the_units_and_the_guide_travel_with_the_source(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (archive,) = tmp_path.glob("penstockd-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames()}
    wanted = {"Makefile", "requirements.txt", "requirements-tracing.txt", "docs/guides/install.md"}
    wanted |= {"systemd/penstock.service", "systemd/penstock.socket"}
    assert wanted <= names


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(("make", *arguments), cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_prefix_that_the_units_could_not_name_is_refused() -> None:
    refused = make("install", "PREFIX=somewhere/else")
    assert refused.returncode != 0
    assert "and not somewhere/else" in refused.stderr
    assert not (ROOT / "somewhere").exists()


@pytest.mark.parametrize("prefix", [(), ("PREFIX=/opt/penstock",)])
def test_the_extra_for_traces_is_installed_with_and_without_a_prefix(prefix: tuple[str, ...]) -> None:
    assert "requirements-tracing.txt" in make("--dry-run", "--always-make", "install", "TRACING=1", *prefix).stdout
    assert "requirements-tracing.txt" not in make("--dry-run", "--always-make", "install", *prefix).stdout


async def test_the_service_works_within_the_system_calls_of_the_unit(capfd: pytest.CaptureFixture[str]) -> None:
    if confinable(capfd):
        confined = (sys.executable, "-m", "tests.crash.confined", sys.executable, "-m", "daemon", "demo")
        process = await asyncio.create_subprocess_exec(*confined, cwd=ROOT, stdout=PIPE, stderr=PIPE)
        out, err = await process.communicate()
        assert (process.returncode, err) == (0, b"")
        assert b"completed with the outcome authorized" in out


async def test_signal_rules_are_evaluated_within_the_system_calls_of_the_unit(
    capfd: pytest.CaptureFixture[str],
) -> None:
    if confinable(capfd):
        confined = (sys.executable, "-m", "tests.crash.confined", sys.executable, "-c", RULES)
        process = await asyncio.create_subprocess_exec(*confined, cwd=ROOT, stdout=PIPE, stderr=PIPE)
        out, err = await process.communicate()
        assert (process.returncode, out.splitlines()[-1:]) == (0, [b"[7, True, 8]"]), err


async def test_credentials_count_only_where_no_file_is_named(folder: Path) -> None:
    given = folder / "jwt.keys"
    given.write_text("{}", encoding="utf-8")
    given.chmod(0o600)
    env = {**environment(folder), "CREDENTIALS_DIRECTORY": str(folder)}
    code, _, err = await command("serve", "--port", "0", env=env)
    assert (code, f"{given} is no readable key file" in err) == (78, True)
    elsewhere = {**env, "PENSTOCK_JWT_KEYS_FILE": str(folder / "elsewhere")}
    code, _, err = await command("serve", "--port", "0", env=elsewhere)
    assert (code, f"{folder / 'elsewhere'} is no readable key file" in err) == (78, True)
