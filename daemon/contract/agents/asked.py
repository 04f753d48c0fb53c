"""What a gate shows of an action that an agent asks for, and of questions to the agent."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from daemon.contract.base import Response, example


class GateQuestion(Response):
    """What the agent of an action is asked at its gate, and what it answered."""

    model_config = example(
        {
            "id": "0199a3c2-0000-7000-8000-000000000002",
            "text": "Which of the two charges?",
            "by": "ada@example.test",
            "at": "2026-11-30T09:00:00Z",
            "answer": None,
            "answered_by": None,
            "answered_at": None,
        }
    )

    id: str
    text: str
    by: str
    at: datetime
    answer: str | None = None
    answered_by: str | None = None
    answered_at: datetime | None = None


class ActionRuleReference(Response):
    """The rule that decided, as it stood."""

    id: str
    version: int
    digest: str | None = None


class BudgetSpent(Response):
    """What was done of a budget before, in millionths."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    count: int = 0
    sum: int = 0
    max: int | None = None


class AskedCall(Response):
    """A call that an agent wants to make, by which rule it was decided, and what a budget has."""

    tool: str
    server: str | None = None
    asked: dict[str, Any] | None = None
    editable: tuple[str, ...] = ()
    agent: str
    model: str | None = None
    reasoning: str | None = None
    context: dict[str, Any] | None = None
    way: Annotated[str, Field(json_schema_extra={"enum": ["penstock", "aap", "mcp"]})] = "penstock"
    rule: ActionRuleReference
    why: str | None = None
    amount: int | None = None
    spent: BudgetSpent | None = None
    expires: str = "PT10M"


class GateAction(AskedCall):
    """The call that is asked about, of whom, by which rule, and what it takes of a budget.

    A verdict may change `arguments` at the pointers in `editable`; `asked` is what the agent asked
    for where somebody did. What is `said_by_agent` is its own word, which nobody has checked.
    `changed` says what is otherwise since the rule decided. `amount` and `spent` are in millionths.
    """

    arguments: dict[str, Any]
    said_by_agent: tuple[str, ...] = Field(("reasoning", "context"), description="Members that are its word alone.")
    changed: str | None = None
