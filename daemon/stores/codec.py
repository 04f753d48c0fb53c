"""Runs, events and connectors as JSON bytes, and back exactly as they were."""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin, get_type_hints

import msgspec
import structlog
from msgspec import Raw, field
from msgspec.json import Decoder
from msgspec.structs import asdict, replace

from actors.core.calls import Connector
from actors.core.canonical import canonical
from actors.core.folding.evolve import evolve
from actors.core.gate_policy import GatePolicy
from actors.core.messages import Event
from actors.core.run import Gate, Run, Visit
from daemon.model.audit_events import ConnectorChanged, LogEvent
from daemon.model.commitments.salted import with_salts
from daemon.runtime.json_codec import canonical_lines, dumps, dumps_in_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from actors.ports import Commit
    from daemon.keys.commit_keys import CommitKeys
    from daemon.model import StoredConnectorChange

_log = structlog.get_logger()

FOLD_VERSION = 2
"""Grows when evolve makes something else of old events; all snapshots are then folded anew."""


SNAPSHOT_BYTES_MAX = 32 * 1024
LATER = frozenset(
    (
        "headers",
        "response_map",
        "token_url",
        "client_id",
        "scope",
        "audience",
        "callback",
        "callback_timeout_s",
        "protocol",
    )
)
"""Members of connectors that the first ones did not have."""
SNAPSHOT_EAGER_EVENTS = 128


def shape(kind: type[msgspec.Struct]) -> list[list[str]]:
    """The members of a struct and of those inside, in the order in which they are met.

    Names and modules of classes do not count: a class may be renamed or moved.
    """
    kinds: list[type[msgspec.Struct]] = [kind]

    def described(hint: Any) -> str:
        if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            if hint not in kinds:
                kinds.append(hint)
            return f"#{kinds.index(hint)}"
        inside = ", ".join(map(described, get_args(hint)))
        return f"{get_origin(hint)}[{inside}]" if inside else str(hint)

    def members(one: type[msgspec.Struct]) -> list[str]:
        names = {field.name: field.encode_name for field in msgspec.structs.fields(one)}
        hints = get_type_hints(one)
        return [str(one.__struct_config__.tag), *(f"{names[name]}: {described(hints[name])}" for name in names)]

    return [members(one) for one in kinds]  # which grows meanwhile


SNAPSHOT_SCHEMA = zlib.crc32(f"{FOLD_VERSION} {json.dumps(shape(Run), sort_keys=True)}".encode())
"""Another one for each shape of Run; snapshots of other schemas are folded anew."""

RUN_PIECES_BYTES = 1024 * 1024
"""A larger run is written and read in pieces, between which other threads run."""


class _Pieces(Run, frozen=True, gc=False, omit_defaults=True):
    """A run whose large members are not decoded yet."""

    inputs: dict[str, Raw]
    facts: dict[str, Raw] = field(default_factory=dict)
    open: tuple[Raw, ...] = ()  # type: ignore[assignment]
    trace: tuple[Raw, ...] = ()  # type: ignore[assignment]


_RUN, _PIECES, _VISIT, _VALUE = Decoder(Run), Decoder(_Pieces), Decoder(Visit), Decoder()
_CONNECTOR = Decoder(tuple[Connector])
_STATE = Decoder(tuple[Connector | None])
_POLICY = Decoder(GatePolicy)
_EVENTS = Decoder(tuple[Event, ...])
_LOG = Decoder(tuple[LogEvent, ...])


def encode_run(run: Run) -> bytes:
    return dumps(run) if run.size_bytes <= RUN_PIECES_BYTES else dumps_in_pieces(run)


def decode_run(data: bytes) -> Run:
    if len(data) <= RUN_PIECES_BYTES:
        return _sharing(_RUN.decode(data))
    run = _PIECES.decode(data)
    members = {name: getattr(run, name) for name in Run.__struct_fields__}
    for name in ("inputs", "facts"):
        members[name] = {key: _VALUE.decode(raw) for key, raw in members[name].items()}
    for name in ("open", "trace"):
        members[name] = tuple([_VISIT.decode(raw) for raw in members[name]])
    return Run(**members)


def _sharing(run: Run) -> Run:
    """The run with what its open gates ask in objects that all runs of the template share."""
    if not any(visit.gate is not None and visit.gate.policy.asks for visit in run.open):
        return run
    return replace(run, open=tuple([replace(one, gate=_shared_gate(one.gate)) for one in run.open]))


def _shared_gate(gate: Gate | None) -> Gate | None:
    if gate is None:
        return None
    return replace(
        gate,
        label=intern(gate.label),
        reason=intern(gate.reason),
        decisions=_shared_names(gate.decisions),
        policy=_shared_policy(dumps(gate.policy)),
    )


