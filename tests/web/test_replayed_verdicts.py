"""A thousand verdicts that were replayed or forged change nothing, and each is told why."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.web.people import colleague, company, delegate, member_id
from tests.web.support import Answer, House, Person

COUNT = 1_000
AT_ONCE = 32
FORM = {"units": 3, "reason": "as ordered"}
SIGN = {"gate": "sign", "decision": "approved", "form": FORM}


@dataclass(frozen=True)
class Forgery:
    """A verdict that must not count, and the answers that it may get."""

    what: str
    by: Person
    run: Any
    body: dict[str, Any]
    told: tuple[tuple[int, str], ...]
    headers: dict[str, str]

    async def sent(self) -> None:
        answer = await self.by.post(f"/process-runs/{self.run['id']}/resume", self.body, **self.headers)
        assert self.fits(answer.status, answer.json.get("code", "")), (self.what, answer.raw)

    async def sent_in_a_batch(self) -> None:
        body = {"verdicts": [{**self.body, "run_id": self.run["id"]}]}
        answer = await self.by.post("/gates/verdicts", body)
        if answer.status == 200:
            (result,) = answer.json["results"]
            code = "" if result["problem"] is None else result["problem"]["code"]
            assert self.fits(result["status"], code) or (result["status"], code) == (422, "invalid"), result
        else:
            assert self.fits(answer.status, answer.json["code"]), (self.what, answer.raw)

    def fits(self, status: int, code: str) -> bool:
        return (status, code) in self.told


async def sign(person: Person, run: Any, **headers: str) -> Answer:
    return await person.post(f"/process-runs/{run['id']}/resume", SIGN, **headers)


class World:
    """Runs at every stage of a verdict's life, and people with and without rights."""

    async def build(self, ann: Person, eve: Person, house: House) -> None:
        self.ann, self.eve, self.house = ann, eve, house
        self.bob, self.cyd, self.dan = [await colleague(ann, name, "manager") for name in ("bob", "cyd", "dan")]
        self.vic = await colleague(ann, "vic", "viewer")
        members = [await member_id(one) for one in (ann, self.bob, self.cyd)]
        assert (await ann.put(f"{company(ann)}/groups/finance", {"members": members})).status == 200
        await delegate(self.dan, self.vic)
        key = await ann.post("/api-keys/", {"name": "triage", "role": "member", "kind": "agent"})
        self.agent = Person(house, {**ann.session, "token": key.json["key"]})
        self.closed, self.half, self.withdrawn = [await ann.start("signatures") for _ in range(3)]
        self.late, self.again, self.plain = [await ann.start(one, {"amount": 1}) for one in ("clock", "loop", "line")]
        await self.live()

    async def live(self) -> None:
        """Decide here and there, so that there is something to replay."""
        for run, key in ((self.closed, "closed"), (self.half, "half"), (self.withdrawn, "withdrawn")):
            assert (await sign(self.bob, run, Idempotency_Key=key)).status == 202
        assert (await sign(self.cyd, self.closed)).status == 200
        gone = await self.bob.delete(f"/process-runs/{self.withdrawn['id']}/gates/sign/verdict")
        assert gone.status == 200
        assert (await self.ann.resume(self.again, "again", "once more")).json["parked_at"] == "again"
        await self.ann.until(self.late, "completed")

    @property
    def runs(self) -> list[Any]:
        return [self.closed, self.half, self.withdrawn, self.late, self.again, self.plain]

    async def histories(self) -> list[Any]:
        return [(await self.ann.get(f"/process-runs/{one['id']}/events?limit=200")).json for one in self.runs]


