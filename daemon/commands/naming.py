"""What things are called: ids, beginnings of ids, business keys, names; else the nearest."""

from __future__ import annotations

import difflib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from daemon.client import Delivery, Gate, NotificationDelivery, Penstock, Problem, Run, RunRow
from daemon.commands.remote import LISTED_MAX, NotFound, Shell
from daemon.contract.base import email_key

T = TypeVar("T")
NEAR_MAX = 200
FITTING_MAX = 10
# A shorter beginning is rather a slip than a name.
BEGINNING_MIN = 4
ID_BEGINS = re.compile(rf"[0-9a-f-]{{{BEGINNING_MIN},36}}")
ID_LENGTH = 36
ONLY_MAX = 5


@dataclass(frozen=True, slots=True)
class Named:
    """Something with an id, which has other names, too; `note` tells it from others."""

    id: str
    names: Sequence[str] = ()
    note: str = ""

    def is_called(self, word: str) -> bool:
        """As the service compares addresses: by the case of ASCII letters alone."""
        return email_key(word) in map(email_key, (self.id, *self.names))

    def begins(self, word: str) -> bool:
        return len(word) >= BEGINNING_MIN and self.id.startswith(word)

    def __str__(self) -> str:
        return "  ".join(filter(None, (self.id, *self.names, self.note)))


Listing = Callable[[Penstock], AsyncIterator[Named]]


@dataclass(frozen=True, slots=True)
class Noun:
    """A kind of thing: how the service lists it, or what fits a word where that is quicker.

    Where not all of it is listed, a whole id may be one that is not. What has names for ids is not
    called by beginnings.
    """

    word: str
    known: Listing
    fitting: Callable[[Penstock, str], AsyncIterator[Named]] | None = None
    all_listed: bool = True
    beginnings: bool = True


def resolved(shell: Shell, noun: Noun, word: str) -> str:
    """The id of what somebody calls by that word; exits where none or several fit."""
    return shell.perform(lambda api: identified(api, noun, word))


async def identified(api: Penstock, noun: Noun, word: str) -> str:
    """The id of what is called by that word; NotFound where none or several fit."""
    if not word.strip():
        raise NotFound(f"Name the {noun.word} that you mean.")
    known = noun.known(api) if noun.fitting is None else noun.fitting(api, word)
    candidates = [one async for one in _bounded(known, LISTED_MAX)]
    begins = noun.beginnings
    found = {one.id: one for one in candidates if one.is_called(word) or (begins and one.begins(word))}
    if word in found or (not found and not noun.all_listed and len(word) >= ID_LENGTH):
        return word
    if len(found) == 1:
        return next(iter(found))
    if found:
        several = [f"  {one}" for one in [*found.values()][:FITTING_MAX]]
        more = ["  …"] if len(found) > FITTING_MAX else []
        raise NotFound("\n".join((f"{word} fits more than one {noun.word}:", *several, *more)))
    if noun.fitting is not None:
        candidates = [one async for one in _bounded(noun.known(api), NEAR_MAX)]
    raise NotFound(missing(noun.word, word, {name: one for one in candidates for name in (*one.names, one.id)}))


async def explained(api: Penstock, noun: Noun, word: str, work: Awaitable[T], part: str = "") -> T:
    """What is asked of the service; where it finds nothing by that name, the nearest is named.

    `part` is what may be missing of something that is there.
    """
    try:
        return await work
    except Problem as problem:
        if problem.code == "not_found":
            await identified(api, noun, word)
            if part:
                raise NotFound(f"There is no {part} of {word}.") from None
        raise


