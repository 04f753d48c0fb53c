"""The chart of the figures: requests beside the echo, cost beside stored runs, loops beside other
engines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench.bars import GROWTH_MOST
from tests.bench.drawing import Sheet

WIDTH = 860.0
EDGE = 28.0
LABELS = 210.0
VALUES = 190.0
BAR = 20.0
STEP = 32.0
PLOT = 170.0
ENGINES = {
    "penstock": "Penstock, over HTTP",
    "langgraph exit": "LangGraph, its fastest",
    "langgraph async": "LangGraph, as it comes",
    "dbos tuned": "DBOS, its fastest",
    "dbos default": "DBOS, as it comes",
}
LINES = {
    "starts": ("starts", "one"),
    "reads": ("reads", "two"),
    "resumes": ("resumes of old runs", "three"),
    "resumes_of_new": ("resumes of new runs", "four"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """A bar: its name, its length, what stands behind it, and where a mark shows what was aimed
    at.
    """

    name: str
    value: float
    said: str
    colour: str
    mark: float | None = None


def drawn(figures: dict[str, Any]) -> str:
    """The chart as SVG, of as many panels as there are figures for."""
    sheet, y = Sheet(WIDTH), EDGE + 8
    if "rounds" in figures:
        y = _bars(sheet, y, *_requests(figures["rounds"]))
    if "growth" in figures:
        y = _growth(sheet, y, figures["growth"])
    if "loops" in figures:
        y = _bars(sheet, y, *_loops(figures["loops"]))
    return sheet.svg(y, "Performance", "Every figure in it stands in the tables of docs/explanation/performance.md.")


def _requests(rounds: dict[str, Any]) -> tuple[str, str, list[Row]]:
    at = rounds["connections"][rounds["held_at"]]
    echo = at["echo"]["rate"]
    rows = [Row("bare echo", echo, f"{echo:,.0f}/s", "quiet")]
    for kind in ("reads", "resumes", "starts"):
        said = f"{at[kind]['rate']:,.0f}/s, {at[kind]['ratio']:.2f} of the echo"
        rows.append(Row(kind, at[kind]["rate"], said, "one"))
    title = f"Requests a second over {rounds['held_at']} connections"
    return title, "One service process, every answer on the disk first.", rows


def _loops(loops: dict[str, Any]) -> tuple[str, str, list[Row]]:
    rows = []
    for name, title in ENGINES.items():
        if name in loops["loops"]:
            one = loops["loops"][name]
            ours = name == "penstock"
            said = f"{one['rate']:,.0f}/s" + ("" if ours else f"; ours are {one['times']:.1f} times that")
            rows.append(Row(title, one["rate"], said, "one" if ours else "quiet"))
    title = f"Loops a second: start, park at a gate, resume, end; {loops['callers']} callers"
    return title, "Ours over HTTP, the others in process; all on SQLite with synchronous=FULL.", rows


def _bars(sheet: Sheet, y: float, title: str, told: str, rows: Sequence[Row]) -> float:
    """Bars below a title; returns where the next panel may begin."""
    sheet.text(EDGE, y, title, "title")
    sheet.text(EDGE, y + 20, told, "soft")
    top, left = y + 38, EDGE + LABELS
    scale = (WIDTH - left - VALUES - EDGE) / max(row.value for row in rows)
    for number, row in enumerate(rows):
        above = top + number * STEP
        sheet.text(left - 12, above + BAR / 2 + 4, row.name, "", "end")
        sheet.bar(left, above, row.value * scale, BAR, row.colour)
        sheet.text(left + max(row.value, row.mark or 0) * scale + 10, above + BAR / 2 + 4, row.said, "soft")
        if row.mark is not None:
            x = left + row.mark * scale
            sheet.rule((x, above - 4), (x, above + BAR + 4), "ink", "3 2")
    bottom = top + len(rows) * STEP
    sheet.rule((left, top - 6), (left, bottom - 6), "grid")
    return bottom + EDGE


def _growth(sheet: Sheet, y: float, growth: dict[str, Any]) -> float:
    """Lines over the number of stored runs; returns where the next panel may begin."""
    sizes, kinds = growth["sizes"], growth["kinds"]
    sheet.text(EDGE, y, "Processor time of a request beside ever more stored runs", "title")
    sheet.text(EDGE, y + 20, f"As a multiple of that beside {sizes[0]:,}; the band is 10 % to either side.", "soft")
    _legend(sheet, y + 44)
    left, right, top = EDGE + 48, WIDTH - EDGE - 24, y + 64
    costs = [by_size[str(runs)]["cpu_times"] for by_size in kinds.values() for runs in sizes]
    low, high = math.floor(min(0.8, *costs) * 10) / 10, math.ceil(max(1.2, *costs) * 10) / 10

    def place(runs: int, times: float) -> tuple[float, float]:
        along = math.log(runs / sizes[0]) / math.log(sizes[-1] / sizes[0])
        return left + 24 + along * (right - left - 48), top + (high - times) / (high - low) * PLOT

    above, below = place(sizes[0], GROWTH_MOST)[1], place(sizes[0], 2 - GROWTH_MOST)[1]
    sheet.bar(left, above, right - left, below - above, "band")
    for tenth in range(round(low * 10), round(high * 10) + 1, max(1, round((high - low) * 2))):
        level = place(sizes[0], tenth / 10)[1]
        sheet.rule((left, level), (right, level), "grid")
        sheet.text(left - 8, level + 4, f"{tenth / 10:.1f}", "soft", "end")
    for runs in sizes:
        sheet.text(place(runs, 1)[0], top + PLOT + 20, f"{runs:,}", "soft", "middle")
    for kind, (_, colour) in LINES.items():
        sheet.line([place(runs, kinds[kind][str(runs)]["cpu_times"]) for runs in sizes], colour)
    return top + PLOT + 36 + EDGE


def _legend(sheet: Sheet, y: float) -> None:
    x = EDGE
    for name, colour in LINES.values():
        sheet.bar(x, y - 9, 16, 8, colour)
        sheet.text(x + 22, y, name, "soft")
        x += 46 + 6.6 * len(name)
