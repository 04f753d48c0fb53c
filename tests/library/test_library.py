"""The standard of the library, tried on processes that fall short of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemon.drafting import CLOSE, find_closest
from daemon.templates.shipped import library
from tests.library.checks import findings
from tests.library.citations import cited, uncovered
from tests.library.documents import Vertical, files, here
from tests.library.expressions import reads
from tests.library.served import served
from tests.library.trials import played

SOUND = """\
# Errors of electronic transfers, 12 CFR 1005.11(c)(1).
vertical: errors
version: 1
title: Errors
description: An error is looked into.
inputs_schema:
  type: object
  properties:
    amount: {type: number, minimum: 0, title: Amount}
    currency: {type: string, title: Currency, pattern: '^[A-Z]{3}$'}
    filed_on: {type: string, format: date, title: Filed on}
example: {amount: 12.5, currency: USD, filed_on: '2026-01-02'}
rules:
  - {id: errors, source: 12 CFR 1005.11(c)(1), jurisdiction: US, valid_from: '2014-11-17', reviewed_on: '2026-11-01',
     says: An error is looked into., enforced_by: [look, sign], shown_by: {passes: none, stops: found}}
  - {id: notice, source: 12 CFR 1005.11(d), jurisdiction: US, valid_from: '2014-11-17', reviewed_on: '2026-11-01',
     says: The notice explains the findings., not_enforced: The tool writes it}
rehearsals:
  none: {inputs: {amount: 100}, result: {status: completed, outcome: told}}
  found: {inputs: {amount: 101}, result: {status: parked, parked_at: [sign]}}
tools:
  look:
    input: {type: object, properties: {amount: {type: number}}}
    output: {type: object, required: [found], properties: {found: {type: boolean}, note: {type: string, x-shown: true}}}
  pay:
    input: {type: object, properties: {amount: {type: number}}}
    output: {type: object, properties: {}}
  tell: {input: {type: object, properties: {}}, output: {type: object, properties: {}}}
steps:
  - {id: look, kind: task, label: Look, tool: look, effect: read,
     dry_run: [{when: has(inputs.amount) && inputs.amount > 100, output: {found: true}}, {output: {found: false}}],
     next: any}
  - id: any
    kind: gateway
    flow: exclusive
    label: Was there one?
    branches:
      - {branch: none, when: 'has(facts.look) && has(facts.look.found) && facts.look.found == false', to: tell}
      - {branch: found, to: sign}
  - {id: sign, kind: gate, label: Sign, role: manager, question: 'Pay {inputs.amount:.2f}?',
     next: {approved: again, denied: tell}}
  - {id: again, kind: task, label: Look again, tool: look, effect: read, dry_run: [{output: {found: true}}], next: pay}
  - {id: pay, kind: task, label: Pay, tool: pay, effect: reversible, dry_run: [{output: {}}], next: paid}
  - {id: tell, kind: task, label: Tell, tool: tell, effect: reversible, dry_run: [{output: {}}], next: told}
  - {id: paid, kind: end, label: Paid, outcome: paid}
  - {id: told, kind: end, label: Told, outcome: told}
