"""Processes kept in files: pulled, changed, compared, pushed and published by commands."""

from __future__ import annotations

from pathlib import Path

from tests.web.operators import Operator
from tests.web.support import Person


async def test_a_shipped_process_is_pulled_changed_pushed_and_published(
    operator: Operator, ann: Person, tmp_path: Path
) -> None:
    file = tmp_path / "refund.yaml"
    assert (await operator.says("templates", "pull", "refund", "-o", file)).exit_code == 0
    text = file.read_text()
    assert text.startswith("vertical: refund\n")
    numbered = tmp_path / "unnumbered.yaml"
    numbered.write_text("".join(one for one in text.splitlines(keepends=True) if not one.startswith("version:")))
    checked = await operator.says("templates", "check", numbered)
    assert (checked.exit_code, "clock refund takes up to P13D of P14D, by " in checked.stdout) == (0, True)
    same = await operator.says("templates", "diff", file)
    assert (same.exit_code, "as refund version" in same.stdout) == (0, True)
    file.write_text(text.replace("title: ", "title: Our own ", 1))
    changed = await operator.says("templates", "diff", file)
    assert changed.exit_code == 1
    assert [line for line in changed.stdout.splitlines() if line.startswith("+title")] == [
        line for line in changed.stdout.splitlines() if line.startswith("+title: Our own")
    ]
    pushed = await operator.says("templates", "push", file)
    assert (pushed.exit_code, "stored as a draft, which is valid" in pushed.stdout) == (0, True)
    published = await operator.says("templates", "publish", "refund")
    assert (published.exit_code, "is published" in published.stdout) == (0, True)
    own = (await ann.get("/process-templates/refund")).json
    assert own["title"].startswith("Our own")
    assert (await operator.says("templates", "diff", file)).exit_code == 0
    listed = (await operator.says("templates", "versions", "refund")).stdout
    assert ann.email in listed
    assert "shipped" in listed
    retired = await operator.says("templates", "retire", "refund", own["version"])
    assert (retired.exit_code, "is retired" in retired.stdout) == (0, True)


async def test_a_file_that_breaks_rules_is_a_draft_all_the_same_and_says_which(
    operator: Operator, ann: Person, tmp_path: Path
) -> None:
    file = tmp_path / "cash.yaml"
    file.write_text("""
vertical: cash
title: Cash
steps:
  - {id: pay, kind: task, label: Pay, tool: bank, effect: irreversible, next: done}
  - {id: done, kind: end, label: Done, outcome: done}
""")
    pushed = await operator.says("templates", "push", file)
    assert pushed.exit_code == 1
    place, sentence = f"{file}:5:51: ", "A path leads to this irreversible task past no gate. Put a gate"
    assert f"{place}ungated_irreversible: pay: {sentence}" in pushed.stdout
    assert (await ann.get("/template-drafts/")).json[0]["vertical"] == "cash"
    assert (await operator.says("templates", "pull", "cash", "--draft", "-o", "-")).stdout.startswith(
        "vertical: cash\n"
    )
    assert (await operator.says("templates", "pull", "cash", "-o", "-")).stdout.startswith("vertical: cash\n")
    listed = (await operator.says("templates", "ls")).stdout.splitlines()
    assert [line for line in listed if line != line.rstrip() or len(line) > 100] == []
    refused = await operator.says("templates", "publish", "cash")
    assert (refused.exit_code, "Put a gate in front" in refused.output) == (1, True)


async def test_a_new_process_differs_from_nothing(operator: Operator, tmp_path: Path) -> None:
    file = tmp_path / "cash.yaml"
    file.write_text("vertical: cash\ntitle: Cash\nsteps: [{id: done, kind: end, label: Done, outcome: done}]\n")
    assert (await operator.says("templates", "diff", file)).exit_code == 1
    file.write_text("[]")
    wrong = await operator.says("templates", "push", file)
    assert (wrong.exit_code, "names no vertical" in wrong.output) == (1, True)
