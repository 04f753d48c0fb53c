"""The client against the real service, over a line that fails."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web
from pydantic import ValidationError

from daemon.client import Patience, Penstock, Problem, Target, Unreachable
from daemon.contract.base import Response
from tests.listening import Listener
from tests.web.between import LOST_AFTER, LOST_BEFORE, Between, Fault, said
from tests.web.support import FarSide, House, Person

BUSY = said(503, "overloaded", outcome="not_applied")
IN_DOUBT = said(503, "store_unavailable", outcome="unknown")
LIMITED = said(429, "rate_limited", retry_after="7", limit=5)


@dataclass
class Naps:
    """A clock that does not make anybody wait."""

    slept_s: list[float] = field(default_factory=list)

    async def sleep(self, wait_s: float) -> None:
        self.slept_s.append(wait_s)
        await asyncio.sleep(0)


class Stranger(Listener):
    """Answers everything alike, and notes what it was asked for."""

    def __init__(self, answer: bytes, **headers: str) -> None:
        super().__init__()
        self.answer, self.headers = answer, headers
        self.targets: list[str] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.targets.append(request.path_qs)
        return web.Response(body=self.answer, headers=self.headers)


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture
async def line(house: House) -> AsyncIterator[Between]:
    async with Between(house) as between:
        yield between


@pytest.fixture
async def api(line: Between, ann: Person, naps: Naps) -> AsyncIterator[Penstock]:
    """A client with ann's token."""
    async with Penstock(line.url, ann.token, patience=Patience(tries_max=4, sleep=naps.sleep)) as one:
        yield one


async def test_a_run_goes_from_its_start_over_its_gate_to_its_end(api: Penstock) -> None:
    run = await api.start("line", inputs={"amount": 5})
    assert (run.status, run.parked_at) == ("parked", "signoff")
    assert run.gate is not None
    assert run.gate.decisions == ("approved", "denied")
    run = await api.resume(run.id, gate="signoff", decision="approved", digest=run.gate.digest, comment="as agreed")
    assert (run.status, run.outcome) == ("completed", "paid")
    assert [(one.step_id, one.mode) for one in run.trace if one.kind == "task"] == [
        ("look", "shadow"),
        ("pay", "shadow"),
    ]
    verdict = next(one.verdict for one in run.trace if one.step_id == "signoff")
    assert verdict is not None
    assert (verdict.decision, verdict.comment) == ("approved", "as agreed")
    assert (await api.run(run.id)) == run


async def test_somebody_registers_logs_out_and_logs_in_again(line: Between, house: House) -> None:
    async with Penstock(line.url) as api:
        session = await api.register("bob@bob.test", "correct horse", "Bob inc")
        assert (await api.me()).user.email == "bob@bob.test"
        assert session.token not in repr(session)
        await api.logout()
        assert api.token == ""
        with pytest.raises(Problem) as refused:
            await api.me()
        assert (refused.value.status, refused.value.code) == (401, "not_authenticated")
        assert (await api.login("bob@bob.test", "correct horse")).company.name == "Bob inc"
        assert (await api.me()).role == session.role


async def test_sessions_are_listed_and_ended_and_the_password_is_changed(line: Between, house: House) -> None:
    async with Penstock(line.url) as api, Penstock(line.url) as other:
        await api.register("bob@bob.test", "correct horse", "Bob inc")
        for end in ("one", "others", "password"):
            await other.login("bob@bob.test", "correct horse")
            newest, own = [one async for one in api.sessions()]
            assert (newest.current, own.current, own.kind) == (False, True, "api")
            if end == "one":
                await api.end_session(newest.id)
                await api.end_session(newest.id)
            elif end == "others":
                await api.end_other_sessions()
            else:
                await api.change_password("correct horse", "another horse battery")
            with pytest.raises(Problem) as refused:
                await other.me()
            assert refused.value.code == "not_authenticated"
        with pytest.raises(Problem) as wrong:
            await api.change_password("correct horse", "a third horse")
        assert (wrong.value.status, wrong.value.code) == (401, "invalid_credentials")


async def test_templates_and_their_graphs_are_read(api: Penstock) -> None:
    verticals = [one.vertical async for one in api.templates()]
    assert "line" in verticals
    assert (await api.template("line")).inputs == {"amount": 10}
    canvas = await api.canvas("line")
    assert [node.id for node in canvas.nodes if node.gate] == ["signoff"]
    rules = await api.rules("refund")
    assert [rule.source for rule in rules] == [rule.source for rule in (await api.template("refund")).rules]