@lru_cache(maxsize=1_024)
def _shared_policy(written: bytes) -> GatePolicy:
    return _POLICY.decode(written)


@lru_cache(maxsize=1_024)
def _shared_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return names


encode_events: Callable[[tuple[Event, ...]], tuple[bytes, bytes | None]] = canonical_lines
"""Events as lines of canonical JSON; and exactly, where that would blur numbers."""


def stored_events(events: tuple[Event, ...]) -> tuple[bytes, bytes | None]:
    """Events as they are stored: with the salts of their values, which the chain does not have."""
    types = [cast("str", one.__struct_config__.tag) for one in events]
    return with_salts(types, *encode_events(events))


def decode_events(data: bytes, exact: bytes | None = None) -> tuple[Event, ...]:
    """The events of these lines; ValueError for anything else, or where the two forms differ."""
    if exact is not None:
        if [canonical(json.loads(line)).encode() for line in exact.split(b"\n")] != data.split(b"\n"):
            raise ValueError("the exact form of the events says something else")
        data = exact
    if not data:
        raise ValueError("a commit without events")
    return _EVENTS.decode(b"[" + data.replace(b"\n", b",") + b"]")


def told_exactly(commit: Commit, events: bytes | None, exact: bytes | None) -> bool:
    """Whether the stored events say all, and have the members of objects in the same order.

    Then a run that is folded from them is shown with the same bytes.
    """
    return events is None or dumps(decode_events(events, exact)) == dumps(commit.events)


def encode_log(event: LogEvent) -> bytes:
    """One line of canonical JSON."""
    return canonical(msgspec.to_builtins(event)).encode()


def decode_log(data: bytes) -> tuple[LogEvent, ...]:
    """ValueError when the lines hold anything but events of a company's log."""
    return _LOG.decode(b"[" + data.replace(b"\n", b",") + b"]")


def decode_snapshot_if_current(keys: CommitKeys, key: tuple[str, str], snapshot: Sequence[Any]) -> Run | None:
    """The run of a snapshot (version, schema, MAC, body).

    None when its schema is another, or the service did not write it.
    """
    version, schema, mac, body = snapshot
    if body is None or mac is None or schema != SNAPSHOT_SCHEMA:
        return None
    if not keys.made_snapshot(key, version, schema, body, mac):
        _log.error("snapshot_damaged", company_id=key[0], run_id=key[1], version=version)
        return None
    try:
        run = decode_run(body)
    except ValueError:
        return None
    return run if (run.company_id, run.id, run.version) == (*key, version) else None


def encode_connector(connector: Connector | None) -> bytes:
    """The public part of a connector; before its first and after its last change there is none.

    Members that came later are left out where they say nothing: what was stored before them and is
    encoded again has the same bytes.
    """
    if connector is None:
        return dumps((None,))
    plain = asdict(Connector("", 0, "", "", ""))
    members = asdict(connector).items()
    return dumps(({name: one for name, one in members if name not in LATER or one != plain[name]},))


def decode_connector(data: bytes) -> Connector:
    return _CONNECTOR.decode(data)[0]


def decode_state(data: bytes) -> Connector | None:
    return _STATE.decode(data)[0]


def fold(events: Iterable[Event], run: Run | None = None) -> Run:
    """The run that a history leads to, from its beginning or from `run` on.

    ValueError where its events do not follow from each other, as after a forgery.
    """
    try:
        for event in events:
            run = evolve(run, event)
    except AssertionError as unfit:
        raise ValueError("an event does not follow from those before it") from unfit
    if run is None:
        raise ValueError("a run without a history")
    return run


def snapshot(commit: Commit) -> bytes | None:
    """The snapshot to keep with a commit; None when it is left to folding.

    A small run is kept at every commit, a large one whenever its history has grown by a quarter:
    what is written stays in proportion to what happened, and a load never folds more than a fifth
    of the history.
    """
    before, after = commit.expected_version, commit.run.version
    if after > SNAPSHOT_EAGER_EVENTS and not _grown(before, after):
        return None
    data = encode_run(commit.run)
    return data if len(data) <= SNAPSHOT_BYTES_MAX or _grown(before, after) else None


def _grown(before: int, after: int) -> bool:
    """Whether one of 1, 2, 3, 4, 5, 7, 9, 12, … lies between: each a quarter above the last."""
    mark = 1
    while mark <= before:
        mark += max(1, mark // 4)
    return mark <= after


def connector_changed(change: StoredConnectorChange, secret_digest: str | None = None) -> ConnectorChanged:
    """The event of a connector's change: all that it says, but the company."""
    names = (name for name in ConnectorChanged.__struct_fields__ if name not in ("secret_digest", "on_behalf_of"))
    return ConnectorChanged(**{name: getattr(change, name) for name in names}, secret_digest=secret_digest)
