"""Legal holds, and runs with how they are kept."""

from __future__ import annotations

from datetime import datetime
from typing import Any

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


def _perhaps(schema: dict[str, Any]) -> None:
    schema["required"] = [name for name in schema["required"] if name not in ("hold", "archived")]


class RetainedRun(Run):
    """A run, and how it is kept, where that is out of the ordinary.

    Of an archived run inputs, facts and trace are empty: they are in its archive.
    """

    model_config = ConfigDict(json_schema_extra=_perhaps)

    hold: Hold | None = None
    archived: Archive | None = None
