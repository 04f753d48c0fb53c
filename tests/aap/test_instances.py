"""Instances, and the signed messages that tell the public receiver of decisions."""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from agentapprovalprotocol import AsyncClient, ProvisionError, WebhookVerificationFailed
from agentapprovalprotocol._wire import Request, loads
from agentapprovalprotocol.receiver import Receiver, new_secret, verify
from aiohttp import web

from daemon.webhooks.sender import AAP_PAUSES_S, pauses_of
from tests.aap.support import ALLOWS, SENT, Agent, assert_error, base
from tests.listening import Listener
from tests.web.support import Answer, House, Person

DAYS_7_S = 7 * 86_400
URL = "https://a.example"


class Receiving(Listener):
    """The public receiver behind a real server; what it refuses for now it gets again."""

    def __init__(self, receiver: Receiver) -> None:
        super().__init__()
        self.receiver = receiver
        self.seen: list[tuple[Mapping[str, str], bytes]] = []
        self.fails: list[int] = []
        self.arrived = asyncio.Condition()

    async def handle(self, request: web.Request) -> web.Response:
        raw = await request.read()
        status, body = await self.receiver.handle(request.headers, raw)
        if self.fails:
            status, body = self.fails.pop(0), b""
        async with self.arrived:
            self.seen.append((dict(request.headers), raw))
            self.arrived.notify_all()
        return web.Response(status=status, body=body)

    async def bodies(self, count: int) -> list[dict[str, Any]]:
        """What has arrived, as soon as it is so much."""
        async with asyncio.timeout(30), self.arrived:
            await self.arrived.wait_for(lambda: len(self.seen) >= count)
        return [json.loads(raw) for _, raw in self.seen]


@asynccontextmanager
async def receiving(receiver: Receiver | None = None) -> AsyncIterator[Receiving]:
    async with Receiving(receiver or Receiver(resumers={})) as far:
        yield far
        await asyncio.gather(*far.receiver._tasks)
        if far.receiver.client is not None:
            await far.receiver.client.aclose()


async def provisioner(ann: Person) -> str:
    """The key of a platform that makes keys for its agents."""
    answer = await ann.post("/api-keys", {"name": "platform", "role": "admin", "kind": "service"})
    token: str = answer.json["key"]
    return token


