"""What happened, as a list or live: in one run, in all runs, and in the company's log."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from typing import Any

from aiohttp import web

from actors.core.gate_policy import GateFunction
from actors.core.messages import GlassMended
from actors.core.people import address_key
from actors.core.reading.scope import ReadScope
from actors.core.run import Run, Visit
from daemon.audit.evidence import run_of_entry, walk_chain
from daemon.contract import events as contract
from daemon.contract.audit import ChainedEvent
from daemon.engine.feed import CompanySubscription, RunSubscription
from daemon.model import RecordedEvent
from daemon.model.audit_events import HistoryRewound
from daemon.model.chain import ChainWalk, genesis
from daemon.model.event_log import (
    BEGINNING,
    EventIds,
    HistoryFilter,
    LoggedEvent,
    Position,
    event_json,
    mark_of,
    shown_event,
)
from daemon.model.evidence import SealedCommit
from daemon.model.pages import Page
from daemon.stores.store import Store
from daemon.web.bodies import number, page_limit
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, PAGED, Operation
from daemon.web.problems import HttpProblem, etag, invalid
from daemon.web.resources.pages import HISTORY, history_filter, in_turn, page_response, rendered
from daemon.web.resources.run_commands import sight_of
from daemon.web.resources.run_json import gate_json
from daemon.web.resources.runs import as_read, find
from daemon.web.responses import from_cursor, from_number, list_response, next_page, to_cursor
from daemon.web.services import SERVICES
from daemon.web.sse import BEAT, frame, notice, soon, stream, wants_stream

PAGE = 200
_SEQ = re.compile(r"[0-9]{1,18}")


@Operation(
    "List the events of a run",
    "read",
    list[contract.Event],
    query=("after", *PAGED),
    headers=("Last-Event-ID",),
    problems=(410,),
    stream=True,
)
async def list_run_events(request: web.Request) -> web.StreamResponse:
    """The history of a run, oldest first.

    With `Accept: text/event-stream` it is streamed live. There `gate_changed` (GateChanged), which
    has no id, says that an open gate has changed because a connector did, or a function was bound.
    """
    run = await find(request)
    if wants_stream(request):
        return await RunEventStream(request, run.company_id, run.id).serve()
    kind = f"events-{run.id}"
    limit, cursor = page_limit(request), from_cursor(request, kind, _SEQ)
    after = number(request, "after", 0) if cursor is None else int(cursor)
    async with in_turn(request):
        await find(request)
        found = await request.app[SERVICES].store.history(run.company_id, run.id, after, limit + 1)
        return await page_response(request, found, limit, kind, name=lambda last: last.seq, show=_event_json)


@Operation(
    "List the events of all runs",
    "read",
    list[contract.CompanyEvent],
    query=("after", "before", *HISTORY, "limit"),
    headers=("Last-Event-ID",),
    problems=(410,),
    stream=True,
)
async def list_events(request: web.Request) -> web.StreamResponse:
    """The events of all runs of the company, oldest first; with `before` the newest first.

    `type`, `by`, `since`, `until` and `q` list those that match, the newest first; a page looks at
    a bounded number of events, so that it may be empty and announce another.

    With `Accept: text/event-stream` they are streamed live. There `connectors_changed`,
    `people_changed` and `claims_changed`, which have no id, say that connectors, members with their
    roles, groups and functions, or claims of gates that the caller may read changed.
    `people_changed` says, too, that the hour is over for which the caller broke the glass of a run.
    """
    services, company_id = request.app[SERVICES], principal_of(request).company_id
    ids, after = services.store.event_ids, await _after(request, company_id)
    if wants_stream(request):
        with services.feed.listen(company_id) as subscription:
            begun = await services.store.log_end(company_id) if after is None else after
            looked = _Looked(request)
            return await stream(request, _of_company(request, company_id, begun, subscription, looked), looked.holds)
    limit, before = page_limit(request), _before(request, company_id)
    which = history_filter(request)
    if which.asks:
        return await _matching(request, before, which, limit)
    async with in_turn(request):
        if before is None:
            found = await services.store.read_after(company_id, after or BEGINNING, limit + 1)
        else:
            found = await services.store.read_before(company_id, before, limit + 1)
        seen = await seen_of(request, found)
        items = await rendered(request, seen, limit, partial(_shown_event, ids, company_id))
    last = _last_looked_at(found, seen, items, limit)
    further = None if last is None else ids.encode(company_id, last.position, last.mark)
    return list_response(
        items, None if further is None else next_page(request, further, "after" if before is None else "before")
    )


def _last_looked_at(
    found: Page[LoggedEvent], seen: Page[LoggedEvent], items: Sequence[bytes], limit: int
) -> LoggedEvent | None:
    """The event that the next page begins behind; None where there is no next page."""
    if len(items) < len(seen):
        return seen[len(items) - 1]
    return found[-1] if found and (found.more or len(found) > limit) else None


async def seen_of(request: web.Request, found: Page[LoggedEvent]) -> Page[LoggedEvent]:
    """Those events whose runs are not closed to the caller."""
    runs = {one.run_id for one in found}
    open_runs = await _open_among(request, runs)
    if open_runs is runs:
        return found
    page = Page(one for one in found if one.run_id in open_runs)
    page.more, page.size = found.more, found.size
    return page


async def _open_among(request: web.Request, runs: AbstractSet[str]) -> AbstractSet[str]:
    """Those of these runs that are not closed to the caller."""
    sight = await sight_of(request)
    if sight is None or not runs:
        return runs
    return await request.app[SERVICES].store.visible_among(principal_of(request).company_id, runs, sight)


async def _matching(request: web.Request, before: Position | None, which: HistoryFilter, limit: int) -> web.Response:
    store, company_id = request.app[SERVICES].store, principal_of(request).company_id
    async with in_turn(request):
        begun = await store.log_end(company_id) if before is None else before
        found, further = await store.read_matching(company_id, begun, which, limit, sight=await sight_of(request))
        items = await rendered(request, found, limit, partial(_shown_event, store.event_ids, company_id))
    if len(items) < len(found):
        further = found[len(items) - 1].position
    more = {} if further is None else next_page(request, store.event_ids.encode(company_id, further), "before")
    return list_response(items, more)


def _shown_event(ids: EventIds, company_id: str, one: LoggedEvent) -> dict[str, Any]:
    return event_json(one, ids.encode(company_id, one.position, one.mark))


async def _of_company(
    request: web.Request, company_id: str, begun: Position, subscription: CompanySubscription, looked: _Looked
) -> AsyncGenerator[bytes, None]:
    """What happens in a company behind a place, without an end.

    The first frame says where it begins, so that a reader who is cut off early goes on from there.
    It ends where the database has failed over: a place in a history that is lost is told by 410.
    """
    store, sent = request.app[SERVICES].store, begun
    failovers = store.failovers
    await looked.look()
    yield b"id: %s\n\n" % (await store.place_id(company_id, begun)).encode()
    while True:
        await looked.look()
        while (found := await store.read_after(company_id, sent, PAGE)) and store.failovers == failovers:
            sent = found[-1].position
            seen = await seen_of(request, found)
            work = partial(_frames_of_company, store.event_ids, company_id, seen)
            yield await request.app[SERVICES].offload.run_by_size(company_id, found.size, work)
            if any(_is_mended_for(principal_of(request).email, one) for one in found):
                yield notice("people_changed", {"type": "people_changed"})
        if store.failovers != failovers:
            return
        if await soon(subscription.next) is None:
            yield BEAT
        await looked.look()  # what is told now is of no run
        if subscription.connectors_changed:
            subscription.connectors_changed = False
            yield notice("connectors_changed", {"type": "connectors_changed"})
        if subscription.people_changed:
            subscription.people_changed = False
            yield notice("people_changed", {"type": "people_changed"})
        if claimed := subscription.claims_changed:
            subscription.claims_changed = set()
            if await _open_among(request, claimed):
                yield notice("claims_changed", {"type": "claims_changed"})


def _is_mended_for(email: str, one: LoggedEvent) -> bool:
    """Whether it closes again to somebody the run whose glass they broke; they are not shown it."""
    return isinstance(one.event, GlassMended) and address_key(one.event.reader) == address_key(email)


class _Looked:
    """What the caller might read when a frame was made; it is not sent once that has changed."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._scope: ReadScope | None = None

    async def look(self) -> None:
        """Note what they may read now, before the next frame is made."""
        sight = await sight_of(self._request)
        self._scope = None if sight is None else sight.scope

    async def holds(self) -> bool:
        """Whether they may read the same still; else the stream ends."""
        now = await sight_of(self._request)
        return self._scope == (None if now is None else now.scope)


