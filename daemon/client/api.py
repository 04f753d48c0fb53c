"""The API as methods, one for each thing that a caller may ask."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Any, Self

from pydantic import TypeAdapter

from daemon.client.audit import AuditClient
from daemon.client.connectors import ConnectorsClient
from daemon.client.errors import Problem
from daemon.client.streams import follow_run
from daemon.client.transport import CONNECTION_ERRORS, ApiRequest, keyed, path
from daemon.client.webhooks import WebhooksClient
from daemon.contract.accounts import Account, Session
from daemon.contract.events import Event, GateChanged
from daemon.contract.runs import Run
from daemon.contract.service import Health
from daemon.contract.templates import Canvas, Template, TemplateDetail

TEMPLATES = TypeAdapter(list[Template])
RUNS = TypeAdapter(list[Run])
EVENTS = TypeAdapter(list[Event])


class Penstock(ConnectorsClient, AuditClient, WebhooksClient):
    """A service, as the holder of a token sees it: `async with Penstock(address, token) as api: …`.

    A request that changes something carries an Idempotency-Key. It is repeated under that key when
    the connection is lost and on 429 and 503, as often as `patience` says. Problem is raised for a
    refusal, Unreachable where no response comes.
    """

    async def __aenter__(self) -> Self:
        """Open the client; nothing is sent yet."""
        self._transport.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close all connections."""
        await self._transport.close()

    @property
    def token(self) -> str:
        """The token of each request: as given, or of the last log-in; empty for none."""
        return self._transport.token

    async def register(
        self, email: str, password: str, company_name: str, name: str | None = None, *, key: str | None = None
    ) -> Session:
        """Make a company and its first user, and go on as that user."""
        body = {"email": email, "password": password, "company_name": company_name}
        return await self._log_in("/auth/register", body if name is None else {**body, "name": name}, keyed(key))

    async def login(self, email: str, password: str) -> Session:
        """Log in, and go on with the token."""
        return await self._log_in("/auth/login", {"email": email, "password": password}, {})

    async def logout(self) -> None:
        """Revoke the token, at once and for good."""
        try:
            await self._transport.send(ApiRequest("POST", "/auth/logout"))
        except Problem as problem:
            if problem.status != HTTPStatus.UNAUTHORIZED:
                raise  # else it counts no longer, perhaps since a response was lost
        self._transport.token = ""

    async def me(self) -> Account:
        """The user, company and role of the token."""
        return await self._get(Account, "auth", "me")

    async def health(self) -> Health:
        """The health of the service, also when it cannot serve."""
        try:
            return (await self._transport.send_once(ApiRequest("GET", "/health"))).read(Health)
        except CONNECTION_ERRORS as error:
            raise self._transport.unreachable(error) from error

    def templates(self) -> AsyncIterator[Template]:
        return self._all("/process-templates/", TEMPLATES)

    async def template(self, vertical: str) -> TemplateDetail:
        """A template, with the schema of its inputs and an example."""
        return await self._get(TemplateDetail, "process-templates", vertical)

    async def canvas(self, vertical: str, *, digest: str | None = None) -> Canvas:
        """A template as a graph: the version with that digest, or the current one."""
        query = {} if digest is None else {"digest": digest}
        return await self._get(Canvas, "process-templates", vertical, "canvas", query=query)

    async def start(
        self,
        vertical: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        auto_resolve: bool = True,
        wait_s: int | None = None,
        key: str | None = None,
    ) -> Run:
        """Start a run, and wait at most `wait_s` until it rests."""
        body = {"vertical": vertical, "inputs": dict(inputs or {}), "auto_resolve": auto_resolve}
        return await self._post(Run, "/process-runs/", body, key=key, headers=_waiting(wait_s))

    def runs(
        self, *, status: str | None = None, vertical: str | None = None, parked_at: str | None = None, limit: int = 50
    ) -> AsyncIterator[Run]:
        """The runs, newest first; `limit` is the size of a page."""
        wanted = {"status": status, "vertical": vertical, "parked_at": parked_at, "limit": str(limit)}
        query = {name: value for name, value in wanted.items() if value is not None}
        return self._all("/process-runs/", RUNS, query)

    async def run(self, run_id: str) -> Run:
        return await self._get(Run, "process-runs", run_id)

    async def resume(
        self,
        run_id: str,
        *,
        gate: str,
        decision: str,
        digest: str | None = None,
        comment: str | None = None,
        output: Any = None,
        inputs: Mapping[str, Any] | None = None,
        version: int | None = None,
        wait_s: int | None = None,
        key: str | None = None,
    ) -> Run:
        """Decide at a gate; with the `digest` that was shown, refused if it has changed since.

        `inputs` are of those that the gate names in `missing`.
        """
        brought = None if inputs is None else dict(inputs)
        said = {"digest": digest, "comment": comment, "output": output, "inputs": brought}
        body = {"gate": gate, "decision": decision, **{name: one for name, one in said.items() if one is not None}}
        condition = {} if version is None else {"If-Match": f'"{version}"'}
        headers = {**_waiting(wait_s), **condition}
        return await self._post(Run, path("process-runs", run_id, "resume"), body, key=key, headers=headers)

    async def cancel(self, run_id: str, *, reason: str | None = None, key: str | None = None) -> Run:
        """End a run where it stands."""
        body = {} if reason is None else {"reason": reason}
        return await self._post(Run, path("process-runs", run_id, "cancel"), body, key=key)

    async def retry(self, run_id: str, *, wait_s: int | None = None, key: str | None = None) -> Run:
        """Go on from the failed step."""
        return await self._post(Run, path("process-runs", run_id, "retry"), {}, key=key, headers=_waiting(wait_s))

    def events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """The history of a run so far, behind a place."""
        return self._all(path("process-runs", run_id, "events"), EVENTS, {"after": str(after)})

    def watch(self, run_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Follow a run's events until it has ended; goes on over lost connections."""
        return _events(self.follow(run_id, after=after))

    def follow(self, run_id: str, *, after: int = 0) -> AsyncIterator[Event | GateChanged]:
        """As `watch`, and each open gate that changes because a connector did."""
        return follow_run(self._transport, path("process-runs", run_id, "events"), after)

    async def _log_in(self, address: str, body: Mapping[str, str], headers: Mapping[str, str]) -> Session:
        session = (await self._transport.send(ApiRequest("POST", address, body=body, headers=headers))).read(Session)
        self._transport.token = session.token
        return session


def _waiting(wait_s: int | None) -> dict[str, str]:
    if wait_s is None:
        return {}
    return {"Prefer": f"wait={wait_s}" if wait_s else "respond-async"}


async def _events(found: AsyncIterator[Event | GateChanged]) -> AsyncIterator[Event]:
    async for one in found:
        if isinstance(one, Event):
            yield one
