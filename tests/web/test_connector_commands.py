"""Connectors kept in files: set, shown, tested and deleted by commands."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.web.operators import Operator
from tests.web.support import FarSide, Person

REFUNDS = """
base_url: {url}
method: POST
path: /members/{{inputs.member}}/refunds
auth_type: bearer
headers: {{Accept: application/fhir+json}}
body_map: {{sum: inputs.sum}}
response_map: {{ok: ok}}
reversible: true
"""
SAMPLES = "inputs: {member: M/1, sum: 3}\n"


async def test_a_connector_is_set_shown_tested_and_deleted(
    operator: Operator, ann: Person, far: FarSide, tmp_path: Path
) -> None:
    file, samples, secret = tmp_path / "refunds.yaml", tmp_path / "samples.yaml", tmp_path / "secret"
    file.write_text(REFUNDS.format(url=far.url))
    samples.write_text(SAMPLES)
    secret.write_text("s3cret-canary\n")
    done = await operator.says("connectors", "set", "refunds", file, "--secret-file", secret)
    assert (done.exit_code, "live" in done.stdout) == (0, True), done.output
    shown = await operator.says("connectors", "show", "refunds")
    assert yaml.safe_load(shown.stdout) == yaml.safe_load(file.read_text())
    asked = await operator.says("connectors", "test", "refunds", "--samples", samples)
    assert asked.exit_code == 1
    assert f"would send: POST {far.url}/members/M%2F1/refunds" in asked.stdout.replace("\n", " ")
    assert ("Authorization: ***" in asked.stdout, "s3cret" in asked.output, far.seen) == (True, False, [])
    sent = await operator.says("connectors", "test", "refunds", "--samples", samples, "--send")
    assert (sent.exit_code, "answered: 200" in sent.stdout) == (0, True), sent.output
    assert (far.seen[0].headers["Authorization"], far.seen[0].body) == ("Bearer s3cret-canary", {"sum": 3})
    listed = (await operator.says("connectors", "ls")).stdout
    assert "refunds" in listed
    assert (await operator.says("connectors", "rm", "refunds", "--yes")).exit_code == 0
    assert (await ann.get("/connectors/")).json == []


async def test_a_file_is_tested_before_it_is_stored(operator: Operator, far: FarSide, tmp_path: Path) -> None:
    file = tmp_path / "look.yaml"
    file.write_text(f"base_url: {far.url}\npath: /look\n")
    assert (await operator.reads("connectors", "test", "look", file))["status_code"] == 200
    assert far.seen[0].target == "/look"


async def test_a_file_that_says_no_connector_is_refused_with_the_place(operator: Operator, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    for text, why in (("method: FETCH", "base_url: "), ("[]", "it holds no members"), ("a: b: c", "bad.yaml: ")):
        file.write_text(text)
        refused = await operator.says("connectors", "set", "bad", file)
        assert (refused.exit_code, why in refused.output.replace("\n", "")) == (1, True), refused.output
    missing = await operator.says("connectors", "set", "bad", file, "--secret-file", tmp_path / "none")
    assert missing.exit_code == 1
