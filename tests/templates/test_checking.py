"""What is wrong with a template in a file, each with its line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.commands.templates import checked

WRONG = """\
vertical: cash
version: 1
title: Cash
description: Petty cash.
inputs_schema:
  type: object
  properties: {amount: {type: number}}
example: {amount: ten}
tools: {bank: {}, post: {}}
steps:
  - id: size
    kind: gateway
    label: Size
    flow: exclusive
    branches:
      - {branch: small, when: "inputs.amount <= ", to: pay}
      - {branch: large, to: nowhere}
  - {id: pay, kind: task, label: Pay, tool: bank, effect: irreversible,
     role: emperor, next: done}
  - id: lost
    kind: gate
    label: Lost
    quorum: 0
    next: {approved: done, perhaps: pay}
  - {id: done, kind: end, label: Done, outcome: done}
  - {id: done, kind: end, label: Done, outcome: done}
"""


def found(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "cash.yaml"
    file.write_text(text, encoding="utf-8")
    entry, findings = checked(file)
    assert entry is None
    assert all(str(one).startswith(f"{file}:{one.line}:{one.column}: {one.rule}: ") for one in findings)
    return [f"{one.line}:{one.column} {one.rule} {one.node}" for one in findings]


def test_each_broken_rule_has_the_place_of_the_member_that_breaks_it(tmp_path: Path) -> None:
    places = found(tmp_path, WRONG)
    assert places == sorted(places, key=lambda one: [int(part) for part in one.split()[0].split(":")])
    assert {
        "8:11 example_refused None",
        "9:19 schema_refused None",
        "16:25 condition_refused size",
        "17:9 unknown_node nowhere",
        "18:51 ungated_irreversible pay",
        "19:6 unknown_role pay",
        "23:5 quorum_refused lost",
        "24:28 unknown_branch lost",
        "26:6 duplicate_id done",
    } <= set(places)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("kind: gate\n", "kind: door\n", "21:5 malformed lost"),
        ("    quorum: 0", "    quorums: 0", "23:5 malformed lost"),
        ("perhaps: pay}", "perhaps: 5}", "24:28 malformed lost"),
        ("title: Cash\n", "", "1:1 malformed the document"),
        ("title: Cash", "title: [Cash", "4:12 unreadable None"),
        ("title: Cash", "version: 2", "3:1 unreadable None"),
        ("example: {amount: ten}", "example: &a {amount: ten}\nmore: *a", "9:7 unreadable None"),
    ],
)
def test_what_is_no_document_has_the_place_where_it_is_none(tmp_path: Path, old: str, new: str, place: str) -> None:
    assert old in WRONG
    assert place in found(tmp_path, WRONG.replace(old, new, 1))


def test_a_file_that_holds_nothing_or_no_text_has_its_first_place(tmp_path: Path) -> None:
    assert found(tmp_path, "") == ["1:1 malformed the document"]
    file = tmp_path / "bytes.yaml"
    file.write_bytes(b"\xff")
    _, (one,) = checked(file)
    assert (one.line, one.column, one.detail) == (1, 1, "the file is not UTF-8")


def test_a_judge_that_is_wrong_has_its_own_place(tmp_path: Path) -> None:
    judges = """judges:
  - {id: small, label: Small, steps: [pay], rule: "inputs.amount <="}
  - id: known
    label: Known
    steps: [pay, piy]
    tool: buyers
"""
    places = found(tmp_path, WRONG.replace("steps:\n", f"{judges}steps:\n", 1))
    assert {"11:45 condition_refused None", "12:5 judge_refused None"} <= set(places)
