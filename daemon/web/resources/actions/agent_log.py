"""The log of what agents did, for those who have to oversee them: one list of two histories."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from heapq import merge
from typing import Any, NamedTuple

from aiohttp import web
from msgspec import to_builtins

from actors.core.actions.deciding import Decision
from daemon.actions.oversight import Rule, Told, action_entry, concerns, stop_entry, words_of
from daemon.contract import audit as contract
from daemon.model.actions import ActionQuery, ActionRow
from daemon.model.event_log import HistoryFilter
from daemon.web.bodies import page_limit
from daemon.web.csv_lists import csv_list
from daemon.web.middleware.auth import principal_of
from daemon.web.operations import LISTED, Operation
from daemon.web.problems import HttpProblem
from daemon.web.resources.pages import in_turn, moment, rendered
from daemon.web.resources.run_commands import sight_of
from daemon.web.responses import from_cursor, list_response, next_page, to_cursor
from daemon.web.services import SERVICES, Services

KIND = "agents"
EVENTS_MAX = 1_000
RULES_PAGE = 20
DIGITS_MAX = 18
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
STOPS, RULES = "action_pauses_changed", "action_rules_changed"


class _Span(NamedTuple):
    agent: str | None
    since: datetime | None
    until: datetime | None


class _Behind(NamedTuple):
    """Behind which action and which entry of the company's log a page begins."""

    run_id: str | None = None
    number: int | None = None

    def __str__(self) -> str:
        return f"{self.run_id or ''}.{'' if self.number is None else self.number}"


class _Entry(NamedTuple):
    at: datetime
    of: ActionRow | tuple[int, dict[str, Any]]

    def behind(self, place: _Behind) -> _Behind:
        """The place behind it."""
        if isinstance(self.of, ActionRow):
            return place._replace(run_id=self.of.run_id)
        return place._replace(number=self.of[0])


@Operation(
    "List what agents did",
    "oversee",
    list[contract.AgentEntry],
    query=("agent", "since", "until", *LISTED),
    problems=(400, 403),
)
@csv_list(contract.AgentEntry, "agents")
async def list_agent_log(request: web.Request) -> web.Response:
    """The log that whoever deploys agents keeps of them, the newest first.

    Each action with agent, model, rule and version, who decided when, and where people overrode it:
    they changed arguments, denied what the rule allows, took a verdict back, or cancelled it. Each
    stop of agents, with its reason, and its end. Actions that the caller may not read are left out.
    """
    limit, place = page_limit(request), _place(request)
    asked = _Span(request.query.get("agent"), moment(request, "since"), moment(request, "until"))
    async with in_turn(request):
        actions, stops = (
            await _actions(request, asked, place, limit + 1),
            await _stops(request, asked, place, limit + 1),
        )
        found = [*merge(actions, stops, key=lambda one: one.at, reverse=True)]
        entries = await _shown(request, found[:limit])
        items = await rendered(request, entries, limit, _whole)
    for one in found[: len(items)]:
        place = one.behind(place)
    more = next_page(request, to_cursor(KIND, str(place))) if len(found) > len(items) else {}
    return list_response(items, more)


def _whole(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry.get(name) for name in contract.AgentEntry.model_fields}


def _place(request: web.Request) -> _Behind:
    cursor = from_cursor(request, KIND)
    if cursor is None:
        return _Behind()
    run_id, _, number = cursor.partition(".")
    if number and not (number.isdecimal() and len(number) <= DIGITS_MAX):
        raise HttpProblem("malformed_cursor", "The cursor is none that this list has given; begin again without one.")
    return _Behind(run_id or None, int(number) if number else None)


async def _actions(request: web.Request, asked: _Span, place: _Behind, limit: int) -> Sequence[_Entry]:
    before = place.run_id or (None if asked.until is None else _first_id(asked.until))
    query = ActionQuery(limit=limit, before=before, agent=asked.agent, sight=await sight_of(request))
    found = await request.app[SERVICES].store.actions(principal_of(request).company_id, query)
    since, until = asked.since or _FIRST, asked.until or _LAST
    return [_Entry(one.created_at, one) for one in found if since <= one.created_at < until]


def _first_id(at: datetime) -> str:
    """Ids of actions begin with their time: those before this one are of before."""
    digits = f"{max(0, int(at.timestamp() * 1_000)):012x}"
    return f"{digits[:8]}-{digits[8:]}"


async def _stops(request: web.Request, asked: _Span, place: _Behind, limit: int) -> Sequence[_Entry]:
    which, before = HistoryFilter((STOPS,), None, None, asked.since, asked.until), place.number
    store, company_id = request.app[SERVICES].store, principal_of(request).company_id
    entries: list[_Entry] = []
    while len(entries) < limit:
        found = await store.logged_matching(company_id, before, which, limit, runs_too=False)
        for one, _ in found:
            event = json.loads(one.events)
            if _is(event, STOPS, asked) and (asked.agent is None or concerns(event, asked.agent)):
                entries.append(_Entry(datetime.fromisoformat(event["at"]), (one.version, event)))
        if len(found) < limit:
            break
        before = found[-1][0].version
    return entries[:limit]


def _is(event: Mapping[str, Any], kind: str, asked: _Span) -> bool:
    """Whether an entry that may match does."""
    since, until = asked.since or _FIRST, asked.until or _LAST
    return event["type"] == kind and since <= datetime.fromisoformat(event["at"]) < until


async def _shown(request: web.Request, found: Sequence[_Entry]) -> list[dict[str, Any]]:
    services, company_id = request.app[SERVICES], principal_of(request).company_id
    told = {one.of.run_id: await _told(services, one.of) for one in found if isinstance(one.of, ActionRow)}
    wanted = {rule for one in told.values() if (rule := one.asks_for) is not None}
    said = await _said(services, company_id, wanted)
    return [
        action_entry(told[one.of.run_id], said) if isinstance(one.of, ActionRow) else stop_entry(one.of[1])
        for one in found
    ]


async def _told(services: Services, row: ActionRow) -> Told:
    key = (row.company_id, row.run_id)
    if (await services.store.retained(*key)).archived is not None:
        return Told(row, None, ())  # what it did is in a file
    run, events = await services.store.load(*key), await services.store.history(*key, 0, EVENTS_MAX)
    return Told(row, run, [one.event for one in events])


async def _said(services: Services, company_id: str, wanted: Collection[Rule]) -> dict[Rule, Decision]:
    """What rules say themselves: as they are, or as the company's log has them."""
    if not wanted:
        return {}
    now = await services.deciding.rules.for_company(company_id)
    said = words_of(to_builtins(now.rules))
    which, before = HistoryFilter((RULES,), None, None, None, None), None
    while not set(wanted) <= said.keys():
        found = await services.store.logged_matching(company_id, before, which, RULES_PAGE, runs_too=False)
        for one, _ in found:
            event = json.loads(one.events)
            said |= words_of(event["after"].get("rules", ()) if event["type"] == RULES else ())
        if len(found) < RULES_PAGE:
            break
        before = found[-1][0].version
    return said
