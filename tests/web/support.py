"""The service under test, the people who use it, and a far side that its connectors call."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Self

import pytest
from aiohttp import ClientResponse, web
from aiohttp.test_utils import TestClient, TestServer

from actors.core.decider import TurnResult, step
from actors.core.messages import Resume
from actors.ports import Commit, VersionConflict
from daemon.app import Lifecycle, opened
from daemon.settings import Settings
from daemon.web.app import application
from daemon.web.server.connections import READING
from daemon.web.services import Services
from tests.listening import Listener
from tests.web.answers import wrong

PASSWORD = "correct horse"
PATIENCE_S = 10.0
Client = TestClient[web.Request, web.Application]
Clients = Callable[[TestServer], Awaitable[Client]]


@dataclass(frozen=True)
class Answer:
    """A response that was read to its end."""

    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @classmethod
    async def of(cls, response: ClientResponse) -> Answer:
        return cls(response.status, response.headers, await response.read())


@dataclass
class House:
    """The service on its data folder; it can be shut down and opened again.

    With several daemons each request goes to any of them.
    """

    settings: Settings
    clients: Clients
    daemons: int = 1
    life: Lifecycle = field(default_factory=Lifecycle)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    services: Services = field(init=False)
    opened: list[Client] = field(default_factory=list)

    @property
    def client(self) -> Client:
        return random.choice(self.opened)

    async def open(self) -> None:
        self.life, self.stack, self.opened = Lifecycle(), AsyncExitStack(), []
        for _ in range(self.daemons):
            self.services = await self.stack.enter_async_context(opened(self.settings, self.life))
            server = TestServer(application(self.services))
            await server.start_server(**READING)
            self.opened.append(await self.clients(server))

    async def close(self) -> None:
        for client in self.opened:
            await client.close()
        await self.stack.aclose()

    async def restart(self) -> None:
        await self.close()
        await self.open()

    async def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        data: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request, without a token; a `body` goes as JSON, `data` as it is."""
        raw = data if body is None else json.dumps(body).encode()
        own = {"Content-Type": "application/json"} if raw is not None else {}
        response = await self.client.request(
            method, path, data=raw, headers={**own, **(headers or {})}, allow_redirects=False
        )
        async with response:
            answer = await Answer.of(response)
        differences = list(wrong(method, path, answer.status, answer.headers, answer.raw))
        assert not differences, differences
        return answer

    async def register(self, name: str) -> Person:
        body = {"email": f"{name}@{name}.test", "password": PASSWORD, "company_name": f"{name} inc"}
        answer = await self.send("POST", "/auth/register", body)
        assert answer.status == 201, answer.raw
        return Person(self, answer.json)


@dataclass
class Person:
    """Somebody with a session."""

    house: House
    session: dict[str, Any]

    @property
    def token(self) -> str:
        token: str = self.session["token"]
        return token

    @property
    def email(self) -> str:
        email: str = self.session["user"]["email"]
        return email

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    async def send(self, method: str, path: str, body: Any = None, *, data: Any = None, **headers: str) -> Answer:
        """A request with the token; `Idempotency_Key="k"` is a header."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.house.send(method, path, body, data=data, headers={**self.bearer, **more})

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.send("GET", path, **headers)

    async def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return await self.send("POST", path, body, **headers)

    async def put(self, path: str, body: Any, **headers: str) -> Answer:
        return await self.send("PUT", path, body, **headers)

    async def delete(self, path: str) -> Answer:
        return await self.send("DELETE", path)

    async def start(self, vertical: str, inputs: Any = None, *, auto: bool = True) -> Any:
        """A new run, once it rests."""
        body = {"vertical": vertical, "inputs": inputs or {}, "auto_resolve": auto}
        answer = await self.post("/process-runs/", body)
        assert answer.status == 201, answer.raw
        return answer.json

    async def resume(self, run: Any, gate: str, decision: str = "approved", **headers: str) -> Answer:
        return await self.post(f"/process-runs/{run['id']}/resume", {"gate": gate, "decision": decision}, **headers)

    async def run(self, run: Any) -> Any:
        """The run as it is now."""
        return (await self.get(f"/process-runs/{run['id']}")).json

    async def until(self, run: Any, status: str) -> Any:
        """The run as soon as it has that status; its history is followed meanwhile."""
        async with asyncio.timeout(PATIENCE_S), EventStream(self, run["id"]) as stream:
            while (now := await self.run(run))["status"] != status:
                await anext(stream)
        return now

    async def connect(self, tool_id: str, base_url: str, **how: Any) -> Any:
        """A live connector."""
        body = {"base_url": base_url, "method": "POST", "path": "/do", "reversible": True, "retries": 0, **how}
        answer = await self.put(f"/connectors/{tool_id}", body)
        assert answer.status in {200, 201}, answer.raw
        return answer.json


class EventStream:
    """A run's history as server-sent events, one dict each: `id` or None, `event`, `data`."""

    def __init__(self, person: Person, run_id: str, **headers: str) -> None:
        self._person = person
        self._path = self.path(run_id)
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response: ClientResponse

    @staticmethod
    def path(run_id: str) -> str:
        return f"/process-runs/{run_id}/events"

    @staticmethod
    def place(text: str) -> Any:
        return int(text)

    async def __aenter__(self) -> Self:
        headers = {**self._person.bearer, "Accept": "text/event-stream", **self._headers}
        self.response = await self._person.house.client.get(self._path, headers=headers)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.response.close()

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        return self

    async def __anext__(self) -> dict[str, Any]:
        event: dict[str, Any] = {}
        async with asyncio.timeout(PATIENCE_S):
            while line := await self.response.content.readline():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    event[name] = value
                elif "data" in event:
                    return {
                        "id": self.place(event["id"]) if "id" in event else None,
                        "event": event["event"],
                        "data": json.loads(event["data"]),
                    }
        raise StopAsyncIteration


