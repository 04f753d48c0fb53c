"""Section 1: an Idempotency-Key is the caller's; rights are checked on a repeat, too; what a kill
leaves unanswered is answered as it would have been.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from actors import failpoints
from actors.core.canonical import canonical
from daemon.settings import Settings
from daemon.web.responses import StoredResponse
from tests.web.people import colleague, company, give, invited, member_id
from tests.web.support import PASSWORD, Answer, FarSide, Person, assert_problem
from tests.web.test_idempotency import LINE, assert_again, replayed
from tests.web.test_notifications import settled, told
from tests.web.test_own_templates import document, publish
from tests.web.test_webhooks_api import delivered, made

KEY_BODY = {"name": "deploy", "kind": "service", "role": "admin"}
Ask = Callable[[Person], Awaitable[Answer]]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Nobody waits for a run, and notifications can be made."""
    return settings.model_copy(update={"wait_s": 0.0, "public_url": "https://penstock.test"})


@pytest.fixture
def dying() -> Iterator[None]:
    """What was decided is committed, and its answer is kept no more: the process ends there."""

    def die(name: str) -> None:
        if name == "before-receipt":
            raise RuntimeError("the process ends here")

    failpoints.arm(die)
    yield
    failpoints.disarm()


async def of_key(ann: Person, role: str = "viewer") -> Person:
    made = await ann.post("/api-keys", {"name": f"bot-{role}", "kind": "service", "role": role})
    assert made.status == 201, made.raw
    return Person(ann.house, {**ann.session, "token": made.json["key"]})


@pytest.mark.parametrize(
    ("path", "body"),
    [("/api-keys", KEY_BODY), ("{company}/members", {"email": "new@new.test", "role": "admin"}), ("/webhooks", None)],
)
async def test_nobody_else_gets_the_secret_of_an_answer(ann: Person, far: FarSide, path: str, body: Any) -> None:
    path, body = path.replace("{company}", company(ann)), body or {"url": far.url}
    first = await ann.post(path, body, Idempotency_Key="deploy-1")
    assert first.status == 201, first.raw
    for other in (await colleague(ann, "vic", "viewer"), await colleague(ann, "mo", "manager"), await of_key(ann)):
        assert_problem(await other.post(path, body, Idempotency_Key="deploy-1"), 403, "forbidden")
    assert_again(first, await ann.post(path, body, Idempotency_Key="deploy-1"))


async def test_the_same_key_of_another_caller_is_another_request(ann: Person, far: FarSide) -> None:
    bob, bot = await colleague(ann, "bob", "admin"), await of_key(ann, "admin")
    webhooks = [await one.post("/webhooks", {"url": far.url}, Idempotency_Key="k") for one in (ann, bob)]
    assert len({(one.json["id"], one.json["secret"]) for one in webhooks}) == 2
    runs = [await one.post("/process-runs/", LINE, Idempotency_Key="k") for one in (ann, bob, bot)]
    assert len({one.json["id"] for one in runs}) == 3
    assert not any(replayed(one) for one in (*webhooks, *runs))
    other = await bob.post("/process-runs/", {**LINE, "inputs": {"amount": 6}}, Idempotency_Key="k")
    assert_problem(other, 422, "idempotency_key_reused")


async def test_a_key_is_the_persons_and_not_the_sessions(ann: Person) -> None:
    first = await ann.post("/process-runs/", LINE, Idempotency_Key="k")
    session = await ann.house.send("POST", "/auth/login", {"email": ann.email, "password": PASSWORD})
    assert_again(first, await Person(ann.house, session.json).post("/process-runs/", LINE, Idempotency_Key="k"))


async def test_the_session_of_an_accepted_invitation_is_given_to_nobody_else(ann: Person, eve: Person) -> None:
    token = (await invited(ann, eve.email, "admin"))["invitation"]["token"]
    vic = await colleague(eve, "vic", "viewer")
    first = await eve.post("/invitations/accept", {"token": token}, Idempotency_Key="accept-1")
    assert first.status == 200, first.raw
    other = await vic.post("/invitations/accept", {"token": token}, Idempotency_Key="accept-1")
    assert_problem(other, 410, "invitation_expired")
    assert_again(first, await eve.post("/invitations/accept", {"token": token}, Idempotency_Key="accept-1"))


