"""The Dockerfile: what it promises, and what it is built from. No engine is needed; `make image`
builds it, and `make deploy-check` has hadolint judge it.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from daemon.settings import Settings
from tests.deploy.dockerfile import Instruction, sent, stages, variables
from tests.deploy.environments import closure
from tests.house.packages import ROOT
from tests.house.test_locks import RUNTIME, pins
from tests.programs import announced

BUILD, FINAL = stages()


def named(stage: list[Instruction], name: str) -> list[Instruction]:
    return [one for one in stage if one.name == name]


def one(name: str) -> Instruction:
    """The only instruction of this name in the image."""
    (found,) = named(FINAL, name)
    return found


def test_both_stages_begin_with_the_same_image_of_a_tag() -> None:
    (build,), (final,) = named(BUILD, "FROM"), named(FINAL, "FROM")
    assert build.text == f"{final.text} AS build"
    image, _, tag = final.text.partition(":")
    assert (image, tag.endswith("-slim-bookworm")) == ("python", True)
    version = tag.split("-")[0]
    assert f"Python :: {version}" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_everything_is_installed_from_wheels_with_hashes_and_no_index_is_named() -> None:
    runs = [run.text for run in named(BUILD, "RUN")]
    installs = re.findall(r"pip (?:install|wheel) [^&]*", " && ".join(runs))
    assert len(installs) == 3
    for install in installs:
        assert "--no-deps" in install, install
        if "--requirement" in install:
            assert "--require-hashes --no-deps --only-binary :all:" in install, install
            assert RUNTIME in install, install
    assert "pip" not in " ".join(run.text for run in named(FINAL, "RUN"))
    assert "://" not in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_tools_of_the_build_do_not_stay_in_the_image() -> None:
    (removed,) = re.findall(r"pip uninstall --yes ([^&]*)", named(BUILD, "RUN")[-1].text)
    names = set(removed.split())
    locked = {name for name, _ in pins(RUNTIME)}
    assert names == {"pip"} | (closure("editables", "hatchling") & locked) - closure("penstockd")


def test_the_image_has_no_compiled_modules_and_no_build_files_of_a_dependency() -> None:
    last = named(BUILD, "RUN")[-1].text
    installs = [run.text for run in named(BUILD, "RUN") if "pip install" in run.text]
    assert [install for install in installs if "pip install --no-compile" not in install] == []
    assert "find /opt/penstock -name __pycache__ -type d -prune -exec rm -r {} +" in last
    strays = {path.parts[0] for path in metadata.files("cel-expr-python") or () if path.suffix == ".bzl"}
    assert [stray for stray in strays if f"site-packages/{stray}" not in last] == []


def test_the_image_runs_as_a_user_that_is_not_root_and_writes_to_one_folder() -> None:
    user, group = map(int, one("USER").text.split(":"))
    assert min(user, group) > 9_999
    folder = one("VOLUME").text
    assert folder == variables(FINAL)["PENSTOCK_DATA_DIR"]
    made = one("RUN").text
    assert f"install --directory --owner {user} --group {group} --mode 0700 {folder}" in made
    assert f"--uid {user} --gid {group} --no-create-home" in made
    after = FINAL[FINAL.index(one("USER")) :]
    assert not {"RUN", "COPY", "ADD"} & {instruction.name for instruction in after}


def test_the_service_is_process_one_and_gets_the_signal_itself() -> None:
    assert one("ENTRYPOINT").words == ["penstock"]
    assert one("CMD").words == ["serve"]
    assert one("STOPSIGNAL").text == "SIGTERM"
    assert variables(FINAL)["PATH"].startswith("/opt/penstock/bin:")


def test_every_variable_of_the_service_is_a_setting_and_the_port_is_the_exposed_one() -> None:
    given = {name: value for name, value in variables(FINAL).items() if name.startswith("PENSTOCK_")}
    assert {name.removeprefix("PENSTOCK_").lower() for name in given} <= set(Settings.model_fields)
    assert given["PENSTOCK_PORT"] == one("EXPOSE").text == str(Settings.model_fields["port"].default)


def test_what_the_build_copies_is_in_the_tree_and_is_sent_to_it() -> None:
    copied = [word for copy in named(BUILD, "COPY") for word in copy.words[:-1]]
    assert [path for path in copied if not (ROOT / path).exists() or not sent(path)] == []
    config = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (packages,) = re.findall(r"^packages = \[(.*)\]", config, re.MULTILINE)
    assert set(re.findall(r'"(\w+)"', packages)) <= set(copied)
    shared = config.partition("[tool.hatch.build.targets.wheel.shared-data]")[2].partition("[tool.")[0]
    assert set(re.findall(r'^"(\w+)" = ', shared, re.MULTILINE)) <= set(copied)


def test_nothing_else_is_sent_to_the_build() -> None:
    tracked = subprocess.run(("git", "ls-files"), cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    seen = [path for path in tracked if sent(path)]
    tops = {path.split("/")[0] for path in seen}
    assert tops == {
        "LICENSE",
        "NOTICE",
        "README.md",
        "actors",
        "daemon",
        "docs",
        "pyproject.toml",
        "requirements.txt",
        "systemd",
    }
    assert "daemon/web/static/index.html" in seen
    for path in ("daemon/ui/package.json", "docs/img/gate.svg", "daemon/__pycache__/app.pyc", ".git/HEAD", "var/a.db"):
        assert not sent(path), path


@pytest.mark.parametrize("name", ["Dockerfile", ".dockerignore", "compose.yaml"])
def test_lines_can_be_read(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if len(line) > 120 and "CMD" not in line] == []


async def health(port: int) -> int:
    """The exit code of the image's health check at this port."""
    check = one("HEALTHCHECK").text.partition(" CMD ")[2]
    python, *arguments = Instruction("CMD", check).words
    assert python == "python"
    env = {**os.environ, "PENSTOCK_PORT": str(port)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, env=env, stderr=asyncio.subprocess.DEVNULL
    )
    return await process.wait()


async def test_the_health_check_says_what_the_service_does(tmp_path: Path) -> None:
    serve = ("daemon", "serve", "--port", "0", "--data-dir", str(tmp_path), "--log-level", "error")
    async with announced(*serve, env={}) as (_, port):
        assert await health(port) == 0
    assert await health(port) != 0