async def send(
    ann: Person, method: str, path: str, body: Any = None, token: str | None = None, **headers: str
) -> Answer:
    sent = {"Authorization": f"Bearer {token or ann.token}"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient() as http:
        found = await http.request(method, base(ann) + path, json=body, headers=sent)
    answer = Answer(found.status_code, found.headers, found.content)
    if answer.status >= 300:
        assert_error(answer)
    return answer


def delivery(url: str, **changes: Any) -> dict[str, Any]:
    said = {"type": "webhook", "url": url, "registration_id": str(uuid.uuid4()), "signing_secret": new_secret()}
    return {**said, **changes}


async def test_an_instance_is_an_agents_key_of_that_name(ann: Person) -> None:
    token = await provisioner(ann)
    made = await send(ann, "POST", "/v1/instances", {"instance_name": "bot"}, token, Idempotency_Key="k")
    assert made.status == 201
    instance, secret = made.json["instance"], made.json["credential"]["token"]
    assert (set(made.json), instance["name"]) == ({"instance", "credential"}, "bot")
    again = await send(ann, "POST", "/v1/instances", {"instance_name": "bot"}, token, Idempotency_Key="k")
    assert (again.status, again.json) == (200, made.json)
    [_, key] = (await ann.get("/api-keys/")).json
    assert (key["name"], key["kind"], key["role"]) == ("bot", "agent", "member")
    client = AsyncClient(base(ann), secret)
    assert (await client.create(SENT, "k")).status == "pending"
    await client.aclose()
    other = await send(ann, "POST", "/v1/instances", {"instance_name": "other"}, token, Idempotency_Key="k")
    assert_error(other, 409, "idempotency_conflict")
    path = f"/v1/instances/{instance['id']}"
    assert (await send(ann, "GET", path, token=token)).json == instance
    named = await send(ann, "PATCH", path, {"instance_name": "robot"}, token, Idempotency_Key="p")
    assert (named.status, named.json) == (200, {**instance, "name": "robot"})
    await send(ann, "PATCH", path, {"instance_name": "third"}, token, Idempotency_Key="p2")
    assert (await send(ann, "PATCH", path, {"instance_name": "robot"}, token, Idempotency_Key="p")).json == named.json
    changed = await send(ann, "PATCH", path, {"instance_name": "else"}, token, Idempotency_Key="p")
    assert_error(changed, 409, "idempotency_conflict")


async def test_a_deleted_instance_asks_nothing_and_what_it_asked_is_cancelled(ann: Person) -> None:
    made = (await send(ann, "POST", "/v1/instances", {"instance_name": "bot"}, Idempotency_Key="k")).json
    client = AsyncClient(base(ann), made["credential"]["token"])
    asked = await client.create(SENT, "k")
    path = f"/v1/instances/{made['instance']['id']}"
    for _ in range(2):
        assert (await send(ann, "DELETE", path)).status == 204
    assert_error(await send(ann, "GET", path), 404, "not_found")
    assert_error(await send(ann, "PATCH", path, {"instance_name": "x"}, Idempotency_Key="p"), 404, "not_found")
    again = await send(ann, "POST", "/v1/instances", {"instance_name": "bot"}, Idempotency_Key="k")
    assert_error(again, 409, "instance_deleted")
    assert_error(await send(ann, "DELETE", f"/v1/instances/{uuid.uuid4()}"), 404, "not_found")
    assert (await ann.run({"id": asked.id}))["status"] == "cancelled"
    assert (await ann.get("/api-keys/")).json == []
    refused = await send(ann, "GET", f"/v1/requests/{asked.id}", token=made["credential"]["token"])
    assert_error(refused, 401, "not_authenticated")
    await client.aclose()


async def test_the_life_of_an_instance_is_in_the_companys_log(ann: Person) -> None:
    made = (await send(ann, "POST", "/v1/instances", {"instance_name": "bot"}, Idempotency_Key="k")).json
    instance = made["instance"]["id"]
    assert (
        await send(ann, "PATCH", f"/v1/instances/{instance}", {"instance_name": "robot"}, Idempotency_Key="p")
    ).status == 200
    assert (await send(ann, "DELETE", f"/v1/instances/{instance}")).status == 204
    found = [one["event"] for one in (await ann.get("/audit/log")).json]
    events = [one for one in reversed(found) if one["type"] == "instance_changed"]
    assert [(one["number"], one["instance_id"], one["by"]) for one in events] == [
        (number, instance, ann.email) for number in (1, 2, 3)
    ]
    names = [[one[side] and one[side]["name"] for side in ("before", "after")] for one in events]
    assert names == [[None, "bot"], ["bot", "robot"], ["robot", None]]


async def test_only_who_may_make_keys_makes_instances(ann: Person, agent: Agent) -> None:
    member = await ann.post("/api-keys", {"name": "ci", "role": "member", "kind": "service"})
    for token in (agent.token, member.json["key"]):
        refused = await send(ann, "POST", "/v1/instances", {}, token, Idempotency_Key="k")
        assert_error(refused, 403, "forbidden")
    nameless = await send(ann, "POST", "/v1/instances", {}, Idempotency_Key="k")
    assert (nameless.status, nameless.json["instance"]["name"][:9]) == (201, "instance-")
    assert_error(await send(ann, "POST", "/v1/instances", {}), 400, "missing_idempotency_key")
    taken = await send(ann, "POST", "/v1/instances", {"instance_name": "support bot"}, Idempotency_Key="k2")
    assert_error(taken, 409, "already_exists")


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ([], "invalid_request", None),
        ({"instance_name": ""}, "invalid_request", "instance_name"),
        ({"instance_name": None}, "invalid_request", "instance_name"),
        ({"instance_name": "a\nb"}, "invalid_request", "instance_name"),
        ({"name": "x"}, "invalid_request", "name"),
        ({"delivery": None}, "invalid_request", "delivery"),
        ({"delivery": {"type": "webhook"}}, "invalid_request", "delivery.url"),
        ({"delivery": delivery(URL, type="queue")}, "unsupported_delivery_type", "delivery.type"),
        ({"delivery": delivery(URL, more=1)}, "invalid_request", "delivery.more"),
        ({"delivery": delivery(URL, registration_id="x")}, "invalid_request", "delivery.registration_id"),
        ({"delivery": delivery(URL, signing_secret="whsec_x")}, "invalid_request", "delivery.signing_secret"),
        ({"delivery": delivery("http://a.example")}, "invalid_webhook_url", "delivery.url"),
        ({"delivery": delivery("https://10.0.0.1")}, "invalid_webhook_url", "delivery.url"),
        ({"delivery": delivery("https://169.254.169.254/latest")}, "invalid_webhook_url", "delivery.url"),
        ({"delivery": delivery("https://[::ffff:10.0.0.1]/")}, "invalid_webhook_url", "delivery.url"),
        ({"delivery": delivery("https://user:word@a.example")}, "invalid_webhook_url", "delivery.url"),
        ({"delivery": delivery("ftp://a.example")}, "invalid_webhook_url", "delivery.url"),
        ({"delivery": delivery("nonsense")}, "invalid_webhook_url", "delivery.url"),
    ],
)  # fmt: skip
async def test_what_is_said_of_an_instance_is_taken_strictly(
    ann: Person, body: Any, code: str, param: str | None
) -> None:
    assert_error(await send(ann, "POST", "/v1/instances", body, Idempotency_Key="k"), 400, code, param)
    assert (await ann.get("/api-keys/")).json == []


