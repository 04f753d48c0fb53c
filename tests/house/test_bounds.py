"""A bound rises with a reason that stays in the tree, or the check says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.bounds import HOUSE, MISSED, Bound, Ledger, Measure, Table, lowered, unexplained

HEAD = "| measure | bound | goal |\n|---|---|---|\n"
LINES = HEAD + "| lines | ≤ 60,753 | 48,000 |\n| lines of a file, median | ≥ 72.5 |  |\n"
WHY = "| 2026-11-28 | lines | 60,753 → 61,000 | Runs can be put to sleep by their owners |\n"
RAISED = LINES.replace("60,753", "61,000")


def test_the_file_of_the_bounds_is_read_as_it_is_written() -> None:
    text = HOUSE.path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ") and ("≤" in line or "≥" in line)]
    table = Table.read(text)
    assert len(table.bounds) == len(lines) > 20
    assert len(table.raised) == text.count(" → ") - 1
    assert lowered(text, {name: bound.value for name, bound in table.bounds.items()}) == text


def test_a_bound_is_missed_beyond_it_and_has_to_be_lowered_far_from_it() -> None:
    most, least = Bound(100), Bound(100, least=True)
    assert [most.wrong(value) for value in (101, 100, 97)] == [MISSED, "", ""]
    assert [least.wrong(value) for value in (99, 100, 103)] == [MISSED, "", ""]
    assert "LOWER" in most.wrong(96)
    assert "LOWER" in least.wrong(104)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (LINES, LINES, []),
        (LINES, LINES.replace("60,753", "59,000"), []),
        (LINES, RAISED + WHY, []),
        (LINES, RAISED, ["lines went from 60,753 to 61,000"]),
        (LINES, RAISED + WHY.replace("61,000", "61,001"), ["lines went from 60,753 to 61,000"]),
        (LINES, RAISED + WHY.replace("put to sleep by their owners", "late"), ["lines went from 60,753 to 61,000"]),
        (LINES + WHY, RAISED + WHY, ["lines went from 60,753 to 61,000"]),
        (RAISED + WHY, RAISED, ["this line is gone: | 2026-11-28 | lines | 60,753 → 61,000"]),
        (LINES, LINES.replace("≥ 72.5", "≥ 70"), ["lines of a file, median went from 72.5 to 70"]),
        (LINES, LINES.replace("≥ 72.5", "≤ 72.5"), ["lines of a file, median went from 72.5 to 72.5"]),
        (LINES, HEAD, ["lines went from 60,753 to nothing", "lines of a file, median went from 72.5 to nothing"]),
    ],
)
def test_a_bound_that_rose_without_a_line_of_its_own_is_found(before: str, after: str, found: list[str]) -> None:
    said = [*unexplained([before, after])]
    assert [one.startswith(start) for one, start in zip(said, found, strict=True)] == [True] * len(found)


def test_a_figure_that_is_never_quite_the_same_may_be_a_little_beyond_its_bound() -> None:
    most, least = Bound(100), Bound(100, least=True)
    assert [most.wrong(value, 0.03) for value in (104, 103)] == [MISSED, ""]
    assert [least.wrong(value, 0.03) for value in (96, 97)] == [MISSED, ""]


def test_a_figure_without_a_bound_and_a_bound_without_a_figure_are_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "bounds.md"
    path.write_text(LINES, encoding="utf-8")
    monkeypatch.setattr(Ledger, "versions", lambda _: [])
    assert [*Ledger(path).judge([Measure("lines", 60_754, "a file"), Measure("words", 7)])] == [
        "lines: MISSED a file",
        "bounds.md has no line for: words",
        f"Bring what is MISSED back within its bound, or raise that as {path} says.",
        "bounds.md has a line for what is not measured: lines of a file, median",
    ]
    assert capsys.readouterr().out.split() == [
        "found",
        "bound",
        "goal",
        "lines",
        "60,754",
        "≤",
        "60,753",
        "48,000",
        MISSED,
    ]


def test_a_bound_is_lowered_no_further_than_its_goal() -> None:
    most, least = Bound(100, 90), Bound(100, 110, least=True)
    assert [most.nearest(value) for value in (95, 90, 50)] == [95, 90, 90]
    assert [least.nearest(value) for value in (105, 110, 200)] == [105, 110, 110]
    assert [Bound(80, 90).wrong(50), Bound(90, 90).wrong(50)] == ["", ""]
    assert Bound(80, 90).nearest(50) == 80


def test_a_rise_of_long_ago_is_still_found() -> None:
    assert len([*unexplained([LINES, RAISED, RAISED, LINES])]) == 1


def test_bounds_are_lowered_to_what_is_found_and_never_raised() -> None:
    text = lowered(LINES, {"lines": 50_000, "lines of a file, median": 60})
    assert Table.read(text).bounds == {
        "lines": Bound(50_000, 48_000),
        "lines of a file, median": Bound(72.5, least=True),
    }