class CompanyStream(EventStream):
    """What happens in all runs of a company; the argument is a query, and ids are texts."""

    @staticmethod
    def path(run_id: str) -> str:
        return f"/events{run_id}"

    @staticmethod
    def place(text: str) -> Any:
        return text


@dataclass
class Seen:
    """One request as the far side got it."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: Any


class FarSide(Listener):
    """A real server on the loopback address; while it is `held` it takes requests and does not
    answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Seen] = []
        self.status = 200
        self.answer: Any = {"ok": True}
        self.open = asyncio.Event()
        self.open.set()
        self.arrived = asyncio.Event()

    async def handle(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self.seen.append(Seen(request.method, request.raw_path, request.headers, json.loads(raw) if raw else None))
        self.arrived.set()
        await self.open.wait()
        return web.json_response(self.answer, status=self.status)


def assert_problem(answer: Answer, status: int, code: str, **more: Any) -> Any:
    """The answer is a problem document in the contract's form, and has these further members."""
    assert (answer.status, answer.json["code"]) == (status, code), answer.raw
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json
    assert {"type", "title", "status", "detail", "code", "request_id", "retryable"} <= set(body)
    assert body["status"] == status
    assert body["request_id"] == answer.headers["X-Request-ID"]
    assert isinstance(body["retryable"], bool)
    assert body["type"].endswith(code)
    assert body["detail"][0].isupper(), body["detail"]
    assert body["detail"].endswith("."), body["detail"]
    assert not body["detail"].endswith(".."), body["detail"]
    for name, value in more.items():
        assert body[name] == value, (name, body[name])
    return body


def assert_invalid(answer: Answer, *pointers: str) -> None:
    """The answer is 422 `invalid` and points at exactly these places."""
    body = assert_problem(answer, 422, "invalid")
    assert [error["pointer"] for error in body["errors"]] == list(pointers)
    assert all(error["detail"] for error in body["errors"])


async def contest(ann: Person, run: Any, decision: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Have another process decide on a run at its gate between our decision and our commit; returns
    its version.
    """
    services = ann.house.services
    before = await services.store.load(ann.session["company"]["id"], run["id"])
    assert before is not None
    verdict = Resume(gate="signoff", decision=decision, by="rival", role="owner", at=services.now())
    template = await services.catalog.pinned(before.company_id, before.template_digest)
    rival = step(before, verdict, template, {})
    assert isinstance(rival, TurnResult)
    journal: Any = services.store
    append = journal.append

    async def contested(ours: Commit) -> bytes:
        monkeypatch.setattr(journal, "append", append)
        assert decision != "approved" or ours.run.version == rival.run.version  # alike, they lead to the same version
        await append(Commit(rival.run, rival.events, rival.run.resting, follows=ours.follows))
        raise VersionConflict

    monkeypatch.setattr(journal, "append", contested)
    return rival.run.version
