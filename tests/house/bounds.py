"""The bounds of measures, and how they move.

A file such as `bounds.md` has one for each measure. A bound falls by `make house LOWER=1`;
it rises by hand, together with a line there that says why. History is read, so that a bound that
rose without such a line, and a line that is gone, is noticed in a later commit, too.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.house.test_house import ROOT

LOOSE = 0.03
"""A bound that is further than this from what is found has to be lowered."""
WORDS_MIN = 5
MISSED = "MISSED"
BOUND = re.compile(r"^\| (?P<name>[^|]+?) \| (?P<sign>[≤≥]) (?P<bound>[\d,.]+) \| (?P<goal>[\d,.]*) \|$", re.MULTILINE)
RAISED = re.compile(
    r"^\| \d{4}-\d\d-\d\d \| (?P<name>[^|]+?) \| (?P<old>[\d,.]+) → (?P<new>[\d,.]+|gone) \| (?P<why>[^|]+) \|$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Measure:
    """One figure of the tree; `detail` says where it comes from."""

    name: str
    found: float
    detail: str = ""


@dataclass(frozen=True)
class Bound:
    """The most, or with `least` the least, that a measure may be, and what it shall be."""

    value: float
    goal: float | None = None
    least: bool = False

    def wrong(self, found: float, give: float = 0.0) -> str:
        """What is wrong with a figure: beyond its bound, or so far within that it could grow."""
        if found < self.value * (1 - give) if self.least else found > self.value * (1 + give):
            return MISSED
        loose = abs(self.value - self.nearest(found)) > LOOSE * self.value
        return "LOWER ITS BOUND: make house LOWER=1" if loose else ""

    def nearest(self, found: float) -> float:
        """The bound that fits a figure which keeps it: no nearer than its goal."""
        if self.goal is None:
            return found
        return min(found, max(self.goal, self.value)) if self.least else max(found, min(self.goal, self.value))


@dataclass(frozen=True)
class Table:
    """The bounds by measure, and the lines that say why one was raised."""

    bounds: dict[str, Bound]
    raised: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Table:
        bounds = {
            one["name"]: Bound(_number(one["bound"]), _number(one["goal"]) if one["goal"] else None, one["sign"] == "≥")
            for one in BOUND.finditer(text)
        }
        return cls(bounds, tuple(one[0] for one in RAISED.finditer(text)))


def shown(value: float) -> str:
    return f"{value:,.10g}"


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def unexplained(versions: list[str]) -> Iterator[str]:
    """Bounds that rose, or went, from one version of the file to the next without a line that says
    why; and such lines that went.
    """
    tables = [Table.read(text) for text in versions]
    for before, after in pairwise(tables):
        yield from (f"this line is gone: {line}" for line in before.raised if line not in after.raised)
        new = [RAISED.match(line) for line in after.raised if line not in before.raised]
        said = {(one["name"], _number(one["old"]), one["new"]) for one in new if one and _reason(one["why"])}
        explained = {(name, old, new if new == "gone" else _number(new)) for name, old, new in said}
        for name, bound in before.bounds.items():
            now = after.bounds.get(name)
            worse = now is None or now.least != bound.least or bound.wrong(now.value) == MISSED
            if worse and (name, bound.value, "gone" if now is None else now.value) not in explained:
                to = "nothing" if now is None else shown(now.value)
                yield f"{name} went from {shown(bound.value)} to {to}, and no line says why"


def _reason(text: str) -> bool:
    return len(text.split()) >= WORDS_MIN


@dataclass(frozen=True)
class Ledger:
    """A file of bounds."""

    path: Path

    def judge(self, measures: Iterable[Measure], give: float = 0.0) -> Iterator[str]:
        """Print each measure beside its bound and its goal; yields all that is wrong.

        `give` is the part of a bound by which a figure that is never quite the same may be beyond.
        """
        bounds, missed = Table.read(self.path.read_text(encoding="utf-8")).bounds, False
        print(f"{'':<52}{'found':>9}{'bound':>11}{'goal':>9}")
        for one in measures:
            bound = bounds.pop(one.name, None)
            if bound is None:
                yield f"{self.path.name} has no line for: {one.name}"
                continue
            held = f"{'≥' if bound.least else '≤'} {shown(bound.value)}"
            goal = "" if bound.goal is None else shown(bound.goal)
            wrong = bound.wrong(one.found, give)
            print(f"{one.name:<52}{shown(one.found):>9}{held:>11}{goal:>9}  {wrong or one.detail}".rstrip())
            missed = missed or wrong == MISSED
            if wrong:
                yield f"{one.name}: {wrong} {one.detail}".rstrip()
        if missed:
            yield f"Bring what is MISSED back within its bound, or raise that as {self.path} says."
        yield from (f"{self.path.name} has a line for what is not measured: {name}" for name in bounds)
        yield from unexplained(self.versions())

    def lower(self, measures: Iterable[Measure]) -> None:
        text = lowered(self.path.read_text(encoding="utf-8"), {one.name: one.found for one in measures})
        self.path.write_text(text, encoding="utf-8")

    def versions(self) -> list[str]:
        """What the file was in each commit that changed it, the oldest first, and what it is."""
        if _git("rev-parse", "--is-shallow-repository").strip() == "true":
            print("This clone is shallow: which bounds rose before its first commit is seen in a whole one alone.")
        path = self.path.relative_to(ROOT).as_posix()
        commits = _git("log", "--format=%H", "--reverse", "--", path).split()
        return [*(_git("show", f"{commit}:{path}") for commit in commits), self.path.read_text(encoding="utf-8")]


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout


def lowered(text: str, found: dict[str, float]) -> str:
    """The text of the file with each bound as near as its measure allows."""

    bounds = Table.read(text).bounds

    def line(one: re.Match[str]) -> str:
        name, value = one["name"], found.get(one["name"])
        if value is None or bounds[name].wrong(value) == MISSED:
            return one[0]
        return f"| {name} | {one['sign']} {shown(bounds[name].nearest(value))} | {one['goal']} |"

    return BOUND.sub(line, text)


HOUSE = Ledger(ROOT / "tests" / "house" / "bounds.md")
