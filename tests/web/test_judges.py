"""Judges that are tools: called like any tool, and whatever is no clear answer is a flag."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.listening import Listener
from tests.web.support import FarSide, House, Person
from tests.web.test_own_templates import publish

GUIDE = Path("docs/agents.md").read_text(encoding="utf-8")
JUDGES: list[dict[str, Any]] = [
    {"id": "small", "label": "Small amount", "steps": ["credit"], "rule": "inputs.amount <= 100", "confidence": 0.9},
    {"id": "fraud-model", "label": "Fraud model", "steps": ["credit"], "tool": "fraud-judge"},
]
CREDIT = {
    "id": "credit",
    "kind": "task",
    "label": "Credit the account",
    "tier": "medium",
    "tool": "account-credit",
    "effect": "reversible",
    "next": "credited",
}
DOCUMENT = {
    "vertical": "small-credit",
    "title": "Small credit",
    "judges": JUDGES,
    "steps": [CREDIT, {"id": "credited", "kind": "end", "label": "Credited", "outcome": "credited"}],
}
CLEAR = {"verdict": "clear", "confidence": 0.8, "reason": "A known buyer."}
BODY = {"body_map": {"amount": "inputs.amount", "where": "call.url"}}


class Model(Listener):
    """A stand-in for a model behind chat completions; without anything to say it hangs."""

    def __init__(self) -> None:
        super().__init__()
        self.says: list[str] = []
        self.heard: list[Any] = []
        self.ends = asyncio.Event()

    async def handle(self, request: web.Request) -> web.Response:
        self.heard.append(await request.json())
        if not self.says:
            await self.ends.wait()
        return web.json_response({"choices": [{"message": {"content": one}} for one in self.says]})


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    async with Model() as found:
        yield found
        found.ends.set()


@pytest.fixture
async def judge(ann: Person, far: FarSide, model: Model) -> AsyncIterator[str]:
    """The adapter of the guide in front of the model, bound as a judge of the company."""
    code = GUIDE.split("```python\n")[2].partition("```")[0]
    adapter: dict[str, Any] = {"__name__": "judge"}
    exec(compile(code, "judge.py", "exec"), adapter)  # noqa: S102 - what the guide tells its readers to run
    server = TestServer(adapter["application"](f"{model.url}/v1", "key", "model", 10), host="127.0.0.1")
    await server.start_server()
    url = str(server.make_url("")).rstrip("/")
    await publish(ann, DOCUMENT)
    await ann.connect("account-credit", far.url)
    await ann.connect("fraud-judge", url, path="/judge", **BODY)
    yield url
    await server.close()


async def test_what_a_tool_said_is_at_the_gate_and_in_the_events(ann: Person, far: FarSide) -> None:
    await publish(ann, DOCUMENT)
    await ann.connect("fraud-judge", far.url, path="/judge", **BODY)
    far.answer = CLEAR
    run = await ann.start("small-credit", {"amount": 60})
    assert (run["status"], run["parked_at"], len(far.seen)) == ("parked", "credit", 1)
    assert far.seen[0].body == {"amount": 60, "where": None}
    assert far.seen[0].headers["Idempotency-Key"].startswith(f"{run['id']}:credit:1:fraud-model:sha256:")
    panel = run["gate"]["panel"]
    small = {"judge": "small", "label": "Small amount", "verdict": "clear", "confidence": 0.9, "reason": None}
    model = {"judge": "fraud-model", "label": "Fraud model", **CLEAR}
    votes = [{**one, "model": None} for one in (small, model)]
    assert (panel["votes"], panel["clear"], panel["quorum"], panel["confidence"]) == (votes, 2, 2, 0.8)
    assert (panel["weighed"]["why"], panel["weighed"]["clears"], panel["weighed"]["raw"]) == ("few_cases", False, 0.8)
    assert run["trace"][0]["panel"] == panel
    events = (await ann.get(f"/process-runs/{run['id']}/events")).json
    asked, answered, decided, opened = events[2:]
    assert (asked["type"], asked["votes"], asked["calls"][0]["judge"]) == ("panel_asked", [small], "fraud-model")
    assert (answered["type"], answered["vote"]) == ("judge_answered", model)
    assert (decided["type"], decided["confidence"], decided["by"]) == ("panel_decided", 0.8, "autopilot")
    assert opened["weighed"] == decided["weighed"]
    done = (await ann.resume(run, "credit")).json
    assert (done["status"], done["outcome"]) == ("completed", "credited")


async def test_the_judges_of_a_template_are_listed(ann: Person) -> None:
    await publish(ann, DOCUMENT)
    found = (await ann.get("/process-templates/small-credit/judges")).json
    assert found == [{"tool": None, **JUDGES[0]}, {"rule": None, "confidence": None, **JUDGES[1]}]
    canvas = (await ann.get("/process-templates/small-credit/canvas")).json
    assert canvas["nodes"][0]["judges"] == ["small", "fraud-model"]
    checked = (await ann.post("/process-templates/validate", canvas)).json
    assert checked["valid"], checked
    assert (await ann.get("/process-templates/small-credit")).json["calls"] == ["account-credit", "fraud-judge"]


async def test_judges_that_are_out_are_asked_again_after_a_restart(house: House, ann: Person, far: FarSide) -> None:
    await publish(ann, DOCUMENT)
    await ann.connect("fraud-judge", far.url, path="/judge", timeout_s=30)
    far.open.clear()
    far.answer = CLEAR
    body = {"vertical": "small-credit", "inputs": {"amount": 60}}
    run = (await ann.post("/process-runs/", body, Prefer="respond-async")).json
    await far.arrived.wait()
    now = await ann.run(run)
    assert (now["status"], now["trace"][0]["status"], now["trace"][0]["panel"]["waiting"]) == (
        "executing",
        "judging",
        ["fraud-model"],
    )
    far.open.set()
    await house.restart()
    parked = await ann.until(run, "parked")
    assert parked["gate"]["panel"]["clear"] == 2
    assert {one.headers["Idempotency-Key"] for one in far.seen} == {far.seen[0].headers["Idempotency-Key"]}


@pytest.mark.parametrize(
    ("says", "amount", "why"),
    [
        ([json.dumps({**CLEAR, "confidence": 1})], 600, "The rule inputs.amount <= 100 does not hold."),
        ([], 60, "ran out before the answer was complete"),
        (['{"verdict": "clear", "verdict": "flag", "confidence": 1, "reason": ""}'], 60, "no object"),
        (['{"verdict": "flag", "verdict": "clear", "confidence": 1, "reason": ""}'], 60, "no object"),
        ([json.dumps(CLEAR), json.dumps({**CLEAR, "verdict": "flag"})], 60, "502"),
        ([f"Surely: {json.dumps(CLEAR)}"], 60, "no object"),
        (['{"verdict": "clear", "confidence": "7 of 10", "reason": ""}'], 60, "The confidence is no number"),
    ],
)
async def test_a_model_that_lies_hangs_or_contradicts_itself_clears_nothing(
    ann: Person, far: FarSide, model: Model, judge: str, says: list[str], amount: int, why: str
) -> None:
    model.says = says
    if not says:
        await ann.connect("fraud-judge", judge, path="/judge", timeout_s=0.2, **BODY)
    run = await ann.start("small-credit", {"amount": amount})
    assert (run["status"], run["parked_at"], far.seen) == ("parked", "credit", [])
    assert run["gate"]["reason"] == "1 of 2 judges clear it, and 2 are needed"
    panel = run["gate"]["panel"]
    assert (panel["confidence"], panel["weighed"]) == (None, None)
    assert why in next(one["reason"] for one in panel["votes"] if one["verdict"] == "flag")
    assert json.loads(model.heard[0]["messages"][1]["content"])["amount"] == amount


async def test_a_model_that_answers_as_asked_makes_the_quorum(ann: Person, model: Model, judge: str) -> None:
    model.says = [json.dumps(CLEAR)]
    run = await ann.start("small-credit", {"amount": 60})
    assert run["gate"]["panel"]["confidence"] == 0.8


async def test_what_judges_were_asked_and_repeated_is_redacted_with_the_run(ann: Person, far: FarSide) -> None:
    await publish(ann, DOCUMENT)
    await ann.connect("fraud-judge", far.url, path="/judge", body_map={"buyer": "inputs.buyer"})
    far.answer = {**CLEAR, "reason": "Zora Quendolin is a known buyer."}
    run = await ann.start("small-credit", {"amount": 60, "buyer": "Zora Quendolin"})
    await ann.resume(run, "credit")
    path = f"/process-runs/{run['id']}"
    body = {"pointers": ["/inputs/buyer"], "reason": "request 2026-31"}
    answer = await ann.post(f"{path}/redact", body)
    assert (answer.status, answer.json["left"]) == (200, [])
    for view in (path, f"{path}/events", f"{path}/audit", "/audit/export"):
        assert "quendolin" not in (await ann.get(view)).raw.decode().casefold(), view
    digests = {one["digest"] for one in (await ann.get(f"{path}/events")).json if one["type"].startswith("panel_")}
    assert all(one.startswith("redacted on ") for one in digests)