async def test_a_receiver_is_verified_and_told_of_decisions(ann: Person) -> None:
    woken: asyncio.Queue[Request] = asyncio.Queue()

    async def resume(_: Mapping[str, Any], request: Request) -> None:
        await woken.put(request)

    async with receiving(Receiver(resumers={"none": resume})) as far:
        made = await far.receiver.provision(
            provider_url=base(ann), provisioner_token=await provisioner(ann), url=far.url, instance_name="bot"
        )
        client = far.receiver.client
        assert client is not None
        context = {"resume": {"framework": "none", "thread_id": "t"}}
        asked = await client.create({**SENT, "context": context}, "k")
        run = await ann.run({"id": asked.id})
        await ann.resume(run, run["parked_at"])
        async with asyncio.timeout(30):
            found = await woken.get()
        assert (found.id, found.status) == (asked.id, "approved")
        await client.consume(asked.id, "k")
        await client.report_outcome(asked.id, "succeeded")
        cancelled = await client.cancel((await client.create({**SENT, "timeout": "1h"}, "k2")).id)
        first, resolved, second = await far.bodies(3)
        assert first["type"] == "webhook.verification"
        assert resolved == {
            "id": resolved["id"],
            "type": "request.resolved",
            "instance_id": made.instance_id,
            "request_id": asked.id,
            "created_at": resolved["created_at"],
        }
        assert second["request_id"] == cancelled.id
        assert str(uuid.UUID(resolved["id"])) == resolved["id"]
        got = await client.get(asked.id)
        assert got.decision is not None
        assert resolved["created_at"] == got.decision.decided_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        shown = await send(ann, "GET", f"/v1/instances/{made.instance_id}")
        assert shown.json["delivery"] == {"type": "webhook", "url": far.url, "registration_id": made.registration_id}
        assert (await ann.get("/webhooks/")).json == (await ann.get("/notifications/")).json == []


