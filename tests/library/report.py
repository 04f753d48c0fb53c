"""What the library has, a line for each process, and a total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.library.documents import Vertical
from tests.library.outputs import outputs

HEAD = f"{'pack':<11}{'vertical':<28}" + "".join(
    f"{word:>9}"
    for word in ("steps", "gates", "clocks", "read", "shown", "unread", "enforced", "named", "talks", "runs")
)
CLOCKS = ("deadline", "for", "until", "within")


class Row(NamedTuple):
    """The figures of one process."""

    pack: str
    vertical: str
    figures: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.pack:<11}{self.vertical:<28}" + "".join(f"{one:>9}" for one in self.figures)


def row(vertical: Vertical, runs: int) -> Row:
    every = outputs(vertical)
    rules = vertical.document.get("rules", [])
    figures = (
        len(vertical.steps),
        len(vertical.template.gates),
        sum(word in step for step in vertical.steps for word in CLOCKS),
        sum(one.read for one in every),
        sum(one.member.shown and not one.read for one in every),
        sum(one.unread for one in every),
        sum(bool(rule.get("enforced_by")) for rule in rules),
        sum(bool(rule.get("not_enforced")) for rule in rules),
        vertical.transcripts,
        runs,
    )
    return Row(vertical.pack, str(vertical), figures)


def table(rows: Sequence[Row]) -> Iterator[str]:
    yield HEAD
    yield from map(str, rows)
    total = tuple(map(sum, zip(*(one.figures for one in rows), strict=True)))
    packs = len({one.pack for one in rows})
    yield str(Row("total", f"{len(rows)} in {packs} packs", total))