def missing(noun: str, word: str, known: Iterable[str] | dict[str, Named]) -> str:
    """Say that there is no such thing, and what comes nearest."""
    near = nearest(word, known)
    if near is None:
        only = sorted({*known})
        few = f"; there is {', '.join(only)}" if not isinstance(known, dict) and 0 < len(only) <= ONLY_MAX else ""
        return f"There is no {noun} {word}{few}."
    note = known[near].note if isinstance(known, dict) else ""
    return f"There is no {noun} {word}; the nearest is {near}{f' ({note})' if note else ''}."


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a word, if one is at all."""
    names = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), names, n=1)
    return names[close[0]] if close else None


def gate_of(run: Run, word: str | None) -> Gate:
    """The named gate of a run, or the only open one."""
    if not run.gates:
        raise NotFound(f"The run is {run.status} and has no open gate.")
    found = [gate for gate in run.gates if word in {None, gate.step_id}]
    if word is not None and not found:
        raise NotFound(missing("open gate", word, run.parked_gates))
    if len(found) > 1:
        raise NotFound(f"Name one of its gates: {', '.join(run.parked_gates)}.")
    return found[0]


async def _bounded(found: AsyncIterator[Named], limit: int) -> AsyncIterator[Named]:
    left = limit
    async for one in found:
        yield one
        left -= 1
        if not left:
            return


def _run(row: RunRow) -> Named:
    keys = () if row.business_key is None else (row.business_key,)
    return Named(row.id, keys, f"{row.vertical}, {row.status}")


async def _runs(api: Penstock) -> AsyncIterator[Named]:
    async for row in api.run_rows(limit=NEAR_MAX):
        yield _run(row)


async def _actions(api: Penstock) -> AsyncIterator[Named]:
    async for one in api.action_summaries(limit=NEAR_MAX):
        yield Named(one.id, note=f"{one.agent} {one.tool}")


async def _runs_fitting(api: Penstock, word: str) -> AsyncIterator[Named]:
    if ID_BEGINS.fullmatch(word):
        async for one in _bounded(_rows(api, id=word), FITTING_MAX + 1):
            yield one
    async for one in _bounded(_rows(api, business_key=word), FITTING_MAX + 1):
        yield one


async def _rows(api: Penstock, **which: str) -> AsyncIterator[Named]:
    async for row in api.run_rows(limit=FITTING_MAX + 1, **which):
        yield _run(row)


async def _templates(api: Penstock) -> AsyncIterator[Named]:
    async for one in api.templates():
        yield Named(one.vertical)
    with suppress(Problem):  # not everybody may see drafts
        async for draft in api.drafts():
            yield Named(draft.vertical)


async def _members(api: Penstock) -> AsyncIterator[Named]:
    async for one in api.members((await api.me()).company.id):
        yield Named(one.id, (one.email,))


async def _groups(api: Penstock) -> AsyncIterator[Named]:
    async for one in api.groups((await api.me()).company.id):
        yield Named(one.name)


async def _companies(api: Penstock) -> AsyncIterator[Named]:
    for one in (await api.me()).companies:
        yield Named(one.id, (one.name,))


def verdict_of(run_id: str) -> Noun:
    async def known(api: Penstock) -> AsyncIterator[Named]:
        run = await api.run(run_id)
        given = [one.verdict for one in run.trace if one.verdict is not None]
        for one in (*given, *(each for gate in run.gates for each in gate.verdicts)):
            if one.verdict_id is not None:
                yield Named(one.verdict_id, note=f"{one.decision} by {one.by}")

    return Noun("verdict", known, all_listed=False)


def delivery_of(list_deliveries: Callable[[Penstock], AsyncIterator[Delivery | NotificationDelivery]]) -> Noun:
    async def known(api: Penstock) -> AsyncIterator[Named]:
        async for one in list_deliveries(api):
            yield Named(one.id, note=f"{one.type}, {one.status}")

    return Noun("delivery", known, all_listed=False)


async def _changes(api: Penstock) -> AsyncIterator[Named]:
    async for one in api.changes((await api.me()).company.id):
        yield Named(one.id, note=f"{one.act} {one.what} {one.status}")


RUN = Noun("run", _runs, _runs_fitting)
ACTION = Noun("action", _actions, all_listed=False)
TEMPLATE = Noun("template", _templates, beginnings=False)
CONNECTOR = Noun("connector", lambda api: (Named(one.tool_id) async for one in api.connectors()), beginnings=False)
WEBHOOK = Noun("webhook", lambda api: (Named(one.id, (one.url,)) async for one in api.webhooks()))
NOTIFICATION = Noun(
    "notification",
    lambda api: (
        Named(one.id, note=" ".join((one.kind, one.group or "you", *one.events))) async for one in api.notifications()
    ),
)
API_KEY = Noun("API key", lambda api: (Named(one.id, (one.name,), one.kind) async for one in api.api_keys()))
DELEGATION = Noun(
    "delegation", lambda api: (Named(one.id, note=f"until {one.until:%Y-%m-%d}") async for one in api.delegations())
)
CHANGE = Noun("change", _changes)
MEMBER = Noun("member", _members)
GROUP = Noun("group", _groups, beginnings=False)
COMPANY = Noun("company of yours", _companies)
