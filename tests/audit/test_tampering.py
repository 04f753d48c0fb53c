"""A sound history has no findings, and every single tampering has one that names what and where."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from actors.core.canonical import canonical
from daemon.audit.evidence import ATTRIBUTION, without_kind
from daemon.verification.exports import verify_export
from daemon.verification.findings import Counts
from daemon.verification.runs import verify_run
from daemon.verification.stores import verify_store
from tests.audit import tampering
from tests.audit.drawing import Rng, edited_line, flipped
from tests.audit.hunt import KINDS, once
from tests.audit.past import Past, plain_copy
from tests.audit.tampering_runs import form
from tests.histories import ACME, OTHER
from tests.seeds import drawn

EACH = 3


def test_a_sound_store_has_no_findings(made: Past, tmp_path: Path) -> None:
    counts = Counts()
    plain_copy(made, tmp_path / "copy.db").close()
    assert list(verify_store(tmp_path / "copy.db", made.keys, list(made.kept.values()), counts)) == []
    assert {"commits", "events", "streams", "checkpoints", "connector changes"} <= set(counts)
    assert min(counts.values()) > 0


@pytest.mark.parametrize("company_id", [ACME, OTHER])
def test_a_sound_export_has_no_findings_and_goes_on_from_any_kept_checkpoint(made: Past, company_id: str) -> None:
    for lines in (made.exports[company_id], made.earlier_exports[company_id]):
        assert list(verify_export(lines, made.keys)) == []
    assert list(verify_export(made.exports[company_id], made.keys, [made.kept[company_id]])) == []


def test_the_evidence_of_each_run_has_no_findings(made: Past) -> None:
    for run_id, raw in made.runs.items():
        assert list(verify_run(raw, made.keys)) == [], run_id


def test_evidence_that_an_earlier_version_wrote_has_no_findings(made: Past) -> None:
    for run_id, raw in made.runs.items():
        document = json.loads(raw)
        for one in document["events"]:
            for name in ATTRIBUTION:
                del one[name]
            one["change"] = without_kind(one["change"])
        assert list(verify_run(form(document), made.keys)) == [], run_id


def test_an_export_that_an_earlier_version_wrote_has_no_findings(made: Past) -> None:
    lines = []
    for line in made.exports[ACME]:
        value = json.loads(line)
        if "changes" in value:
            value["changes"] = [without_kind(one) for one in value["changes"]]
        lines.append(canonical(value).encode() + b"\n")
    assert list(verify_export(lines, made.keys)) == []


def test_no_byte_of_a_runs_evidence_can_be_changed_or_left_out(made: Past) -> None:
    raw, rng = made.runs["run-ann-1"], Rng(0)
    for place in range(len(raw)):
        flipped = bytes([raw[place] ^ (1 << rng.randrange(8))])
        for changed in (flipped, b""):
            assert any(verify_run(raw[:place] + changed + raw[place + 1 :], made.keys)), (place, changed)


def test_the_evidence_of_a_run_by_an_unknown_key_is_none(made: Past) -> None:
    findings = list(verify_run(made.runs["run-ann-1"], {"another": bytes(32)}))
    assert [finding.kind for finding in findings] == ["signature"]


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_every_single_tampering_is_found_and_named(made: Past, tmp_path: Path, kind: int) -> None:
    first = drawn() * len(KINDS) + kind
    for seed in range(first, first + EACH * len(KINDS), len(KINDS)):
        one = once(made, tmp_path / "tampered.db", seed)
        assert one.found, (one.kind, seed)
        assert one.named, (one.kind, seed, list(map(str, one.findings)))


def test_commits_whose_events_are_gone_are_tampered_with_too() -> None:
    assert flipped(b"", Rng(1))
    assert edited_line(b"", Rng(1))


def test_a_past_that_was_rewritten_with_the_key_shows_by_a_kept_checkpoint_alone(made: Past, tmp_path: Path) -> None:
    path = tmp_path / "rewritten.db"
    with closing(plain_copy(made, path)) as db:
        tampering.rewritten_with_the_key(db, Rng(1), made)
    kinds = {finding.kind for finding in verify_store(path, made.keys, list(made.kept.values()))}
    assert "rewritten" in kinds
    assert not kinds & {"signature", "checkpoint", "node", "leaf", "chain"}


@pytest.mark.parametrize("which", ["max", "min"])
def test_a_deleted_checkpoint_is_missed_be_it_the_first_or_the_last(made: Past, tmp_path: Path, which: str) -> None:
    with closing(plain_copy(made, tmp_path / "copy.db")) as db:
        size = f"(SELECT {which}(size) FROM audit_checkpoints WHERE company_id = '{ACME}')"  # noqa: S608
        db.execute(f"DELETE FROM audit_checkpoints WHERE company_id = '{ACME}' AND size = {size}")  # noqa: S608
    findings = list(verify_store(tmp_path / "copy.db", made.keys))
    assert [finding.kind for finding in findings] == ["checkpoint", "roots"]
    assert ACME in findings[0].where


def test_a_snapshot_of_a_version_where_no_commit_ends_is_a_finding(made: Past, tmp_path: Path) -> None:
    with closing(plain_copy(made, tmp_path / "copy.db")) as db:
        behind = "FROM snapshots JOIN runs ON number = run WHERE snapshots.version < runs.version - 1"
        number, run_id = db.execute(f"SELECT run, id {behind}").fetchone()
        db.execute("UPDATE snapshots SET version = version + 1 WHERE run = ?", (number,))
    findings = list(verify_store(tmp_path / "copy.db", made.keys))
    assert [finding.kind for finding in findings] == ["snapshot"]
    assert run_id in findings[0].where


def test_a_checkpoint_by_an_unknown_key_is_no_evidence(made: Past) -> None:
    findings = list(verify_export(made.exports[ACME], {"another": bytes(32)}))
    assert {finding.kind for finding in findings} == {"signature"}


def test_what_is_no_database_is_a_finding_and_not_a_crash(made: Past, tmp_path: Path) -> None:
    (tmp_path / "penstock.db").write_bytes(b"a letter to a friend" * 100)
    assert [finding.kind for finding in verify_store(tmp_path, made.keys)] == ["database"]
    assert [finding.kind for finding in verify_store(tmp_path / "none", made.keys)] == ["database"]
    assert list(verify_export([], made.keys))
