"""Templates that are tried: a run that nobody started, and what happens in it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from daemon.contract.base import Request, Response, example
from daemon.contract.runs import Run
from daemon.contract.text import Remark


class Act(Request):
    """What happens next in a run that is tried: a verdict, a message, or that time passes."""

    gate: str | None = Field(None, description="The gate of a verdict")
    decision: str | None = None
    by: str | None = Field(None, max_length=200, description="Who decides; the caller, unless said")
    comment: Remark | None = None
    code: str | None = Field(None, max_length=200)
    form: dict[str, Any] | None = None
    inputs: dict[str, Any] | None = None
    message: str | None = Field(None, max_length=200, description="The name of a message")
    payload: Any = None


class TryTemplate(Request):
    """A template to try, and all that happens; an act without members is time that passes."""

    model_config = example(
        {
            "document": {"nodes": [{"id": "signoff", "kind": "gate"}]},
            "inputs": {"amount": 12},
            "acts": [{"gate": "signoff", "decision": "approved"}],
        }
    )

    document: dict[str, Any] = Field(description="A template document, a canvas or a bare graph")
    inputs: dict[str, Any] = Field(default_factory=dict)
    auto_resolve: bool = Field(default=True, description="When false, the run stops at every step")
    acts: list[Act] = Field(default_factory=list, max_length=100)


class TriedTemplate(Response):
    """The run after the last act that was taken; nothing was called and nothing is kept."""

    run: Run
    at: datetime = Field(description="What time it is in the run by now")
    taken: int = Field(description="How many acts were taken")
    refused: str | None = Field(None, description="Why the next one was not")
