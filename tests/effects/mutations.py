"""What may change between what a gate showed and the verdict, each with what it means for the
call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.crash.service import PERSON, Service
from tests.effects.world import JSON, Books, gate_at, put, start

STEPS: list[JSON] = [
    {"id": "fork", "kind": "gateway", "flow": "parallel", "label": "Both", "next": ["send", "tally"]},
    {"id": "send", "kind": "task", "label": "Send", "tier": "high", "tool": "send", "effect": "", "next": "join"},
    {"id": "tally", "kind": "task", "label": "Count", "tool": "tally", "effect": "read", "next": "beside"},
    {
        "id": "beside",
        "kind": "gateway",
        "flow": "exclusive",
        "tier": "high",
        "label": "Once more?",
        "branches": [{"branch": "again", "to": "tally"}, {"branch": "on", "to": "join"}],
    },
    {"id": "join", "kind": "gateway", "flow": "parallel", "label": "Both done", "next": "done"},
    {"id": "done", "kind": "end", "label": "Done", "outcome": "done"},
]
INPUTS = {"ref": "a b&c=ü/%41+", "amount": 12.5, "nested": {"list": [1, None, True]}}


def steps_of(effect: str) -> list[JSON]:
    """The template's steps, where what is sent has that effect."""
    return [{**step, "effect": effect} if step["id"] == "send" else step for step in STEPS]


@dataclass
class Scene:
    """A run that is parked at `send`, and what surrounds it."""

    service: Service
    stranger: Service
    books: Books
    vertical: str
    connector: JSON
    run: JSON

    async def change(self, **fields: Any) -> None:
        """Store the connector of `send` with other fields."""
        self.connector = {**self.connector, **fields}
        await put(self.service, "send", self.connector)

    async def delete(self) -> None:
        status, _ = await self.service.send("DELETE", "/connectors/send")
        assert status == 204

    async def again(self) -> None:
        """Send the other branch round again, so that it brings other facts."""
        await decide(self.service, self.run, "beside", "again")

    async def refused(self, method: str, path: str, body: JSON, *statuses: int) -> None:
        status, answer = await self.service.send(method, path, body)
        assert status in statuses, answer


async def decide(service: Service, run: JSON, gate: str, decision: str) -> None:
    status, answer = await service.send(
        "POST", f"/process-runs/{run['id']}/resume", {"gate": gate, "decision": decision}
    )
    assert status in {200, 202}, answer


def base(books: Books) -> JSON:
    """The connector as each gate shows it first."""
    return {
        "base_url": books.url(),
        "method": "POST",
        "path": "/ok/ok/send",
        "query_map": {"ref": "inputs.ref"},
        "body_map": {"amount": "inputs.amount", "tally": "tally.receipt"},
        "auth_type": "bearer",
        "auth_token": "a-token-of-the-tests",
        "reversible": True,
        "retries": 0,
    }


# What a mutation does: the connector is another one; the facts are, so that the gate has opened
# again by itself; or nothing that the gate covers.
CONNECTOR, FACTS, NOTHING = "connector", "facts", "nothing"
Act = Callable[[Scene], Awaitable[Any]]


@dataclass(frozen=True)
class Mutation:
    """One change; `before` is what the connector has other than `base` when the gate opens."""

    name: str
    kind: str
    act: Act
    before: JSON = field(default_factory=dict)


def stored(name: str, before: JSON | None = None, /, kind: str = CONNECTOR, **fields: Any) -> Mutation:
    """The connector is stored with these fields changed."""

    async def act(scene: Scene) -> None:
        await scene.change(**fields)

    return Mutation(name, kind, act, before or {})


async def other_origin(scene: Scene) -> None:
    await scene.change(base_url=scene.books.url(1))


async def other_base_path(scene: Scene) -> None:
    await scene.change(base_url=scene.books.url() + "/ok", path="/ok/elsewhere")


async def same_url_cut_otherwise(scene: Scene) -> None:
    await scene.change(base_url=scene.books.url() + "/ok", path="/ok/send")


async def there_and_back(scene: Scene) -> None:
    path = scene.connector["path"]
    await scene.change(path="/ok/ok/there")
    await scene.change(path=path)


async def deleted(scene: Scene) -> None:
    await scene.delete()


async def deleted_and_made_otherwise(scene: Scene) -> None:
    await scene.delete()
    await scene.change(path="/ok/ok/anew")


async def again(scene: Scene) -> None:
    await scene.again()


async def twice_again(scene: Scene) -> None:
    for _ in range(2):
        await scene.again()


async def another_tool(scene: Scene) -> None:
    await put(
        scene.service, "tally", {**base(scene.books), "query_map": None, "body_map": None, "path": "/ok/ok/tally"}
    )


async def another_company(scene: Scene) -> None:
    await put(scene.stranger, "send", {**base(scene.books), "path": "/ok/ok/theirs"})


async def another_run(scene: Scene) -> None:
    run = await start(scene.service, scene.vertical, INPUTS)
    await decide(scene.service, run, "beside", "again")


async def a_connector_refused(scene: Scene) -> None:
    await scene.refused("PUT", "/connectors/send", {**scene.connector, "path": "/{placeholder"}, 422)


async def a_trial_elsewhere(scene: Scene) -> None:
    await scene.refused("POST", "/connectors/send/test", {**scene.connector, "path": "/ok/ok/trial", "send": True}, 200)