"""
CLEAN = "has(facts.look) && has(facts.look.found) && facts.look.found == false"
SHELF = sorted(library(), key=lambda one: one.header.vertical)
TALKS = "process errors\n" * 2
RUNS = 60


def judged(folder: Path, text: str, talks: str = TALKS) -> Vertical:
    file, golden = folder / "errors.yaml", folder / "tests/golden/shipped/errors.txt"
    golden.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    golden.write_text(talks, encoding="utf-8")
    return Vertical(file, folder)


def test_a_verdict_that_comes_after_the_deadline_is_no_dead_end() -> None:
    """Its clock counts from the notice, so that the deadline is over where that is old."""
    (file,) = files(here(), ["error-resolution"])
    ends, found = asyncio.run(served([Vertical(file, here())], 12))
    assert ends["completed"]
    assert found == []


def test_a_sound_process_has_no_findings(tmp_path: Path) -> None:
    vertical = judged(tmp_path, SOUND)
    assert [*findings(vertical), *played(vertical, RUNS).found] == []


@pytest.mark.parametrize(
    ("old", "new", "check", "detail"),
    [
        (", x-shown: true", "", "output_unread", "look.note has no reader"),
        ("facts.look.found == false", "facts.look.fuond == false", "unknown_read", "any: no schema has facts."),
        ("inputs.amount > 100", "inputs.sum > 100", "unknown_read", "look: no schema has inputs.sum"),
        ("{output: {found: false}}", "{output: {found: 0}}", "dry_run_unfit", "look: output/found"),
        ("    input: {type: object, properties: {amount: {type: number}}}\n    output: {type: object, properties: {}}",
         "    input: {type: object, properties: {amount: {type: number}}}", "tool_without_schema", "pay has no output"),
        (", title: Amount", "", "title", "inputs.amount has none"),
        (", format: date", "", "format", "inputs.filed_on is a date without that format"),
        ("{id: errors, ", "{", "rule", "12 CFR 1005.11(c)(1) has no id"),
        ("source: 12 CFR 1005.11(d), jurisdiction: US", "source: 12 CFR 1005.11(d)", "rule",
         "12 CFR 1005.11(d) has no jurisdiction"),
        ("{amount: 101}, result", "{amount: 1}, result", "rehearsal_refused", "rehearsals/found: status is completed"),
        (", shown_by: {passes: none, stops: found}", "", "rule", "12 CFR 1005.11(c)(1) has no shown_by"),
        ("# Errors", "# Regulation E. Errors", "source_not_in_rules", "the header cites E"),
        ("11(c)(1).", "11(c)(1), 1005.11(e).", "source_not_in_rules", "the header cites 1005.11(e)"),
        ("# Errors of electronic transfers, 12 CFR 1005.11(c)(1).\n", "", "header", "the file begins without"),
        (", role: manager", "", "gate", "sign has no role"),
        (", question: 'Pay {inputs.amount:.2f}?'", "", "gate", "sign has no question"),
    ],
)  # fmt: skip
def test_what_is_written_otherwise_is_found(tmp_path: Path, old: str, new: str, check: str, detail: str) -> None:
    assert old in SOUND
    found = findings(judged(tmp_path, SOUND.replace(old, new)))
    assert any(one.check == check and one.detail.startswith(detail) for one in found), found


@pytest.mark.parametrize(
    ("old", "new", "check", "detail"),
    [
        (CLEAN, f"{CLEAN} && inputs.amount < 0.0", "way_never_taken", "no run went from any to tell"),
        (CLEAN, "!has(facts.look.found) || facts.look.found == false", "clean_on_missing", "look.found is left out"),
        (CLEAN, "has(facts.look.found)", "unfelt", "look.found changes no run"),
    ],
)
def test_what_runs_otherwise_is_found(tmp_path: Path, old: str, new: str, check: str, detail: str) -> None:
    text = SOUND.replace(old, new)
    found = played(judged(tmp_path, text), RUNS).found
    assert any(one.check == check and one.detail.startswith(detail) for one in found), found


def test_two_conversations_are_written_down_for_each(tmp_path: Path) -> None:
    found = findings(judged(tmp_path, SOUND, "process errors\n"))
    assert [one.detail for one in found] == ["errors.txt has 1 conversations"]


def test_an_expression_reads_paths_and_compares_them_with_literals() -> None:
    text = """has(facts["a-b"].hits) && facts["a-b"].hits.exists(h, h.score > 9.5 && h.kind in ["x", 'y'])
        || "E11" in inputs.codes && output.n.size() != -3"""
    assert [(".".join(one.path), one.literals) for one in reads(text)] == [
        ("facts.a-b.hits", ()),
        ("facts.a-b.hits", ()),
        ("facts.a-b.hits.[].score", (9.5,)),
        ("facts.a-b.hits.[].kind", ("x", "y")),
        ("inputs.codes", ("E11",)),
        ("output.n", ()),
    ]


def test_what_a_header_cites_is_found_by_its_form() -> None:
    header = "12 CFR 1005.11(c), Article 17(3), NIST SP 800-53 AC-2, ISO/IEC 27001:2022 A.5.15, and 25 dollars"
    assert set(cited(header)) == {"1005.11(c)", "17(3)", "AC-2", "800-53", "27001", "A.5.15"}
    assert uncovered(header, ["12 CFR 1005.11(c)(1)", "GDPR 17(3)", "AC-2(1)", "ISO/IEC 27001:2022 A.5.1"]) == [
        "A.5.15",
        "800-53",
    ]


@pytest.mark.parametrize("file", files(here()), ids=lambda file: file.stem)
def test_each_process_of_the_library_is_up_to_its_standard(file: Path) -> None:
    vertical = Vertical(file, here())
    if not vertical.tools:
        pytest.skip("its tools are not described yet")
    assert findings(vertical) == []


@pytest.mark.parametrize(
    ("text", "vertical"),
    [
        ("A health plan decides about a medical procedure after checking criteria", "prior-auth"),
        ("Onboard a customer with anti money laundering checks and a SAR", "aml"),
        ("Collect a debt from a consumer with a validation notice", "collections"),
        ("Fight a chargeback with evidence", "chargeback-representment"),
    ],
)
def test_words_find_the_public_processes_among_all(text: str, vertical: str) -> None:
    found = find_closest(text, SHELF)
    assert found is not None
    assert (found.entry.template.vertical, found.score >= CLOSE) == (vertical, True)