async def test_a_list_goes_on_over_all_its_pages(api: Penstock, line: Between) -> None:
    made = [(await api.start("line", inputs={"amount": one})).id for one in range(5)]
    line.seen.clear()
    assert [run.id async for run in api.runs(status="parked", limit=2)] == made[::-1]
    assert len(line.seen) == 3
    assert all("status=parked" in path and "limit=2" in path for _, path, _ in line.seen)
    assert [run.id async for run in api.runs(status="completed")] == []
    run = await api.run(made[0])
    assert [event.seq async for event in api.events(run.id, after=1)] == list(range(2, run.version + 1))


async def test_a_refusal_has_all_that_the_contract_gives_it(api: Penstock) -> None:
    run = await api.start("line", inputs={"amount": 5})
    with pytest.raises(Problem) as refused:
        await api.resume(run.id, gate="elsewhere", decision="approved")
    problem = refused.value
    assert (problem.status, problem.code, problem.retryable) == (409, "gate_mismatch", False)
    assert problem.more["parked_at"] == "signoff"
    assert problem.request_id
    assert str(problem) == problem.detail
    with pytest.raises(Problem, match="amount"):
        await api.start("line", inputs={"amount": "five"})


async def test_a_decision_on_what_was_shown_before_is_refused(api: Penstock) -> None:
    run = await api.start("line", inputs={"amount": 5})
    for old in ({"digest": "sha256:another"}, {"version": run.version - 1}):
        with pytest.raises(Problem) as refused:
            await api.resume(run.id, gate="signoff", decision="approved", **old)
        assert refused.value.code == "stale"
    assert (await api.resume(run.id, gate="signoff", decision="denied", version=run.version)).outcome == "refused"


@pytest.mark.parametrize(
    "faults", [[LOST_BEFORE], [LOST_AFTER], [LOST_AFTER, BUSY, LOST_AFTER], [IN_DOUBT, LOST_BEFORE]]
)
async def test_what_is_repeated_happens_once(api: Penstock, line: Between, faults: list[Fault]) -> None:
    line.faults = list(faults)
    run = await api.start("line", inputs={"amount": 5})
    assert [one.id async for one in api.runs()] == [run.id]
    keys = {key for method, _, key in line.seen if method == "POST"}
    assert len(keys) == 1
    assert sum(method == "POST" for method, _, _ in line.seen) == len(faults) + 1
    line.faults = list(faults)
    assert (await api.resume(run.id, gate="signoff", decision="approved")).status == "completed"


async def test_it_waits_as_long_as_it_is_asked_to_and_a_little_more(api: Penstock, line: Between, naps: Naps) -> None:
    line.faults = [LIMITED, BUSY]
    await api.me()
    assert 7 <= naps.slept_s[0] <= 8.75
    assert 1 <= naps.slept_s[1] <= 1.25


@pytest.mark.parametrize(("fault", "raised"), [(LOST_BEFORE, Unreachable), (BUSY, Problem), (LOST_AFTER, Unreachable)])
async def test_its_patience_ends(api: Penstock, line: Between, fault: Fault, raised: type[Exception]) -> None:
    line.faults = [fault] * 9
    with pytest.raises(raised):
        await api.start("line", inputs={"amount": 5})
    assert len(line.seen) == 4


async def test_it_does_not_wait_longer_than_its_patience(api: Penstock, line: Between, naps: Naps) -> None:
    line.faults = [said(429, "rate_limited", retry_after="60")]
    with pytest.raises(Problem) as refused:
        await api.me()
    assert (refused.value.retry_after_s, naps.slept_s) == (60, [])


async def test_other_refusals_are_not_asked_for_again(api: Penstock, line: Between) -> None:
    with pytest.raises(Problem) as refused:
        await api.run("none")
    assert refused.value.code == "not_found"
    assert len(line.seen) == 1


async def test_a_service_that_is_not_there_is_unreachable(unused_tcp_port: int, naps: Naps) -> None:
    patience = Patience(tries_max=3, sleep=naps.sleep)
    async with Penstock(f"http://127.0.0.1:{unused_tcp_port}", "t", patience=patience) as api:
        with pytest.raises(Unreachable, match=r"cannot be reached: connection refused\."):
            await api.me()
        with pytest.raises(Unreachable, match="cannot be reached"):
            await api.health()
    assert len(naps.slept_s) == 2


async def test_a_service_without_tls_is_not_reached_by_https(far: FarSide, naps: Naps) -> None:
    secure = far.url.replace("http://", "https://")
    async with Penstock(secure, "t", patience=Patience(tries_max=1, sleep=naps.sleep)) as api:
        with pytest.raises(Unreachable, match="is it http://"):
            await api.me()


