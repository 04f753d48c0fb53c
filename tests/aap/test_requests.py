"""Requests for approvals: asked, decided, used up once, and what came of the call."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from datetime import timedelta
from itertools import cycle
from typing import Any

import pytest
from agentapprovalprotocol import ConflictError, CredentialRefused, NotFound
from agentapprovalprotocol._wire import loads, matches, parse_request

from tests.aap.support import ALLOWS, SENT, Agent, agent_of, assert_error
from tests.web.support import Person


async def test_a_request_waits_for_a_person(agent: Agent) -> None:
    more = {"server": "stripe", "agent_reasoning": "charged twice", "context": {"call_id": "1", "none": None}}
    found = await agent.asks("k1", **more)
    assert found.status == "pending"
    assert matches(found, {**SENT, **more})
    assert found.deadline_at - found.created_at == timedelta(minutes=10)
    assert await agent.client.get(found.id) == found
    run = await agent.boss.run({"id": found.id})
    assert (run["vertical"], run["status"], run["inputs"]) == ("action", "parked", SENT["arguments"])
    assert run["created_by"] == "support bot"


async def test_the_same_key_answers_how_it_stands_by_now(agent: Agent) -> None:
    body = {**SENT, "arguments": {"amount": 1}}
    first = await agent.send("POST", "/v1/requests", body, Idempotency_Key="k")
    assert first.status == 201
    again = await agent.send("POST", "/v1/requests", body, Idempotency_Key="k")
    assert (again.status, again.json) == (200, first.json)
    await agent.decide(first.json["id"])
    again = await agent.send(
        "POST",
        "/v1/requests",
        data=b'{"tool":"stripe.refund","timeout":"10m","arguments":{"amount":1.0}}',
        Idempotency_Key="k",
    )
    assert (again.status, again.json["status"]) == (200, "approved")
    other = await agent.send("POST", "/v1/requests", {**body, "timeout": "11m"}, Idempotency_Key="k")
    assert_error(other, 409, "idempotency_conflict")


async def test_an_approval_is_used_up_once_and_has_an_outcome(agent: Agent) -> None:
    asked = await agent.asks()
    await agent.decide(asked.id, comment="confirmed")
    found = await agent.client.get(asked.id)
    assert found.decision is not None
    assert (found.status, found.decision.note) == ("approved", "confirmed")
    assert found.decision.expires_at == found.decision.decided_at + timedelta(minutes=10)
    with pytest.raises(ConflictError, match="not_consumed"):
        await agent.client.report_outcome(found.id, "succeeded")
    used = await agent.client.consume(found.id, "one")
    assert used.consumption is not None
    assert used.consumption.outcome is None
    assert await agent.client.consume(found.id, "one") == used
    with pytest.raises(ConflictError, match="already_consumed"):
        await agent.client.consume(found.id, "two")
    told = await agent.client.report_outcome(found.id, "succeeded", "re_1")
    assert told.consumption is not None
    assert told.consumption.outcome is not None
    assert (told.consumption.outcome.status, told.consumption.outcome.note) == ("succeeded", "re_1")
    assert await agent.client.report_outcome(found.id, "succeeded", "re_1") == told
    for status, note in (("failed", "re_1"), ("succeeded", None), ("succeeded", "re_2")):
        with pytest.raises(ConflictError, match="outcome_conflict"):
            await agent.client.report_outcome(found.id, status, note)
    assert await agent.client.get(found.id) == told
    assert (told.decision, told.created_at, told.deadline_at) == (found.decision, asked.created_at, asked.deadline_at)
    run = await agent.boss.run({"id": found.id})
    assert (run["status"], run["outcome"]) == ("completed", "made")


async def test_what_is_denied_says_why_and_cannot_be_used(agent: Agent) -> None:
    asked = await agent.asks()
    await agent.decide(asked.id, "denied", comment="not twice")
    found = await agent.client.get(asked.id)
    assert found.decision is not None
    assert (found.status, found.decision.note, found.decision.expires_at) == ("denied", "not twice", None)
    with pytest.raises(ConflictError, match="not_approved"):
        await agent.client.consume(asked.id, "one")
    with pytest.raises(ConflictError, match="already_terminal"):
        await agent.client.cancel(asked.id)


async def test_rules_allow_and_deny_at_once(agent: Agent) -> None:
    await agent.rules(ALLOWS, {"id": "never", "tool": "db.*", "decision": "deny", "reason": "Nobody drops tables."})
    allowed = await agent.asks()
    assert allowed.status == "approved"
    assert (await agent.client.consume(allowed.id, "one")).consumption is not None
    denied = await agent.asks(tool="db.drop")
    assert denied.decision is not None
    assert (denied.status, denied.decision.note) == ("denied", "Nobody drops tables.")


async def test_a_request_that_is_pending_is_cancelled(agent: Agent) -> None:
    asked = await agent.asks()
    with pytest.raises(ConflictError, match="not_approved"):
        await agent.client.consume(asked.id, "early")
    gone = await agent.client.cancel(asked.id)
    assert gone.status == "cancelled"
    assert await agent.client.cancel(asked.id) == gone
    with pytest.raises(ConflictError, match="not_approved"):
        await agent.client.consume(asked.id, "late")
    approved = await agent.approved()
    with pytest.raises(ConflictError, match="already_terminal"):
        await agent.client.cancel(approved.id)


async def test_a_reader_waits_for_the_decision(agent: Agent) -> None:
    asked = await agent.asks()
    assert (await agent.client.get(asked.id, wait=1)).status == "pending"
    found, _ = await asyncio.gather(agent.client.get(asked.id, wait=25), agent.decide(asked.id))
    assert found.status == "approved"


async def test_a_thousand_uses_at_once_are_one(agent: Agent) -> None:
    found = await agent.approved()
    daemons = cycle(agent.at(str(one.make_url("/aap"))) for one in agent.boss.house.opened)

    async def use() -> str:
        try:
            await next(daemons).consume(found.id, str(uuid.uuid4()))
        except ConflictError as refused:
            return refused.code
        return "used"

    assert Counter(await asyncio.gather(*(use() for _ in range(1_000)))) == {"used": 1, "already_consumed": 999}


async def test_a_request_is_of_its_agent_alone(agent: Agent, ann: Person) -> None:
    asked = await agent.asks()
    async with agent_of(ann, "other bot") as other:
        with pytest.raises(NotFound):
            await other.client.get(asked.id)
        with pytest.raises(NotFound):
            await other.client.consume(asked.id, "k")
    service = await ann.post("/api-keys", {"name": "ci", "kind": "service", "role": "member"})
    for token in (ann.token, service.json["key"]):
        assert_error(await agent.send("GET", f"/v1/requests/{asked.id}", token=token), 403, "forbidden")
        assert_error(await agent.send("POST", "/v1/requests", SENT, token=token, Idempotency_Key="k"), 403, "forbidden")
    await ann.delete(f"/api-keys/{agent.key['id']}")
    with pytest.raises(CredentialRefused):
        await agent.client.get(asked.id)


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"tool": ""}, "tool"),
        ({"tool": None}, "tool"),
        ({"tool": 5}, "tool"),
        ({"server": ""}, "server"),
        ({"server": None}, "server"),
        ({"arguments": []}, "arguments"),
        ({"arguments": None}, "arguments"),
        ({"context": None}, "context"),
        ({"context": "x"}, "context"),
        ({"agent_reasoning": 1}, "agent_reasoning"),
        ({"timeout": "10"}, "timeout"),
        ({"timeout": "0s"}, "timeout"),
        ({"timeout": "010m"}, "timeout"),
        ({"timeout": "PT10M"}, "timeout"),
        ({"timeout": "999999999h"}, "timeout"),
        ({"timeout": 10}, "timeout"),
        ({"status": "approved"}, "status"),
    ],
)
async def test_a_body_is_taken_strictly(agent: Agent, changes: dict[str, Any], param: str) -> None:
    refused = await agent.send("POST", "/v1/requests", {**SENT, **changes}, Idempotency_Key="k")
    assert_error(refused, 400, "invalid_request", param)


@pytest.mark.parametrize(
    "raw",
    [b"", b"[]", b"{", b'{"tool":"a","tool":"a","arguments":{},"timeout":"1m"}', b"\xff",
     b'{"tool":"a","arguments":{"a":1,"a":1},"timeout":"1m"}',
     b'{"tool":"\\ud800","arguments":{},"timeout":"1m"}', b'{"tool":"a","arguments":{"n":NaN},"timeout":"1m"}',
     b'{"tool":"a","arguments":' + b'{"a":' * 100 + b"1" + b"}" * 100 + b',"timeout":"1m"}'],
)  # fmt: skip
async def test_what_is_no_object_is_refused(agent: Agent, raw: bytes) -> None:
    assert_error(await agent.send("POST", "/v1/requests", data=raw, Idempotency_Key="k"), 400, "invalid_request")


async def test_errors_have_the_form_of_the_protocol(agent: Agent) -> None:
    asked = await agent.asks()
    path = f"/v1/requests/{asked.id}"
    assert_error(await agent.send("POST", "/v1/requests", SENT), 400, "missing_idempotency_key")
    assert_error(await agent.send("POST", f"{path}/consume"), 400, "missing_idempotency_key")
    for wait in ("soon", "-1s", "1", "", "1ms"):
        assert_error(await agent.send("GET", f"{path}?wait={wait}"), 400, "invalid_request", "wait")
    assert_error(await agent.send("GET", f"{path}?waits=5s"), 400, "invalid_request", "waits")
    assert_error(await agent.send("GET", f"/v1/requests/{uuid.uuid4()}"), 404, "not_found")
    assert_error(await agent.send("GET", "/v1/requests/no-id"), 404, "not_found")
    assert_error(await agent.send("GET", "/v1/nothing"), 404, "not_found")
    assert_error(await agent.send("PUT", path), 405, "method_not_allowed")
    for token in ("nonsense", "psk_" + "a" * 43):
        assert_error(await agent.send("GET", path, token=token), 401, "not_authenticated")
    assert_error(
        await agent.send("POST", "/v1/requests", data=b"{}", Idempotency_Key="k", Content_Type="text/plain"), 415
    )
    large = b'{"tool":"' + b"a" * 2**21 + b'"}'
    assert_error(await agent.send("POST", "/v1/requests", data=large, Idempotency_Key="k"), 413, "too_large")
    given = str(uuid.uuid4())
    assert (await agent.send("GET", path, X_Request_ID=given)).headers["X-Request-ID"] == given
    refused = await agent.send("GET", "/v1/nothing", X_Request_ID="mine")
    assert refused.headers["X-Request-ID"] != "mine"
    for body, param in (
        ({"status": "unknown"}, "status"),
        ({"status": "failed", "note": ""}, "note"),
        ({"more": 1}, "more"),
    ):
        assert_error(await agent.send("POST", f"{path}/outcome", body), 400, "invalid_request", param)


NUMBERS = (
    "1", "1.0", "1e0", "1E+2", "0", "-0.0", "-0", "0.1", "12345678901234567890.12", "9223372036854775807",
    "9223372036854775808",
    "123456789012345678901234567890", "1e400", "1e-400", "0.1000000000000000055", "9007199254740993", "1.10",
)  # fmt: skip


async def test_numbers_come_back_as_they_came(agent: Agent) -> None:
    written = ",".join(f'"n{place}":{one}' for place, one in enumerate(NUMBERS))
    arguments = f'{{{written},"none":null,"yes":true,"deep":[{{"n":12345678901234567890.12}}]}}'
    raw = f'{{"tool":"pay","arguments":{arguments},"context":{{"n":1e400}},"timeout":"10m"}}'
    made = await agent.send("POST", "/v1/requests", data=raw.encode(), Idempotency_Key="k")
    assert made.status == 201
    sent = loads(raw)
    for answer in (made, await agent.send("GET", f"/v1/requests/{made.json['id']}")):
        assert matches(parse_request(loads(answer.raw)), sent)
        assert b'"n1":1.0,' in answer.raw
        assert b'"n8":12345678901234567890.12,' in answer.raw
    run = await agent.boss.run({"id": made.json["id"]})
    assert run["inputs"]["n8"] == "12345678901234567890.12"
    other = raw.replace("0.1000000000000000055", "0.1000000000000000056")
    assert_error(
        await agent.send("POST", "/v1/requests", data=other.encode(), Idempotency_Key="k"), 409, "idempotency_conflict"
    )
