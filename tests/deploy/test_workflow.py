"""The workflows: what they may do, and what they name. `make deploy-check` compares them with the
schema of workflows and has zizmor judge them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from daemon import __version__
from tests.house.packages import ROOT

FILE = ROOT / ".github" / "workflows" / "release.yml"
TEXT = FILE.read_text(encoding="utf-8")
JOBS: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["jobs"]
STEPS = [(name, step) for name, job in JOBS.items() for step in job["steps"]]
NIGHTLY = yaml.safe_load((FILE.parent / "nightly.yml").read_text(encoding="utf-8"))
RIG: dict[str, Any] = NIGHTLY["jobs"]["rig"]
OF_THE_MACHINE = {"attack", "bench", "cost", "gateway", "growth", "page-speed"}
"""What measures it, and so needs a quiet one."""


def test_a_job_may_do_what_it_is_for_and_only_publishing_jobs_get_an_identity() -> None:
    assert yaml.safe_load(TEXT)["permissions"] == {}
    assert {name: job["permissions"] for name, job in JOBS.items()} == {
        "build": {"contents": "read"},
        "pypi": {"id-token": "write"},
        "npm": {"id-token": "write"},
        "notes": {"contents": "write"},
    }
    assert {name for name, job in JOBS.items() if "environment" in job} == {"pypi", "npm"}
    assert "secrets." not in TEXT
    assert [name for name, job in JOBS.items() if "timeout-minutes" not in job] == []


def test_nothing_is_published_that_was_not_tested_and_built_by_the_first_job() -> None:
    assert {name: job.get("needs") for name, job in JOBS.items()} == {
        "build": None,
        "pypi": "build",
        "npm": "build",
        "notes": ["pypi", "npm"],
    }
    runs = [step.get("run", "") for name, step in STEPS if name == "build"]
    (tested,) = (number for number, run in enumerate(runs) if ".ci/run" in run)
    (built,) = (number for number, run in enumerate(runs) if "make wheel client" in run)
    (checked,) = (number for number, run in enumerate(runs) if "GITHUB_REF_NAME" in run)
    assert checked < tested < built
    assert "diff --recursive dist-first dist" in runs[built]
    uploaded = {step["with"]["name"] for _, step in STEPS if "upload-artifact" in step.get("uses", "")}
    downloaded = {step["with"].get("name") for _, step in STEPS if "download-artifact" in step.get("uses", "")}
    assert downloaded - {None} <= uploaded


@pytest.mark.parametrize(("tag", "passes"), [(f"v{__version__}", True), ("v0.0.9", False), (__version__, False)])
def test_a_tag_that_is_not_the_version_is_refused_before_anything_else(tag: str, passes: bool) -> None:
    (check,) = (step["run"] for _, step in STEPS if "GITHUB_REF_NAME#v" in step.get("run", ""))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shell = ["bash", "-eu", "-c", check]
    done = subprocess.run(shell, cwd=ROOT, env={**os.environ, "PATH": path, "GITHUB_REF_NAME": tag}, check=False)
    assert (done.returncode == 0) is passes


def test_the_changelog_begins_with_this_version_and_what_to_do_before_it() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    assert versions[0] == __version__
    assert [one for one in versions if not re.fullmatch(r"\d+\.\d+\.\d+", one)] == []
    newest = changelog.partition(f"## {__version__}\n")[2].partition("\n## ")[0]
    told = newest.partition("### Before you upgrade\n")[2].partition("\n### ")[0]
    assert [word for word in ("Schema", "Settings", "Digests", "Keys") if f"**{word}**" not in told] == []


def test_every_target_that_it_names_is_one_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {word for line in re.findall(r"\bmake ([a-z -]+)$", TEXT, re.MULTILINE) for word in line.split()}
    assert named == {"wheel", "client", "sbom"}
    assert [target for target in named if f"\n{target}:" not in makefile] == []


def test_every_rig_of_the_guide_is_tried_at_length_each_night() -> None:
    guide = (ROOT / "docs" / "explanation" / "rigs.md").read_text(encoding="utf-8")
    rigs = set(re.findall(r"^\| `make ([a-z-]+)", guide, re.MULTILINE))
    targets = RIG["strategy"]["matrix"]["target"]
    assert rigs > OF_THE_MACHINE
    assert rigs - set(targets) == OF_THE_MACHINE
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [target for target in targets if f"\n{target}:" not in makefile] == []
    *_, tried = (step for step in RIG["steps"] if "run" in step)
    assert (tried["run"], tried["env"]) == ('make "$TARGET"', {"TARGET": "${{ matrix.target }}"})


def test_the_night_may_read_and_nothing_else() -> None:
    assert NIGHTLY["permissions"] == {}
    assert [job["permissions"] for job in NIGHTLY["jobs"].values()] == [{"contents": "read"}] * 2


def test_how_long_each_test_took_is_kept() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (folder,) = re.findall(r"^PYTEST = .* --junitxml=([a-z/]+)/\$@\.xml$", makefile, re.MULTILINE)
    assert subprocess.run(("git", "check-ignore", "--quiet", folder), cwd=ROOT, check=False).returncode == 0
    kept = [step["with"]["path"] for step in NIGHTLY["jobs"]["all"]["steps"] if "upload" in step.get("uses", "")]
    assert kept == [f"{folder}/*.xml"]
    assert re.findall(r"python -m pytest", makefile) == ["python -m pytest"]


def test_every_action_is_named_with_its_version() -> None:
    actions = [step["uses"] for _, step in STEPS if "uses" in step]
    actions += [step["uses"] for job in NIGHTLY["jobs"].values() for step in job["steps"] if "uses" in step]
    assert len(actions) > 8
    assert [
        action for action in actions if not re.fullmatch(r"[\w.-]+/[\w.-]+@(v\d+|release/v\d+|[0-9a-f]{40})", action)
    ] == []