async def a_wrong_decision(scene: Scene) -> None:
    path = f"/process-runs/{scene.run['id']}/resume"
    await scene.refused("POST", path, {"gate": "send", "decision": "perhaps"}, 422)


async def a_wrong_gate(scene: Scene) -> None:
    path = f"/process-runs/{scene.run['id']}/resume"
    await scene.refused("POST", path, {"gate": "done", "decision": "approved"}, 409)


async def reading(scene: Scene) -> None:
    gate_at(await scene.service.read(scene.run["id"]), "send")


UNMAPPED = {"query_map": None, "body_map": None}
BASIC = {"auth_type": "basic", "auth_token": "ann:correct-horse"}
HEADER = {"auth_type": "header", "auth_header": "X-Key"}
MUTATIONS = (
    Mutation("another origin", CONNECTOR, other_origin),
    Mutation("another path in the base", CONNECTOR, other_base_path),
    Mutation("the same URL cut otherwise", CONNECTOR, same_url_cut_otherwise),
    stored("POST becomes PUT", method="PUT"),
    stored("POST becomes PATCH", method="PATCH"),
    stored("POST becomes DELETE", method="DELETE"),
    stored("POST becomes GET", method="GET"),
    stored("GET becomes POST", {"method": "GET"}, method="POST"),
    stored("another path", path="/ok/ok/other"),
    stored("a path with escapes", path="/ok/ok/%C3%A4%2F..%41"),
    stored("a path that is not ASCII", path="/ok/ok/größe"),
    stored("a path with a query", path="/ok/ok/send?x=1"),
    stored("a path with dots", path="/ok/ok/a/../b/./c"),
    stored("a path with a key", path="/ok/ok/{inputs.ref}"),
    stored("a path with a key that is nowhere", path="/ok/ok/{inputs.nowhere}"),
    stored("a fixed header", headers={"X-Team": "tests"}),
    stored("another fixed header", {"headers": {"X-Team": "tests"}}, headers={"X-Team": "others"}),
    stored("a map of the response", response_map={"receipt": "receipt"}),
    stored("one more in the query", query_map={"ref": "inputs.ref", "amount": "inputs.amount"}),
    stored("another key in the query", query_map={"ref": "inputs.nested"}),
    stored("another name in the query", query_map={"reference": "inputs.ref"}),
    stored("an empty query", query_map={}),
    stored("no query", query_map=None),
    stored("one more in the body", body_map={"amount": "inputs.amount", "ref": "inputs.ref"}),
    stored("another key in the body", body_map={"amount": "inputs.nested"}),
    stored("another name in the body", body_map={"sum": "inputs.amount"}),
    stored("an empty body", body_map={}),
    stored("no body", body_map=None),
    stored("all of the body", query_map=None, body_map=None),
    stored("a key that is nowhere", body_map={"amount": "inputs.nowhere"}),
    stored(
        "a key that is somewhere now", {"body_map": {"amount": "inputs.nowhere"}}, body_map={"amount": "inputs.amount"}
    ),
    stored("no credential", auth_type="none", auth_token=None),
    stored("a credential in another header", **HEADER),
    stored("a credential in one more header", HEADER, auth_header="X-Other-Key"),
    stored("a password", **BASIC),
    stored("another secret", auth_token="another-token-of-the-tests"),
    stored("live becomes shadow", reversible=False),
    stored("shadow becomes live", {"reversible": False}, reversible=True),
    stored("stored as it was", kind=NOTHING),
    stored("stored as it was, its secret not sent", kind=NOTHING, auth_token=None),
    stored("stored as it was, in shadow", {"reversible": False}, kind=NOTHING),
    stored("stored as it was, without a credential", {"auth_type": "none", "auth_token": None}, kind=NOTHING),
    Mutation("there and back", CONNECTOR, there_and_back),
    stored("more time", timeout_s=20),
    stored("more attempts", retries=5),
    stored("idempotent", idempotent=True),
    stored("a signal", signal_rule="response.status == 404"),
    Mutation("deleted", CONNECTOR, deleted),
    Mutation("deleted and made otherwise", CONNECTOR, deleted_and_made_otherwise),
    Mutation("an argument in the body changed beside", FACTS, again),
    Mutation("an argument in the body changed twice", FACTS, twice_again),
    Mutation("an argument in the query changed beside", FACTS, again, {"query_map": {"t": "tally.receipt"}}),
    Mutation("all facts are sent and changed beside", FACTS, again, UNMAPPED),
    Mutation("facts that are not sent changed beside", FACTS, again, {"body_map": {"amount": "inputs.amount"}}),
    Mutation("another tool", NOTHING, another_tool),
    Mutation("another company's tool", NOTHING, another_company),
    Mutation("another run", NOTHING, another_run),
    Mutation("a connector that was refused", NOTHING, a_connector_refused),
    Mutation("a trial", NOTHING, a_trial_elsewhere),
    Mutation("a wrong decision", NOTHING, a_wrong_decision),
    Mutation("a wrong gate", NOTHING, a_wrong_gate),
    Mutation("reading", NOTHING, reading),
)


async def stranger_of(service: Service) -> Service:
    """The service as another company sees it."""
    status, session = await service.send("POST", "/auth/register", {**PERSON, "email": "eve@other.test"})
    assert status == 201, session
    return replace(service, token=session["token"])