class RunEventStream:
    """Streams the events of a run: first those recorded, then new ones, without a gap."""

    def __init__(self, request: web.Request, company_id: str, run_id: str) -> None:
        self._request = request
        self._services = request.app[SERVICES]
        self._key = (company_id, run_id)
        self._sent = _last_seen(request)
        self._ended = False
        self._gates: dict[tuple[str, int], tuple[str, GateFunction | None]] = {}
        self._failovers = self._services.store.failovers

    async def serve(self) -> web.StreamResponse:
        """Stream until the run has ended or the reader has gone; 204 when it has ended before."""
        with self._services.feed.follow(*self._key) as subscription:
            run = await find(self._request)
            self._run = run
            self._ended = run.ended is not None
            if self._sent > run.version and not self._ended and "Last-Event-ID" in self._request.headers:
                raise _history_changed("0")
            first = await self._recorded()  # after the run was read, so that an end in between is not passed over
            if self._is_over and not first:
                return web.Response(status=204)
            return await stream(self._request, self._frames(first, subscription), self._sees)

    async def _sees(self) -> bool:
        """Whether the caller may read the run as it was sent last."""
        return await self._services.reading.may_read(await sight_of(self._request), self._run)

    async def _frames(self, first: Page[RecordedEvent], subscription: RunSubscription) -> AsyncGenerator[bytes, None]:
        while first:
            if self._has_failed_over():
                return
            yield await self._framed(first, first.size)
            first = await self._recorded()
        if not self._is_over and (changed := await self._changed_gates()):
            yield changed
        while not self._is_over:
            item = await soon(subscription.next)
            if item is None:
                yield BEAT
                continue
            run, events = item
            self._run = self._run if run is None else run
            if self._has_failed_over():
                return
            if run is None:
                yield await self._changed_gates()
                continue
            before = run.version - len(events)
            while before > self._sent and (missed := await self._recorded()):  # committed elsewhere
                if self._has_failed_over():
                    return
                yield await self._framed(missed, missed.size)
            recorded = [RecordedEvent(before + index, event) for index, event in enumerate(events, 1)]
            yield await self._framed(recorded, run.size_bytes)
            self._ended = run.ended is not None

    def _has_failed_over(self) -> bool:
        """Whether the database has, since the stream began: its readers come back."""
        return self._services.store.failovers != self._failovers

    @property
    def _is_over(self) -> bool:
        """Whether no more events can come; a call in flight may outlast its run."""
        return self._ended and not self._services.dispatcher.is_on_wire(*self._key)

    async def _changed_gates(self) -> bytes:
        """Frames of the open gates that have changed since they were sent last."""
        committed = await find(self._request)
        run, tag = await as_read(self._services, committed)
        changed = []
        for opened, visit in zip(committed.parked, run.parked, strict=True):
            key, was, now = (visit.step_id, visit.visit), opened.gate, visit.gate
            if was is None or now is None:
                continue
            shows = (now.digest, now.function)
            if self._gates.get(key, (was.digest, was.function)) != shows:
                self._gates[key] = shows
                changed.append(visit)
        show = partial(_frames_of_gates, run, changed, etag(tag))
        return await self._services.offload.run_by_size(run.company_id, run.size_bytes, show)

    async def _recorded(self) -> Page[RecordedEvent]:
        return await self._services.store.history(*self._key, self._sent, PAGE)

    async def _framed(self, found: Sequence[RecordedEvent], size: int) -> bytes:
        """The frames of those that were not sent yet; together they have about that size."""
        fresh = [recorded for recorded in found if recorded.seq > self._sent]
        self._sent = max((recorded.seq for recorded in fresh), default=self._sent)
        return await self._services.offload.run_by_size(self._key[0], size, partial(_frames_of_run, fresh))


