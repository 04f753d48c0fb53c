"""An irreversible call is sent at most once, unless a human says otherwise or the far side knows
its key.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.crash.service import PATIENCE_S, PERSON, Service, serving, together
from tests.effects import scale
from tests.effects.ledger import EFFECT, HOSTS
from tests.effects.world import JSON, Books, ledger, put, rests, start, write_template

UNKNOWN = ("reset", "hang", "502", "effect-then-reset")
REPEATED = (*UNKNOWN, "429")
OUTCOMES = {"retry": "paid", "done": "paid", "denied": "denied"}
# No company sees more failures in a row of one origin than this: far from what opens a circuit, so
# that none waits.
ROW = 4
PER_COMPANY = ROW * len(HOSTS)


@dataclass(frozen=True)
class Payment:
    """A run that is to pay, and the service as its company sees it."""

    service: Service
    run: JSON

    async def seen(self, by: Service) -> Payment:
        """The same, as the service shows it now."""
        mine = replace(by, token=self.service.token)
        return replace(self, service=mine, run=await mine.read(self.run["id"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A template, and so a tool, for each origin of the ledger."""
    for host in range(len(HOSTS)):
        steps: list[JSON] = [
            {"id": "signoff", "kind": "gate", "label": "Sign", "next": "pay"},
            {
                "id": "pay",
                "kind": "task",
                "label": "Pay",
                "tool": f"pay-{host}",
                "effect": "irreversible",
                "next": "paid",
            },
            {"id": "paid", "kind": "end", "label": "Paid", "outcome": "paid"},
        ]
        write_template(tmp_path, f"pay-{host}", steps)
    return tmp_path


async def company(service: Service, books: Books, number: int, how: JSON) -> Service:
    """The service as one more company sees it, with a tool at each origin."""
    person = {**PERSON, "email": f"ada@company-{number}.test"}
    status, session = await service.send("POST", "/auth/register", person)
    assert status == 201, session
    mine = replace(service, token=session["token"])
    common = {"path": "/ok/ok", "method": "POST", "query_map": {"way": "inputs.way"}, "reversible": True, **how}
    for host in range(len(HOSTS)):
        await put(mine, f"pay-{host}", {"base_url": books.url(host), **common})
    return mine


async def paid(service: Service, number: int, ways: Sequence[str]) -> Payment:
    """A payment behind its approved gate, once its call has come to an end."""
    host = number % PER_COMPANY // ROW
    inputs = {"amount": number, "way": ways[number % len(ways)]}
    run = await start(service, f"pay-{host}", inputs)
    await service.resume(run["id"])
    return Payment(service, await rests(service, run["id"]))