async def test_a_message_that_is_refused_comes_again_as_it_was(ann: Person, house: House) -> None:
    async with receiving() as far:
        await far.receiver.provision(
            provider_url=base(ann), provisioner_token=await provisioner(ann), url=far.url, instance_name="bot"
        )
        client = far.receiver.client
        assert client is not None
        far.fails.append(503)
        asked = await client.create(SENT, "k")
        await client.cancel(asked.id)
        _, first, second = await far.bodies(3)
        assert first == second
        (before, _), (after, _) = far.seen[1:]
        assert before["webhook-id"] == after["webhook-id"] == first["id"]


async def test_a_rule_that_decides_at_once_is_told_too_and_no_other_agent_is(ann: Person, agent: Agent) -> None:
    await agent.rules(ALLOWS)
    async with receiving() as far:
        await far.receiver.provision(
            provider_url=base(ann), provisioner_token=await provisioner(ann), url=far.url, instance_name="bot"
        )
        client = far.receiver.client
        assert client is not None
        other = await agent.asks()
        mine = await client.create({**SENT, "arguments": {"amount": 2}}, "k")
        await client.consume(mine.id, "k")
        await client.report_outcome(mine.id, "succeeded")
        last = await client.cancel((await client.create({**SENT, "tool": "other"}, "k2")).id)
        told = [one["request_id"] for one in (await far.bodies(3))[1:]]
        assert sorted(told) == sorted([mine.id, last.id])
        assert other.id not in told


async def test_a_place_is_replaced_and_taken_away(ann: Person) -> None:
    async with receiving() as first, receiving() as second:
        made = await first.receiver.provision(
            provider_url=base(ann), provisioner_token=await provisioner(ann), url=first.url, instance_name="bot"
        )
        client = first.receiver.client
        assert client is not None
        path, said = f"/v1/instances/{made.instance_id}", delivery(second.url)
        second.receiver.secret, second.receiver.registration_id = said["signing_secret"], said["registration_id"]
        moved = await send(ann, "PATCH", path, {"delivery": said}, Idempotency_Key="p")
        assert moved.json["delivery"] == {name: said[name] for name in ("type", "url", "registration_id")}
        await client.cancel((await client.create(SENT, "k")).id)
        assert [one["type"] for one in await second.bodies(2)] == ["webhook.verification", "request.resolved"]
        verify(said["signing_secret"], second.seen[1][0], second.seen[1][1])
        again = await send(ann, "PATCH", path, {"delivery": said}, Idempotency_Key="p")
        assert again.json == moved.json
        without = await send(ann, "PATCH", path, {"delivery": None}, Idempotency_Key="p2")
        assert "delivery" not in without.json
        await client.cancel((await client.create(SENT, "k2")).id)
        last = await send(ann, "PATCH", path, {"delivery": said}, Idempotency_Key="p3")
        assert last.status == 200
        assert [one["type"] for one in await second.bodies(3)][2] == "webhook.verification"
        assert len(first.seen) == 1


async def test_a_receiver_that_does_not_answer_the_challenge_makes_no_instance(ann: Person) -> None:
    token = await provisioner(ann)
    async with receiving() as far:
        for status in (204, 302, 500, 401):
            far.fails.append(status)
            with pytest.raises(WebhookVerificationFailed):
                await far.receiver.provision(provider_url=base(ann), provisioner_token=token, url=far.url)
        url = far.url
    with pytest.raises(ProvisionError):
        await Receiver(resumers={}).provision(provider_url=base(ann), provisioner_token=token, url=url)
    assert [one["name"] for one in (await ann.get("/api-keys/")).json] == ["platform"]


def test_messages_come_again_for_seven_days_and_the_first_time_within_fifteen_seconds() -> None:
    assert AAP_PAUSES_S[0] <= 15
    assert 0.9 * DAYS_7_S <= sum(pauses_of("aap")) <= sum(AAP_PAUSES_S)
    assert sum(AAP_PAUSES_S) >= DAYS_7_S - 86_400


def test_the_secrets_of_the_client_are_of_32_bytes() -> None:
    assert len(base64.b64decode(new_secret().removeprefix("whsec_"))) == 32
    assert loads(b"1") == 1