async def forgeries(world: World) -> list[Callable[[], Forgery]]:
    """Each way to make a verdict count that was not given."""
    ann, bob, cyd, dan, vic = world.ann, world.bob, world.cyd, world.dan, world.vic
    of_dan, of_bob = await member_id(dan), await member_id(bob)
    refused = (403, "forbidden")

    def one(what: str, by: Person, run: Any, body: dict[str, Any], *told: tuple[int, str], **headers: str) -> Any:
        return lambda: Forgery(what, by, run, body, told, headers)

    seen = {run["id"]: run["gate"]["digest"] for run in world.runs}
    approve = {"gate": "signoff", "decision": "approved"}
    of_half, of_plain = seen[world.half["id"]], seen[world.plain["id"]]
    return [
        one("the gate of another run", ann, world.plain, SIGN, (409, "gate_mismatch")),
        one("the digest of another run", ann, world.plain, {**approve, "digest": of_half}, (412, "stale")),
        one("the digest of another gate", cyd, world.half, {**SIGN, "digest": of_plain}, (412, "stale")),
        one(
            "the digest of an earlier visit",
            ann,
            world.again,
            {"gate": "again", "decision": "enough", "digest": seen[world.again["id"]]},
            (412, "stale"),
        ),
        one(
            "the version of an earlier visit",
            ann,
            world.again,
            {"gate": "again", "decision": "enough"},
            (412, "stale"),
            If_Match='"3"',
        ),
        one("another company", world.eve, world.half, SIGN, (404, "not_found")),
        one("outside of the group", dan, world.half, SIGN, refused),
        one("the starter", ann, world.half, SIGN, refused),
        one("a viewer", vic, world.plain, approve, refused),
        one("a machine", world.agent, world.plain, approve, refused),
        one("twice", bob, world.half, SIGN, (409, "already_decided")),
        one("for somebody who has not delegated", cyd, world.half, {**SIGN, "on_behalf_of": of_dan}, refused),
        one("for oneself through another", dan, world.half, {**SIGN, "on_behalf_of": of_bob}, refused),
        one("for nobody", cyd, world.half, {**SIGN, "on_behalf_of": "0199c1f0-0000-7000-8000-000000000000"}, refused),
        one("behind the quorum", dan, world.closed, SIGN, (409, "not_parked")),
        one(
            "behind the deadline",
            ann,
            world.late,
            {"gate": "look", "decision": "approved"},
            (409, "not_parked"),
        ),
        one("again under its key", bob, world.closed, SIGN, (202, ""), Idempotency_Key="closed"),
        one("again under its key, counted", bob, world.half, SIGN, (202, ""), Idempotency_Key="half"),
        one("again under its key, withdrawn", bob, world.withdrawn, SIGN, (202, ""), Idempotency_Key="withdrawn"),
        one(
            "another one's key",
            bob,
            world.withdrawn,
            {**SIGN, "comment": "x"},
            (422, "idempotency_key_reused"),
            Idempotency_Key="withdrawn",
        ),
        one("no such decision", cyd, world.half, {**SIGN, "decision": "done"}, (422, "decision_not_allowed")),
        one("an incomplete form", cyd, world.half, {**SIGN, "form": {}}, (422, "invalid")),
        one(
            "a forged token",
            Person(world.house, {**ann.session, "token": ann.token[:-4] + "AAAA"}),
            world.plain,
            approve,
            (401, "not_authenticated"),
        ),
    ]


@pytest.mark.one_daemon
async def test_a_thousand_replayed_and_forged_verdicts_change_nothing(house: House, ann: Person, eve: Person) -> None:
    world = World()
    await world.build(ann, eve, house)
    before = await world.histories()
    makers, chance, tried = await forgeries(world), random.Random(1), Counter[str]()
    free = asyncio.Semaphore(AT_ONCE)

    async def attack(number: int) -> None:
        forged = makers[number % len(makers)]()
        tried[forged.what] += 1
        async with free:
            alone = forged.headers or chance.random() < 0.5
            await (forged.sent() if alone else forged.sent_in_a_batch())

    await asyncio.gather(*map(attack, range(COUNT)))
    assert len(tried) == len(makers)
    assert await world.histories() == before
