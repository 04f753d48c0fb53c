"""Runs, events and connectors as JSON bytes, and back exactly as they were."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from actors.calls import Connector
from actors.messages import Event, RunStarted
from actors.run import Run, absorb, evolve
from actors.values import changed
from daemon.jsonio import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actors.ports import Commit
    from daemon.ports import TemplateDocument

T = TypeVar("T")

SNAPSHOT_SCHEMA = 1
"""Grows with every change of Run, or of what evolve makes of old events; older snapshots are then folded anew."""

SNAPSHOT_BYTES_MAX = 32 * 1024
SNAPSHOT_EAGER_EVENTS = 128

_RUN: TypeAdapter[tuple[Run]] = TypeAdapter(tuple[Run])
_CONNECTOR: TypeAdapter[tuple[Connector]] = TypeAdapter(tuple[Connector])
_STATE: TypeAdapter[tuple[Connector | None]] = TypeAdapter(tuple[Connector | None])
_EVENTS: TypeAdapter[tuple[Event, ...]] = TypeAdapter(tuple[Annotated[Event, Field(discriminator="type")], ...])


def encode_run(run: Run) -> bytes:
    """The snapshot of a run."""
    return dumps((run,))


def decode_run(data: bytes) -> Run:
    """The run of a snapshot; ValueError when it is none of SNAPSHOT_SCHEMA."""
    return _decoded(_RUN, data)[0]


def encode_events(events: tuple[Event, ...]) -> bytes:
    """Events as one JSON array, each with its `type`."""
    return dumps(events)


def decode_events(data: bytes) -> tuple[Event, ...]:
    """The events of a JSON array; ValueError when it holds anything else."""
    return _decoded(_EVENTS, data)


def encode_connector(connector: Connector) -> bytes:
    """The public part of a connector."""
    return dumps((connector,))


def decode_connector(data: bytes) -> Connector:
    """The connector of these bytes."""
    return _decoded(_CONNECTOR, data)[0]


def encode_state(connector: Connector | None) -> bytes:
    """What a connector was before or after a change; None when there was none."""
    return dumps((connector,))


def decode_state(data: bytes) -> Connector | None:
    """The connector of these bytes, or None."""
    return _decoded(_STATE, data)[0]


def fold(events: Iterable[Event], run: Run | None = None) -> Run:
    """The run that a history leads to, from its beginning or from a run on the way."""
    folded = None if run is None else changed(run)
    for event in events:
        if folded is None or isinstance(event, RunStarted):
            folded = evolve(folded, event)
        else:
            absorb(folded, event)
    if folded is None:
        raise ValueError("a run without a history")
    return folded


def snapshot(commit: Commit) -> bytes | None:
    """The snapshot to keep with a commit; None when it is left to folding.

    A small run is kept at every commit, a large one whenever its history has grown by a quarter: what is written
    stays in proportion to what happened, and a load never folds more than a fifth of the history.
    """
    due = _grown(commit.expected_version, commit.run.version)
    if not due and commit.run.version > SNAPSHOT_EAGER_EVENTS:
        return None
    data = encode_run(commit.run)
    return data if due or len(data) <= SNAPSHOT_BYTES_MAX else None


def _grown(before: int, after: int) -> bool:
    """Whether one of the versions 1, 2, 3, 4, 5, 7, 9, 12, … lies between: each a quarter above the last."""
    mark = 1
    while mark <= before:
        mark += max(1, mark // 4)
    return mark <= after


def _decoded(adapter: TypeAdapter[T], data: bytes) -> T:
    try:
        return adapter.validate_json(data)
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] != "json_invalid":
            raise
    # The fast parser gives up at a depth that the encoder still writes.
    parsed: Any = json.loads(data)
    return adapter.validate_python(parsed)


def email_key(email: str) -> str:
    """What two e-mail addresses share when they differ in case alone."""
    return email.casefold()


def version_taken(document: TemplateDocument, digest: str) -> str:
    """Why a template cannot be kept: a version, once used, means one document for ever."""
    return (
        f"Version {document.version} of {document.vertical} is known with the digest {digest}, and now comes with "
        f"{document.digest}. Runs are pinned to what they began with: give the changed template a new version."
    )
