"""Open gates as a list: what, which one, for how much, since when, until when, for whom."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from rich.table import Table
from rich.text import Text

from daemon.client import GateRow
from daemon.commands.display.printing import add_row, exact, new_table, text

MONEY = re.compile(r"(^|_)(amount|balance|total|sum|price|value|cost|limit)($|_)")
IDENTIFIES = re.compile(r"_?(id|name|ref|number|code|party|person|service)$")
RISK = {"critical": "bold red", "high": "yellow"}
# An id begins with its time in ms, of 13 characters; random ones follow.
ID_LENGTHS = (13, 18, 23, 28, 36)
UNITS = (("d", timedelta(days=1)), ("h", timedelta(hours=1)), ("min", timedelta(minutes=1)))


def gate_rows(found: Sequence[GateRow], now: datetime) -> Table:
    """The gates, with the shortest beginnings of ids that tell their runs apart."""
    table = new_table("run", "risk", "gate", "which", "amount", "waits", "due", "for", "")
    length = _length({one.run_id for one in found})
    for one in found:
        asked = one.gate
        what = text(asked.label).append(f"  {one.vertical}", "dim")
        amount = Text(_amount(one.inputs), justify="right")
        due = Text() if asked.due_at is None else _due(asked.due_at, now)
        cells = (what, _which(one), amount, _span(now - asked.opened_at), due, _whom(one), _marks(one))
        add_row(table, one.run_id[:length], text(asked.tier, RISK.get(asked.tier, "")), *cells)
    return table


def _length(ids: set[str]) -> int:
    return next(length for length in ID_LENGTHS if len({one[:length] for one in ids}) == len(ids))


def _which(one: GateRow) -> str:
    """The business key, or else the input that best identifies the run."""
    if one.business_key is not None:
        return one.business_key
    named = [(name, value) for name, value in one.inputs.items() if isinstance(value, str) and not MONEY.search(name)]
    best = sorted(named, key=lambda each: IDENTIFIES.search(each[0]) is None)
    return best[0][1] if best else ""


def _amount(inputs: Mapping[str, Any]) -> str:
    for name, value in inputs.items():
        if MONEY.search(name) and isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value:,}" if isinstance(value, int) else exact(value)
    return ""


def _due(at: datetime, now: datetime) -> Text:
    return Text(f"{_span(now - at)} over", "red") if at < now else Text(f"in {_span(at - now)}")


def _span(passed: timedelta) -> str:
    """A span in its largest unit."""
    return next((f"{passed // size} {unit}" for unit, size in UNITS if passed >= size), "<1 min")


def _whom(one: GateRow) -> str:
    asked = one.gate
    whom = ", ".join(asked.groups) or asked.role or "manager"
    return whom if asked.escalated_to is None else f"{whom}, {asked.escalated_to}"


def _marks(one: GateRow) -> str:
    """What else one should know before one opens it."""
    asked = one.gate
    marks = {
        f"not you: {one.why_not}": not one.can_decide,
        "sends": asked.mode == "live",
        f"{asked.verdicts} of {asked.quorum} decided": asked.quorum > 1,
        "too few may decide": asked.blocked,
        f"{asked.proposals} proposed": asked.proposals > 0,
        f"{one.claimed_by} looks at it": one.claimed_by is not None,
    }
    return ", ".join(mark for mark, shown in marks.items() if shown)