async def test_what_is_no_service_of_this_kind_is_said_to_be_none(far: FarSide, naps: Naps) -> None:
    async with Penstock(far.url, "t", patience=Patience(sleep=naps.sleep)) as api:
        with pytest.raises(Unreachable, match="no Penstock service"):
            await api.me()
        far.status = 404
        with pytest.raises(Problem, match="none of this service"):
            await api.me()


@pytest.mark.parametrize("raw", [b"[" * 100_000, json.dumps({**BUSY.body, "detail": None}).encode()])
async def test_a_refusal_of_a_stranger_is_a_problem_that_can_be_printed(raw: bytes) -> None:
    problem = Problem.from_response(503, {}, raw)
    assert (problem.code, str(problem)) == (
        "no_problem_document",
        "The answer has status 503, and is none of this service.",
    )


@pytest.mark.parametrize(
    "said_by_it", [b"id: 1\ndata: {\n\n", b'id: 1\ndata: {"a": 1}\n\n', b"id: \xff\n\n", b"id: a\rb\n\n"]
)
async def test_a_stream_of_a_stranger_is_said_to_be_none_of_this_service(said_by_it: bytes, naps: Naps) -> None:
    async with Stranger(said_by_it) as stranger, Penstock(stranger.url, patience=Patience(sleep=naps.sleep)) as api:
        with pytest.raises(Unreachable, match="no Penstock service"):
            await anext(api.listen())


async def test_a_list_that_leads_back_to_a_page_of_before_ends() -> None:
    async with (
        Stranger(b"[]", Link='<http://else.test/?page=2>; rel="next"') as stranger,
        Penstock(stranger.url) as api,
    ):
        with pytest.raises(Unreachable, match="no Penstock service"):
            [one async for one in api.runs()]
    assert stranger.targets == ["/process-runs/?limit=50", "/process-runs/?page=2"]


async def test_a_deletion_and_a_log_out_that_a_proxy_refuses_are_not_done(api: Penstock, line: Between) -> None:
    line.faults = [Fault("said", 404, {}, {}), Fault("said", 401, {}, {})]
    with pytest.raises(Problem, match="none of this service"):
        await api.delete_connector("payment")
    with pytest.raises(Problem, match="none of this service"):
        await api.logout()
    assert api.token


@pytest.mark.parametrize(
    "address", ["", "nowhere", "ftp://a.test", "http://", "http://a.test/?x=1", "http://u:p@a.test"]
)
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(ValueError, match="is an http or https URL"):
        Penstock(address)


async def test_nothing_is_sent_outside_of_the_block(line: Between) -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await Penstock(line.url).me()


async def test_a_path_is_no_more_than_one_step_deep(api: Penstock, line: Between) -> None:
    with pytest.raises(Problem):
        await api.run("../connectors?x=1#y")
    assert line.seen[0][1] == "/process-runs/..%2Fconnectors%3Fx%3D1%23y"


async def test_a_watch_tells_the_whole_history_over_lines_that_break(api: Penstock, line: Between) -> None:
    run = await api.start("line", inputs={"amount": 5})
    line.last_ids.clear()
    line.faults = [Fault("cut", after_bytes=700), LOST_BEFORE, BUSY, Fault("cut", after_bytes=300)]
    seqs: list[int] = []
    async for event in api.watch(run.id):
        seqs.append(event.seq)
        if event.type == "gate_opened":
            asyncio.get_running_loop().create_task(api.resume(run.id, gate="signoff", decision="approved"))
    ended = await api.run(run.id)
    assert seqs == list(range(1, ended.version + 1))
    streams = [last for last in line.last_ids if last is not None]
    assert len(streams) == 5
    assert streams == sorted(streams, key=int)


async def test_a_watch_goes_on_over_a_restart(house: House, line: Between, ann: Person) -> None:
    run = await ann.start("line", {"amount": 5})
    line.faults = [Fault("cut", after_bytes=300)]

    async def restart(_wait_s: float) -> None:
        await house.restart()
        await ann.resume(run, "signoff")

    async with Penstock(line.url, ann.token, patience=Patience(sleep=restart)) as api:
        seqs = [event.seq async for event in api.watch(run["id"])]
    assert seqs == list(range(1, (await ann.run(run))["version"] + 1))
    assert seqs[-1] > run["version"]


async def test_a_watch_of_what_has_ended_ends(api: Penstock) -> None:
    run = await api.start("quick")
    assert [event.type async for event in api.watch(run.id)][-1] == "run_ended"
    assert [event async for event in api.watch(run.id, after=run.version)] == []


async def test_a_watch_takes_events_of_any_size(api: Penstock) -> None:
    run = await api.start("quick", inputs={"text": "x" * 700_000})
    first = await anext(api.watch(run.id))
    assert (first.inputs or {})["text"] == "x" * 700_000


