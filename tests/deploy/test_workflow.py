"""The release workflow: what it may do, and what it names. `make deploy-check` compares it with the
schema of workflows and has zizmor judge it.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from tests.house.packages import ROOT

FILE = ROOT / ".github" / "workflows" / "release.yml"
TEXT = FILE.read_text(encoding="utf-8")
JOBS: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["jobs"]
STEPS = [(name, step) for name, job in JOBS.items() for step in job["steps"]]


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
    assert tested < built
    assert "diff --recursive dist-first dist" in runs[built]
    uploaded = {step["with"]["name"] for _, step in STEPS if "upload-artifact" in step.get("uses", "")}
    downloaded = {step["with"].get("name") for _, step in STEPS if "download-artifact" in step.get("uses", "")}
    assert downloaded - {None} <= uploaded


def test_every_target_that_it_names_is_one_of_make() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {word for line in re.findall(r"\bmake ([a-z -]+)$", TEXT, re.MULTILINE) for word in line.split()}
    assert named == {"wheel", "client", "sbom"}
    assert [target for target in named if f"\n{target}:" not in makefile] == []


def test_every_action_is_named_with_its_version() -> None:
    actions = [step["uses"] for _, step in STEPS if "uses" in step]
    assert len(actions) > 8
    assert [
        action for action in actions if not re.fullmatch(r"[\w.-]+/[\w.-]+@(v\d+|release/v\d+|[0-9a-f]{40})", action)
    ] == []