async def test_a_repeat_needs_the_right_that_the_first_one_needed(ann: Person) -> None:
    bob = await colleague(ann, "bob", "admin")
    asked = [("/api-keys", KEY_BODY), ("/process-runs", LINE)]
    for path, body in asked:
        assert (await bob.post(path, body, Idempotency_Key="k")).status == 201
    await give(ann, bob, "viewer")
    for path, body in asked:
        assert_problem(await bob.post(path, body, Idempotency_Key="k"), 403, "forbidden")
    assert (await ann.delete(f"{company(ann)}/members/{await member_id(bob)}")).status == 204
    for path, body in asked:
        assert_problem(await bob.post(path, body, Idempotency_Key="k"), 401, "not_authenticated")


async def kept_by_an_earlier_version(ann: Person, path: str) -> None:
    """The receipts of a path as they were before 0.2: whoever the caller was."""
    store = ann.house.services.store
    id_, place = ann.session["company"]["id"], ann.session["user"]["id"]
    found = await store.receipt(id_, path, f"{place}\nk")
    assert found is not None
    await store.drop_receipts(ann.house.services.now().replace(year=9999))
    await store.keep_receipt(type(found)(id_, path, "k", *(getattr(found, one) for one in REST)))


REST = ("fingerprint", "run_id", "status", "headers", "body")


async def test_what_an_earlier_version_answered_is_answered_again_to_who_asked(ann: Person, far: FarSide) -> None:
    bob = await colleague(ann, "bob", "admin")
    start = await ann.post("/process-runs", LINE, Idempotency_Key="k")
    await kept_by_an_earlier_version(ann, "/process-runs")
    assert_again(start, await ann.post("/process-runs", LINE, Idempotency_Key="k"))
    assert (await bob.post("/process-runs", LINE, Idempotency_Key="k")).json["id"] != start.json["id"]
    key = await ann.post("/api-keys", KEY_BODY, Idempotency_Key="k")
    await kept_by_an_earlier_version(ann, "/api-keys")
    assert_again(key, await ann.post("/api-keys", KEY_BODY, Idempotency_Key="k"))
    assert_problem(await bob.post("/api-keys", KEY_BODY, Idempotency_Key="k"), 409, "already_exists")
    await ann.post("/webhooks", {"url": far.url}, Idempotency_Key="k")
    await kept_by_an_earlier_version(ann, "/webhooks")
    for one in (ann, bob):  # nothing says whose it was
        again = await one.post("/webhooks", {"url": far.url}, Idempotency_Key="k")
        assert_problem(again, 422, "idempotency_key_reused")


async def test_no_key_spells_the_receipt_of_another(ann: Person) -> None:
    first = await ann.post("/process-runs", LINE, Idempotency_Key="k")
    vic = await colleague(ann, "vic", "member")
    for text in (f"{ann.session['user']['id']} k", f"{ann.session['user']['id']}k"):
        other = await vic.post("/process-runs", LINE, Idempotency_Key=text)
        assert (other.status, other.json["id"] == first.json["id"]) == (201, False)


async def parked(ann: Person, vertical: str) -> Any:
    run = await ann.post("/process-runs", {"vertical": vertical, "inputs": {"amount": 5}}, Prefer="wait=10")
    assert run.json["status"] == "parked", run.raw
    return run.json


async def verdict(ann: Person) -> tuple[str, Any]:
    return f"/process-runs/{(await parked(ann, 'line'))['id']}/resume", {"gate": "signoff", "decision": "approved"}