async def test_a_watch_of_nothing_is_refused_and_one_of_a_dead_line_ends(api: Penstock, line: Between) -> None:
    with pytest.raises(Problem):
        await anext(api.watch("none"))
    run = await api.start("line", inputs={"amount": 5})
    line.faults = [LOST_BEFORE] * 9
    line.seen.clear()
    with pytest.raises(Unreachable):
        await anext(api.watch(run.id))
    assert len(line.seen) <= 8  # aiohttp makes each attempt at a GET twice


async def test_connectors_are_bound_changed_and_unbound(api: Penstock, far: FarSide) -> None:
    target = Target(base_url=far.url, method="POST", path="/do", auth_type="bearer", reversible=True)
    made = await api.put_connector("payment", target, "canary")
    assert (made.tool_id, made.auth_token_set, made.reversible) == ("payment", True, True)
    trial = await api.test_connector("payment", target, send=True)
    assert (trial.ok, trial.status_code) == (True, 200)
    held = await api.put_connector("payment", made.model_copy(update={"reversible": False}))
    assert (held.reversible, held.auth_token_set) == (False, True)
    assert [one async for one in api.connectors()] == [await api.connector("payment")]
    assert [one.version async for one in api.connector_changes("payment")] == [2, 1]
    await api.delete_connector("payment")
    await api.delete_connector("payment")
    with pytest.raises(Problem):
        await api.connector("payment")


async def test_a_connector_is_gone_when_the_answer_that_says_so_is_lost(api: Penstock, line: Between) -> None:
    await api.put_connector("payment", Target(base_url="https://api.example.com"))
    line.faults = [LOST_AFTER]
    await api.delete_connector("payment")
    assert [one async for one in api.connectors()] == []


async def test_a_test_of_a_connector_is_not_made_twice(api: Penstock, line: Between, far: FarSide) -> None:
    target = Target(base_url=far.url, method="POST")
    for fault, raised in ((LOST_AFTER, Unreachable), (IN_DOUBT, Problem)):
        line.faults = [fault]
        with pytest.raises(raised):
            await api.test_connector("payment", target, send=True)
    assert len(far.seen) == 1
    line.faults = [BUSY]
    assert (await api.test_connector("payment", target, send=True)).ok


async def test_a_log_out_counts_when_its_answer_is_lost(api: Penstock, line: Between) -> None:
    line.faults = [LOST_AFTER]
    await api.logout()
    assert api.token == ""


async def test_the_evidence_is_exported_whole_or_not_at_all(api: Penstock, line: Between) -> None:
    run = await api.start("line", inputs={"amount": 5})
    lines = [one async for one in api.audit_export()]
    assert all(json.loads(one) for one in lines)
    assert (await api.run_audit(run.id))["version"] == run.version
    assert [one.size async for one in api.checkpoints()]
    assert [one["change"]["action"] async for one in api.audit_log()] == ["log_in", "register"]
    assert await api.audit_keys()
    line.faults = [Fault("cut", after_bytes=len(lines[0]) + 10)]
    with pytest.raises(Unreachable):
        [one async for one in api.audit_export()]


async def test_a_service_says_how_it_is_also_when_it_is_not_well(api: Penstock, line: Between) -> None:
    assert (await api.health()).status == "ok"
    body = {"status": "full", "version": "0", "store": "full", "runs": {"live": 0}}
    line.faults = [Fault("said", 503, {}, body)]
    assert (await api.health()).status == "full"


def test_an_answer_is_frozen_and_keeps_what_a_newer_service_adds() -> None:
    one = Response.model_validate({"since": "tomorrow"})
    assert one.model_dump() == {"since": "tomorrow"}
    with pytest.raises(ValidationError):
        one.since = "today"  # type: ignore[attr-defined]


async def test_the_example_of_the_guide_works_when_pasted(house: House, ann: Person) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "client.md").read_text(encoding="utf-8")
    asynchronous, blocking = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    out = await pasted(asynchronous, house, ann)
    assert "Medical director sign-off" in out
    assert out.rstrip().endswith("run_ended")
    parked = await ann.start("line", {"amount": 1})
    assert await pasted(blocking, house, ann) == ""
    assert (await ann.run(parked))["status"] == "completed"


async def pasted(code: str, house: House, person: Person) -> str:
    """What an example writes; the client is here under the name that it has in the service."""
    code = code.replace("penstock_client", "daemon.client").replace("ada@example.test", person.email)
    code = code.replace("http://127.0.0.1:8080", str(house.client.make_url("")))
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=PIPE, stderr=PIPE)
    out, err = (part.decode() for part in await process.communicate())
    assert (process.returncode, err) == (0, "")
    return out
