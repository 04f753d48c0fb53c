"""The rules of the swarm's company, and what they say of a call, worked out anew here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

UNRULED = "unruled"
SERVER = "tools"
AMOUNT_MAX = 200
COUNT_MAX = 20
SUM_MAX = 4_000
SPENT_MAX = 300
READS = frozenset({"look"})
"""The tools whose calls may be made more than once."""
TOOLS = ("pay", "count", "sum", "spend", "edit", "shift", "look", "never", "odd")
EDITABLE = "edit"


@dataclass(frozen=True)
class Clause:
    """A rule: its decision where its condition holds, and how much it allows of a budget."""

    decision: str
    holds: Callable[[int], bool] = lambda _: True
    said: dict[str, Any] = field(default_factory=dict)
    budget_max: int | None = None
    counts: bool = False
    of: str = "agent"

    def taken(self, amount: int) -> int:
        """What a call takes of the budget."""
        return 1 if self.counts else amount


def clauses(turn: int) -> dict[str, Clause]:
    """The clause of each tool; those of `shift` and `edit` change with each turn."""
    most, day = 50 if turn % 2 else 150, {"per": "P1D"}
    of_agent: dict[str, Any] = {"budget": {"count": True, "max": COUNT_MAX, **day}}
    of_rule: dict[str, Any] = {"budget": {"sum": "arguments.amount", "max": SUM_MAX, "of": "rule", **day}}
    spent: dict[str, Any] = {
        "when": f"spent.sum + arguments.amount <= {SPENT_MAX}",
        "budget": {"sum": "arguments.amount", "max": 100 * SPENT_MAX, **day},
    }
    edits = {"gate": {"editable": ["/amount"]}, "question": f"Is this right? It is turn {turn // 4}."}
    return {
        "pay": Clause("allow", lambda amount: amount <= 100, {"when": "arguments.amount <= 100"}),
        "count": Clause("allow", said=of_agent, budget_max=COUNT_MAX, counts=True),
        "sum": Clause("allow", said=of_rule, budget_max=SUM_MAX, of="rule"),
        "spend": Clause("allow", said=spent, budget_max=SPENT_MAX),
        "edit": Clause("ask", said=edits),
        "shift": Clause("allow", lambda amount: amount <= most, {"when": f"arguments.amount <= {most}"}),
        "look": Clause("allow", said={"effect": "read"}),
        "never": Clause("deny", said={"reason": "Nobody does that."}),
    }


def rules(turn: int) -> list[dict[str, Any]]:
    """The rules as an admin writes them."""
    return [{"id": tool, "tool": tool, "decision": one.decision, **one.said} for tool, one in clauses(turn).items()]


def possible(turn: int, tool: str, amount: int) -> Iterator[tuple[str, str]]:
    """Which rule may decide how; a budget, and the same call under way, make it ask."""
    clause = clauses(turn).get(tool)
    if clause is None or not clause.holds(amount):
        yield UNRULED, "ask"
        return
    yield tool, clause.decision
    if clause.decision == "allow" and tool not in READS:
        yield tool, "ask"
    if tool == "spend":  # its condition reads what is spent
        yield UNRULED, "ask"
