"""Legal holds, and runs with how they are kept."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from daemon.contract.base import Request, Response, example
from daemon.contract.runs import Run
from daemon.contract.text import Remark


class HoldRun(Request):
    """Why a run must not be archived."""

    model_config = example({"reason": "litigation 2026-114"})

    reason: Remark = Field(min_length=1)


class Hold(Response):
    """A legal hold."""

    model_config = example(
        {"reason": "litigation 2026-114", "held_at": "2026-03-02T09:15:00Z", "held_by": "ada@example.test"}
    )

    reason: str
    held_at: datetime
    held_by: str


class Archive(Response):
    """Where the events of a run went: a file of so many bytes, by its SHA-256."""

    archived_at: datetime
    sha256: str
    bytes: int
    head: str = Field(description="The hash of the run's last event.")


class RedactRun(Request):
    """JSON pointers of values of a run, and why nobody may read them any more."""

    model_config = example({"pointers": ["/inputs/member_id", "/facts/pull-chart"], "reason": "request 2026-31"})

    pointers: Annotated[list[str], Field(min_length=1, max_length=100)] = Field(
        description="Into `inputs` and `facts`, or `/business_key`; `/inputs` and `/facts` name all of them."
    )
    reason: Remark = Field(min_length=1)
    preview: bool = Field(default=False, description="Tell what would be redacted, and redact nothing.")


class Redaction(Response):
    """Values of a run that were redacted: which were named, by whom, when and why."""

    model_config = example(
        {
            "number": 1,
            "reason": "request 2026-31",
            "redacted_at": "2026-03-02T09:15:00Z",
            "redacted_by": "ada@example.test",
            "pointers": ["/inputs/member_id"],
        }
    )

    number: int
    reason: str
    redacted_at: datetime
    redacted_by: str
    pointers: tuple[str, ...]


class MadeRedaction(Redaction):
    """A redaction, where the values stood, and the events that still hold one."""

    model_config = example(
        {
            "number": 1,
            "reason": "request 2026-31",
            "redacted_at": "2026-03-02T09:15:00Z",
            "redacted_by": "ada@example.test",
            "pointers": ["/inputs/member_id"],
            "places": ["/events/1/inputs/member_id", "/events/9/question"],
            "left": [],
        }
    )

    places: tuple[str, ...] = Field(description="The values in events that were redacted, by the seq of the event.")
    left: tuple[str, ...] = Field(
        description="The events that hold a value where none can be redacted, such as the name of a step."
    )


def _perhaps(schema: dict[str, Any]) -> None:
    schema["required"] = [name for name in schema["required"] if name not in ("hold", "archived", "redactions")]


class RetainedRun(Run):
    """A run, and how it is kept, where that is out of the ordinary.

    Of an archived run inputs, facts and trace are empty: they are in its archive.
    """

    model_config = ConfigDict(json_schema_extra=_perhaps)

    hold: Hold | None = None
    archived: Archive | None = None
    redactions: tuple[Redaction, ...] | None = None