def _frames_of_run(found: Sequence[RecordedEvent]) -> bytes:
    return b"".join(frame(str(one.seq), one.event.type, _event_json(one)) for one in found)


def _frames_of_company(ids: EventIds, company_id: str, found: Sequence[LoggedEvent]) -> bytes:
    shown = ((_shown_event(ids, company_id, one), one.event.type) for one in found)
    return b"".join(frame(one["id"], kind, one) for one, kind in shown)


def _frames_of_gates(run: Run, changed: Sequence[Visit], tag: str) -> bytes:
    gates = (gate_json(visit, run) for visit in changed)
    shown = ({"type": "gate_changed", "run_id": run.id, "gate": gate, "etag": tag} for gate in gates)
    return b"".join(notice("gate_changed", one) for one in shown)


def _last_seen(request: web.Request) -> int:
    text = request.headers.get("Last-Event-ID")
    if text is None:
        return number(request, "after", 0)
    if not _SEQ.fullmatch(text):
        raise invalid(("", "Last-Event-ID has to be the id of an event"))
    return int(text)


def _before(request: web.Request, company_id: str) -> Position | None:
    """The position of the event that a page ends before; None without one."""
    text = request.query.get("before")
    if text is None:
        return None
    found = request.app[SERVICES].store.event_ids.parse(company_id, text)
    if found is None or "after" in request.query:
        raise invalid(("/before", "has to be the id of an event, and stands without after"))
    return found[0]