async def several(ann: Person, far: FarSide) -> tuple[str, Any]:
    await ann.connect("cash-box", far.url)
    await publish(ann, document(batch="allowed"))
    run = await parked(ann, "petty-cash")
    one = {"run_id": run["id"], "gate": "signoff", "decision": "approved", "digest": run["gate"]["digest"]}
    return "/gates/verdicts", {"verdicts": [one]}


async def retry(ann: Person, far: FarSide) -> tuple[str, Any]:
    far.status = 400
    run = await ann.post("/process-runs", {"vertical": "quick"}, Prefer="wait=10")
    assert run.json["status"] == "failed", run.raw
    far.status = 200
    return f"/process-runs/{run.json['id']}/retry", None


async def promotion(ann: Person, far: FarSide) -> tuple[str, Any]:
    await ann.connect("answers", far.url, reversible=False)
    run = await ann.post("/process-runs", {"vertical": "quick"}, Prefer="wait=10")
    assert run.json["status"] == "completed", run.raw
    await ann.connect("answers", far.url)
    return f"/process-runs/{run.json['id']}/promote", {}


TWO_AND_A_CALL = {
    "vertical": "two-and-a-call",
    "title": "Two sign while a call is out",
    "inputs_schema": {"type": "object"},
    "steps": [
        {"id": "both", "kind": "gateway", "flow": "parallel", "label": "Both", "next": ["sign", "first"]},
        {"id": "sign", "kind": "gate", "label": "Two sign", "quorum": 2, "next": "joined"},
        {"id": "first", "kind": "gate", "label": "Begin the call", "next": "ask"},
        {"id": "ask", "kind": "task", "label": "Ask", "tool": "answers", "effect": "read", "next": "joined"},
        {"id": "joined", "kind": "gateway", "flow": "parallel", "label": "Joined", "next": "done"},
        {"id": "done", "kind": "end", "label": "Done", "outcome": "done"},
    ],
}


async def test_an_open_quorum_is_202_after_a_kill_too(
    ann: Person, far: FarSide, request: pytest.FixtureRequest
) -> None:
    await colleague(ann, "bob", "manager")
    await ann.connect("answers", far.url)
    path = "/process-templates/two-and-a-call"
    assert (await ann.put(f"{path}/draft", TWO_AND_A_CALL)).status == 200
    published = await ann.post(f"{path}/publish")
    assert published.status == 201, published.raw
    run = await parked(ann, "two-and-a-call")
    far.open.clear()
    assert (await ann.resume(run, "first")).status == 200  # and the call is out
    request.getfixturevalue("dying")
    body = {"gate": "sign", "decision": "approved"}
    assert (await ann.post(f"/process-runs/{run['id']}/resume", body, Idempotency_Key="k")).status == 500
    await after_the_kill(ann, far)
    again = await ann.post(f"/process-runs/{run['id']}/resume", body, Idempotency_Key="k", Prefer="wait=10")
    assert (again.status, again.json["parked_gates"]) == (202, ["sign"])


async def after_the_kill(ann: Person, far: FarSide) -> None:
    failpoints.disarm()
    far.open.set()
    await ann.house.restart()


@pytest.mark.parametrize(
    ("kind", "status", "has_location"),
    [
        ("start", 201, True),
        ("verdict", 200, False),
        ("several", 200, False),
        ("retry", 200, False),
        ("promote", 201, True),
    ],
)
async def test_what_a_kill_left_unanswered_is_answered_as_the_first_would_have_been(
    ann: Person, far: FarSide, request: pytest.FixtureRequest, kind: str, status: int, has_location: bool
) -> None:
    for tool in ("answers", "payment"):
        await ann.connect(tool, far.url)
    asking: dict[str, Callable[[], Awaitable[tuple[str, Any]]]] = {
        "verdict": lambda: verdict(ann),
        "several": lambda: several(ann, far),
        "retry": lambda: retry(ann, far),
        "promote": lambda: promotion(ann, far),
    }
    path, body = await asking[kind]() if kind in asking else ("/process-runs", {"vertical": "quick"})
    far.open.clear()
    request.getfixturevalue("dying")
    assert (await ann.post(path, body, Idempotency_Key="k")).status == 500
    await after_the_kill(ann, far)
    first = await ann.post(path, body, Idempotency_Key="k", Prefer="wait=10")
    assert (first.status, "Location" in first.headers) == (status, has_location), first.raw
    if kind == "several":
        (result,) = first.json["results"]
        assert result["status"] in (200, 202), canonical(result)
    else:
        assert ("ETag" in first.headers, first.json["status"] in ("completed", "parked")) == (True, True)
    assert_again(first, await ann.post(path, body, Idempotency_Key="k"))


