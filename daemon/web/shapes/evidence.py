"""The shapes of the evidence."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from typing_extensions import TypedDict


class CheckpointShape(TypedDict):
    """The signed root of the company's tree at a size."""

    at: datetime
    company: str
    key_id: str
    previous: str | None
    root: str
    signature: str
    size: int


class WhoShape(TypedDict):
    """Who did something, with what kind of token."""

    user: str
    token: str | None


# "from" is a word of the language, so this one is written as a call.
ChangeShape = TypedDict(
    "ChangeShape",
    {"who": WhoShape, "when": datetime, "action": str, "from": Any, "to": Any, "why": str | None},
)


class ChainedShape(TypedDict):
    """An event as stored, its hash and the one before, and what a person did by it."""

    seq: int
    previous: str
    hash: str
    event: dict[str, Any]
    change: ChangeShape | None


class LeafShape(TypedDict):
    """The leaf of a run's last commit."""

    number: int
    hash: str


class RunAuditShape(TypedDict):
    """A run's hash chain, and the proof that a checkpoint covers its end."""

    run_id: str
    events: list[ChainedShape]
    head: str
    version: int
    leaf: LeafShape
    proof: list[str]
    checkpoint: CheckpointShape