async def paid_all(service: Service, books: Books, number: int, ways: Sequence[str], how: JSON) -> list[Payment]:
    """So many of them, each way in turn."""
    companies = [await company(service, books, one, how) for one in range(-(-number // PER_COMPANY))]
    return await together(paid(companies[one // PER_COMPANY], one, ways) for one in range(number))


def check_parked(run: JSON) -> None:
    """A human is asked, and sees the call of which nobody knows what became."""
    assert (run["status"], run["parked_at"]) == ("parked", "pay"), run["error"]
    assert (run["gate"]["reason"], tuple(run["gate"]["decisions"])) == ("outcome unknown", tuple(OUTCOMES))
    sent, failed = run["gate"]["effect"], run["trace"][-2]
    assert sent == failed["request"]
    assert (sent["mode"], sent["url"].rpartition("?")[2]) == ("live", f"way={run['inputs']['way']}")
    assert (failed["attempts"], failed["error"]["code"]) == (1, "outcome_unknown")


def keys(books: Books) -> Counter[str]:
    """How often the ledger got each key."""
    return Counter(line.key for line in books.lines)


async def decide(payment: Payment, decision: str) -> None:
    """Decide, and see that the run ends as the decision says."""
    service, run = payment.service, payment.run
    body: JSON = {"gate": "pay", "decision": decision, "digest": run["gate"]["digest"]}
    if decision == "done":
        body["output"] = {"seen": run["inputs"]["amount"]}
    await service.run("POST", f"/process-runs/{run['id']}/resume", body)
    after = await rests(service, run["id"])
    assert (after["status"], after["outcome"]) == ("completed", OUTCOMES[decision]), after["error"]
    if decision == "done":
        assert after["facts"]["pay"] == body["output"]
    if decision == "retry":
        assert after["facts"]["pay"] == {"receipt": f"{run['id']}:pay:3"}


async def test_a_call_of_unknown_outcome_is_repeated_by_nobody_but_a_human(folder: Path) -> None:
    number = scale.UNKNOWN_OUTCOMES.now
    async with ledger(folder) as books:
        async with serving(folder) as service:
            before = await paid_all(service, books, number, UNKNOWN, {"timeout_s": 2.0, "retries": 3})
            await service.kill()
        once = {f"{payment.run['id']}:pay:1": 1 for payment in before}
        async with serving(folder) as again:
            parked = await together(payment.seen(again) for payment in before)
            assert [payment.run for payment in parked] == [payment.run for payment in before]
            for payment in parked:
                check_parked(payment.run)
            assert keys(books) == once
            decisions = [list(OUTCOMES)[place % 3] for place in range(number)]
            await together(decide(payment, how) for payment, how in zip(parked, decisions, strict=True))
        wanted = {f"{p.run['id']}:pay:3": 1 for p, how in zip(parked, decisions, strict=True) if how == "retry"}
        assert keys(books) == once | wanted
    repeats = keys(books).total() - number - len(wanted)
    decided = {f"decided_{how}": times for how, times in Counter(decisions).items()}
    what = "irreversible calls with reset, hang, 502"
    scale.note(what, calls=number, automatic_repeats=repeats, runs_parked=len(parked), **decided)


async def test_an_idempotent_call_is_repeated_under_its_key_and_takes_effect_once(folder: Path) -> None:
    number = scale.IDEMPOTENT_CALLS.now
    async with ledger(folder) as books, serving(folder) as service:
        how = {"timeout_s": 2.0, "retries": 3, "idempotent": True}
        payments = await paid_all(service, books, number, REPEATED, how)
        assert {(payment.run["status"], payment.run["outcome"]) for payment in payments} == {("completed", "paid")}
        once = {f"{payment.run['id']}:pay:1": 1 for payment in payments}
        assert keys(books) == dict.fromkeys(once, 2)
        effects = Counter(line.key for line in books.lines if line.did == EFFECT)
        assert effects == once
    scale.note("idempotent calls", calls=number, sent=len(books.lines), effects=effects.total())


async def reached(books: Books, calls: int) -> None:
    """Wait until the ledger has noted so many calls."""
    async with asyncio.timeout(PATIENCE_S):
        while len(books.lines) < calls:
            await asyncio.to_thread(books.file.stat)


async def test_a_call_under_way_when_the_service_is_killed_is_sent_again_only_if_it_is_idempotent(folder: Path) -> None:
    number = scale.KILLED_CALLS.now
    async with ledger(folder) as books:
        async with serving(folder) as service:
            mine = await company(service, books, 0, {"timeout_s": 60.0})
            how = {"base_url": books.url(1), "path": "/ok/ok", "method": "POST", "query_map": {"way": "inputs.way"}}
            await put(mine, "pay-1", {**how, "reversible": True, "timeout_s": 60.0, "idempotent": True})
            runs = await together(start(mine, f"pay-{one % 2}", {"way": "hang"}) for one in range(number))
            await together(mine.resume(run["id"], Prefer="respond-async") for run in runs)
            await reached(books, number)
            await service.kill()
        async with serving(folder, mine.token) as later:
            after = await together(rests(later, run["id"]) for run in runs)
        assert {line.did for line in books.lines[:number]} == {EFFECT}
        assert keys(books) == {f"{run['id']}:pay:1": 1 + place % 2 for place, run in enumerate(runs)}
    assert {run["outcome"] for run in after[1::2]} == {"paid"}
    assert {run["gate"]["reason"] for run in after[::2]} == {"outcome unknown"}
    scale.note("calls under way at SIGKILL", irreversible=len(after[::2]), idempotent=len(after[1::2]))
