"""An agent with the public client, whose every answer is read by the client's strict parser."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from agentapprovalprotocol import AsyncClient, Client
from agentapprovalprotocol._wire import Request, loads, parse_request

from tests.web.people import company
from tests.web.support import Answer, Person
from tests.web.test_api_keys import made

SENT: dict[str, Any] = {"tool": "stripe.refund", "arguments": {"amount": 4900}, "timeout": "10m"}
ALLOWS: dict[str, Any] = {"id": "refunds", "tool": "stripe.*", "decision": "allow"}


@dataclass
class Agent:
    """The holder of an instance's credential."""

    boss: Person
    key: dict[str, Any]
    client: AsyncClient

    @property
    def base_url(self) -> str:
        return self.client.base_url

    @property
    def token(self) -> str:
        token: str = self.key["key"]
        return token

    def at(self, address: str) -> AsyncClient:
        """The agent at one daemon, with the connections of its client."""
        return AsyncClient(address, self.token, retry_budget=2.0, http=self.client._http)

    def blocking(self) -> Client:
        return Client(self.base_url, self.token, retry_budget=2.0)

    async def asks(self, key: str | None = None, **said: Any) -> Request:
        """A request as the client sends it."""
        return await self.client.create({**SENT, **said}, key or str(uuid.uuid4()))

    async def approved(self, **said: Any) -> Request:
        """A request that Ann has approved."""
        found = await self.asks(**said)
        await self.decide(found.id)
        return await self.client.get(found.id)

    async def decide(self, run_id: str, decision: str = "approved", **more: Any) -> Any:
        """The verdict of Ann at the open gate of an action."""
        run = await self.boss.run({"id": run_id})
        [gate] = run["parked_at"] if isinstance(run["parked_at"], list) else [run["parked_at"]]
        body = {"gate": gate, "decision": decision, **more}
        answer = await self.boss.post(f"/process-runs/{run_id}/resume", body)
        assert answer.status == 200, answer.raw
        return answer.json

    async def send(
        self, method: str, path: str, body: Any = None, *, data: Any = None, token: str | None = None, **headers: str
    ) -> Answer:
        """One request as it is; an answer with a body is a request, or an error in its form."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        raw = data if body is None else json.dumps(body).encode()
        if raw is not None:
            more = {"Content-Type": "application/json", **more}
        sent = {"Authorization": f"Bearer {self.token if token is None else token}", **more}
        answer = await self.client._http.request(method, self.base_url + path, content=raw, headers=sent)
        found = Answer(answer.status_code, answer.headers, answer.content)
        if found.status < 300 and path.startswith("/v1/requests"):
            parse_request(loads(found.raw))
        elif found.status >= 300:
            assert_error(found)
        return found

    async def rules(self, *rules: dict[str, Any]) -> None:
        answer = await self.boss.put(f"{company(self.boss)}/action-rules", {"rules": list(rules)})
        assert answer.status == 200, answer.raw


def assert_error(answer: Answer, status: int | None = None, code: str | None = None, param: str | None = None) -> None:
    """The answer is an error in the form of the protocol."""
    body = answer.json
    assert set(body) == {"error"}, body
    error = body["error"]
    assert {"type", "code", "message", "request_id"} <= set(error) <= {"type", "code", "message", "request_id", "param"}
    assert all(isinstance(one, str) and one for one in error.values())
    assert str(uuid.UUID(error["request_id"])) == answer.headers["X-Request-ID"]
    kinds = {
        401: "authentication", 403: "authorization", 404: "not_found", 409: "conflict", 429: "rate_limit",
        500: "internal", 503: "dependency",
    }  # fmt: skip
    assert error["type"] == kinds.get(answer.status, "invalid_request")
    assert answer.headers["Content-Type"].startswith("application/json")
    assert status in (None, answer.status), answer.raw
    assert code in (None, error["code"]), answer.raw
    assert param in (None, error.get("param")), answer.raw


@asynccontextmanager
async def agent_of(boss: Person, name: str = "support bot", **members: Any) -> AsyncIterator[Agent]:
    """An agent with a key of its own."""
    key = await made(boss, name=name, **members)
    client = AsyncClient(
        base(boss),
        key["key"],
        retry_budget=2.0,
        http=httpx.AsyncClient(timeout=httpx.Timeout(60.0, pool=None), limits=httpx.Limits(max_connections=100)),
    )
    try:
        yield Agent(boss, key, client)
    finally:
        await client.aclose()


def base(boss: Person) -> str:
    """Where the provider is."""
    return str(boss.house.client.make_url("/aap"))