async def _after(request: web.Request, company_id: str) -> Position | None:
    """The position that the reader has reached; None for one who has not begun."""
    store = request.app[SERVICES].store
    seen = request.headers.get("Last-Event-ID") if wants_stream(request) else None
    text = request.query.get("after") if seen is None else seen
    if text is None:
        return None
    found = (BEGINNING, b"") if text == "0" else store.event_ids.parse(company_id, text)
    if found is None:
        where, name = ("/after", "") if seen is None else ("", "Last-Event-ID ")
        raise invalid((where, f"{name}has to be the id of an event, or 0 for the beginning"))
    if found[0] != BEGINNING:
        await _check_history(store, company_id, *found)
    return found[0]


async def _check_history(store: Store, company_id: str, place: Position, mark: bytes) -> None:
    """HttpProblem for a place in a history that the database has lost; says where to begin."""
    known = mark_of(await store.head_at(company_id, place)) if mark else b""
    if known == mark and place <= await store.log_end(company_id):
        return
    logged = [json.loads(one.events) for one in await store.logged(company_id, None, PAGE)]
    lost = [one["first"] for one in logged if one["type"] == HistoryRewound.__struct_config__.tag]
    first = min((one for one in lost if one <= place.commit), default=0)
    begin = await store.place_id(company_id, Position(first, 0)) if first else "0"
    raise _history_changed(begin)


def _history_changed(first: str) -> HttpProblem:
    detail = "The database has lost the history up to this id. Go on from first; what was read since is undone."
    return HttpProblem("history_changed", detail, {"first": first})


def _event_json(recorded: RecordedEvent) -> dict[str, Any]:
    return shown_event(recorded.seq, recorded.event)