async def test_what_a_kill_left_of_a_batch_is_of_that_batch(
    ann: Person, far: FarSide, request: pytest.FixtureRequest
) -> None:
    path, first = await several(ann, far)
    run = await parked(ann, "petty-cash")
    second = {**first["verdicts"][0], "run_id": run["id"], "digest": run["gate"]["digest"]}
    body = {"verdicts": [*first["verdicts"], second]}
    far.open.clear()
    request.getfixturevalue("dying")
    assert (await ann.post(path, body, Idempotency_Key="k")).status == 500
    assert (await ann.get(f"/process-runs/{run['id']}")).json["status"] == "parked"  # it was killed half-way
    await after_the_kill(ann, far)
    assert (await ann.post(path, body, Idempotency_Key="k", Prefer="wait=10")).status == 200
    decided = [(await ann.get(f"/process-runs/{one['run_id']}")).json for one in body["verdicts"]]
    batches = [visit["verdict"]["batch"] for one in decided for visit in one["trace"] if visit["verdict"] is not None]
    assert [one["size"] for one in batches] == [2, 2]
    assert batches[0]["id"] == batches[1]["id"]


async def claim(ann: Person, far: FarSide) -> tuple[str, Any]:
    run = await parked(ann, "line")
    return f"/process-runs/{run['id']}/gates/signoff/claim", {}


async def redaction(ann: Person, far: FarSide) -> tuple[str, Any]:
    path = f"/process-runs/{(await parked(ann, 'line'))['id']}"
    assert (await ann.post(f"{path}/cancel")).json["status"] == "cancelled"
    return f"{path}/redact", {"pointers": ["/inputs/amount"], "reason": "request 2026-31"}


async def redelivery(ann: Person, far: FarSide) -> tuple[str, Any]:
    hook = await made(ann, far.url, events=["gate_opened"])
    await parked(ann, "line")
    (one,) = await delivered(ann, hook, 1)
    return f"/webhooks/{hook['id']}/deliveries/{one['id']}/redeliver", {}


async def retelling(ann: Person, far: FarSide) -> tuple[str, Any]:
    rule = await told(ann, "webhook", url=far.url, events=["gate_opened"])
    await parked(ann, "line")
    (one,) = await settled(ann, rule)
    return f"/notifications/{rule['id']}/deliveries/{one['id']}/redeliver", {}


@pytest.mark.parametrize("asking", [claim, redaction, redelivery, retelling])
async def test_what_is_done_is_done_with_its_answer_so_that_a_repeat_after_a_kill_gives_that(
    ann: Person,
    far: FarSide,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    asking: Callable[[Person, FarSide], Awaitable[tuple[str, Any]]],
) -> None:
    path, body = await asking(ann, far)
    lost: list[StoredResponse] = []

    def die(response: StoredResponse) -> Any:
        lost.append(response)
        raise RuntimeError("the process ends here")

    request.getfixturevalue("dying")
    with monkeypatch.context() as dying:
        dying.setattr(StoredResponse, "response", die)
        assert (await ann.post(path, body, Idempotency_Key="k")).status == 500
    await after_the_kill(ann, far)
    again = await ann.post(path, body, Idempotency_Key="k")
    assert (again.status, again.raw) == (lost[0].status, lost[0].body)
    assert again.headers.items() >= {**lost[0].headers, "Idempotency-Replayed": "true"}.items()