@Operation("List the company's log", "read", list[ChainedEvent], query=(*HISTORY, *LISTED), problems=(403,))
@csv_list(ChainedEvent, "audit-log")
async def list_audit_log(request: web.Request) -> web.Response:
    """Log-ins and changes of connectors and webhooks in their hash chain, newest first.

    `type`, `by`, `since`, `until` and `q` narrow it down.
    """
    limit, before = page_limit(request), from_number(request, "log")
    which = history_filter(request)
    async with in_turn(request):
        if which.asks:
            shown, last = await _matching_entries(request, before, which, limit)
        else:
            shown, last = await _all(request, before, limit)
    more = next_page(request, to_cursor("log", str(last))) if last > 1 and shown else {}
    return list_response(shown, more)


async def _all(request: web.Request, before: int | None, limit: int) -> tuple[Sequence[bytes], int]:
    """The newest events, and the number of the oldest of them."""
    company_id = principal_of(request).company_id
    # One commit more than events are shown: its head is what the others are chained to.
    found = await request.app[SERVICES].store.logged(company_id, before, limit + 1)
    hidden = await hidden_entries(request, found)
    size, look = sum(len(one.events) for one in found), partial(_newest, company_id, found, limit, before, hidden)
    newest, shown = await request.app[SERVICES].offload.run_by_size(company_id, size, look)
    return shown, newest - len(shown) + 1


async def _matching_entries(
    request: web.Request, before: int | None, which: HistoryFilter, limit: int
) -> tuple[Sequence[bytes], int]:
    """The newest events that match, and the number to go on before; 0 when none are left."""
    company_id = principal_of(request).company_id
    in_full = await sight_of(request) is None
    found = await request.app[SERVICES].store.logged_matching(company_id, before, which, limit + 1, runs_too=in_full)
    hidden = await hidden_entries(request, [one for one, _ in found])
    size, look = sum(len(one.events) for one, _ in found), partial(_shown, company_id, found[:limit], which, hidden)
    shown = await request.app[SERVICES].offload.run_by_size(company_id, size, look)
    return shown, found[limit - 1][0].version if len(found) > limit else 0


def _shown(
    company_id: str,
    found: Sequence[tuple[SealedCommit, bytes | None]],
    which: HistoryFilter,
    hidden: frozenset[int],
) -> Sequence[bytes]:
    shown: list[bytes] = []
    for one, previous in found:
        event = json.loads(one.events)
        if which.takes(event["type"], event.get("by"), datetime.fromisoformat(event["at"]), one.events):
            walk = ChainWalk(company_id, previous or genesis(company_id, company_id), one.first_seq - 1)
            shown += walk_chain(walk, [one], hidden)
    return shown


async def hidden_entries(request: web.Request, found: Sequence[SealedCommit]) -> frozenset[int]:
    """The seqs of the entries of the company's log that are about runs closed to the caller."""
    sight, company_id = await sight_of(request), principal_of(request).company_id
    if sight is None:
        return frozenset()
    about = {one.first_seq: entry_about(company_id, one) for one in found}
    seen = await _open_among(request, {run_id for run_id in about.values() if run_id is not None})
    return frozenset(seq for seq, run_id in about.items() if run_id is not None and run_id not in seen)


def entry_about(company_id: str, one: SealedCommit) -> str | None:
    """The run that a commit is of, or that an entry of the company's log is about."""
    if one.stream != company_id:
        return one.stream
    return run_of_entry(json.loads(one.events)) if one.events and b"\n" not in one.events else None


def _newest(
    company_id: str, found: Sequence[SealedCommit], limit: int, before: int | None, hidden: frozenset[int]
) -> tuple[int, Sequence[bytes]]:
    """The number of the newest event before another, and at most `limit` events from there back."""
    if not found:
        return 0, ()
    *newer, oldest = found
    if oldest.first_seq == 1:
        walk, commits = ChainWalk(company_id, genesis(company_id, company_id)), found
    else:
        walk, commits = ChainWalk(company_id, oldest.head or b"", oldest.version), newer
    begun = walk.seq
    events = list(walk_chain(walk, reversed(commits), hidden))[: None if before is None else before - 1 - begun]
    return begun + len(events), events[::-1][:limit]
