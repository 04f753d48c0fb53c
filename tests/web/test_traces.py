"""Traces as a collector gets them: one from the request through turn and commit to the call, and
none unasked.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from pydantic import ValidationError
from structlog.testing import capture_logs

from actors.context import TRACE
from daemon.observability.tracing import TracedJournal, tracer
from daemon.settings import Settings
from tests.web.collector import Arrived, Collector
from tests.web.support import Clients, FarSide, House, Person

SERVER, INTERNAL, CLIENT = 2, 1, 3
TRACE_ID, ABOVE = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CALLERS = f"00-{TRACE_ID}-{ABOVE}-01"
UNSAMPLED = f"00-{TRACE_ID}-{ABOVE}-00"
NOBODY = ""
PATIENCE_S = 60.0
START = "POST /process-runs"
RESUME = "POST /process-runs/{run_id}/resume"
QUICK = {"vertical": "quick", "inputs": {"name": "x"}}


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with Collector() as one:
        yield one


@pytest.fixture
def settings(settings: Settings, collector: Collector) -> Settings:
    return settings.model_copy(update={"otlp_endpoint": collector.url})


@pytest.fixture
async def house(settings: Settings, aiohttp_client: Clients) -> AsyncIterator[House]:
    """Some tests close it themselves, as its last spans are sent then."""
    one = House(settings, aiohttp_client)
    await one.open()
    yield one
    await one.close()


def below(parent: Arrived, *spans: Arrived) -> bool:
    """Whether all of these are the children of one, in its trace."""
    return all((span.trace_id, span.parent_id) == (parent.trace_id, parent.id) for span in spans)


def about(span: Arrived) -> dict[str, object]:
    """The ids that a span carries."""
    names = ("company_id", "run_id", "step_id", "visit")
    return {name: span.noted[f"penstock.{name}"] for name in names if f"penstock.{name}" in span.noted}


async def test_one_trace_leads_from_the_request_through_turn_and_commit_to_the_call_and_back(
    house: House, ann: Person, far: FarSide, collector: Collector
) -> None:
    await ann.connect("answers", far.url)
    run = (await ann.post("/process-runs/", QUICK, traceparent=CALLERS)).json
    await house.close()
    request, first, second = collector.one(START), collector.one("turn Start"), collector.one("turn CallReturned")
    call = collector.one("call POST")
    started, taken_in = collector.named("commit")
    assert (request.trace_id, request.parent_id) == (TRACE_ID, ABOVE)
    assert below(request, first)
    assert below(first, started, call, second)
    assert below(second, taken_in)
    assert [one.kind for one in (request, first, started, call)] == [SERVER, INTERNAL, INTERNAL, CLIENT]
    assert not any(span.failed for span in collector.spans)
    key = {"company_id": ann.session["company"]["id"], "run_id": run["id"]}
    assert [about(one) for one in (first, started, second, taken_in)] == [key] * 4
    assert about(call) == {**key, "step_id": "ask", "visit": 1}
    assert (started["penstock.version"], taken_in["penstock.version"]) == (3, run["version"])


async def test_the_far_side_is_told_the_very_span_that_it_is_called_by(
    house: House, ann: Person, far: FarSide, collector: Collector
) -> None:
    await ann.connect("answers", far.url)
    await ann.post("/process-runs/", QUICK, traceparent=CALLERS)
    await house.close()
    assert far.seen[0].headers["traceparent"] == f"00-{TRACE_ID}-{collector.one('call POST').id}-01"


async def test_each_attempt_of_a_call_is_a_span_of_its_own(
    house: House, ann: Person, far: FarSide, collector: Collector
) -> None:
    far.status = 503
    await ann.connect("answers", far.url, retries=1)
    await ann.post("/process-runs/", QUICK)
    await house.close()
    calls = collector.named("call POST")
    assert [(call.failed, call["http.response.status_code"], call["error.type"]) for call in calls] == [
        (True, 503, "503")
    ] * 2
    assert [one.headers["traceparent"].split("-")[2] for one in far.seen] == [call.id for call in calls]
    assert len({call.parent_id for call in calls}) == 1


async def test_a_request_without_a_trace_begins_one_and_says_what_came_of_it(
    house: House, ann: Person, collector: Collector
) -> None:
    run = await ann.start("line", {"amount": 1})
    await ann.resume(run, "nonsense", X_Request_ID="mine")
    await house.close()
    start, resume = collector.one(START), collector.one(RESUME)
    assert start.parent_id == resume.parent_id == NOBODY
    assert start.trace_id != resume.trace_id
    assert (start["http.response.status_code"], resume["http.response.status_code"]) == (201, 409)
    assert resume["penstock.request_id"] == "mine"
    assert about(resume) == {"company_id": ann.session["company"]["id"], "run_id": run["id"]}
    assert below(resume, collector.one("turn Resume"))
    assert 0 < start.seconds < 10
    assert collector.paths == {"/v1/traces"}
    assert {(one["service.name"], one["service.version"]) for one in collector.resources} == {
        ("penstock", house.services.version)
    }


async def test_each_of_many_messages_in_one_mailbox_belongs_to_the_trace_of_its_own_request(
    house: House, ann: Person, collector: Collector
) -> None:
    run = await ann.start("line", {"amount": 1})
    await asyncio.gather(*(ann.resume(run, "signoff") for _ in range(8)))
    await house.close()
    requests, turns = collector.named(RESUME), collector.named("turn Resume")
    assert len({request.trace_id for request in requests}) == len(turns) == 8
    assert {(turn.trace_id, turn.parent_id) for turn in turns} == {(one.trace_id, one.id) for one in requests}


async def test_a_retry_goes_on_in_the_trace_of_whoever_asked_for_it(
    house: House, ann: Person, far: FarSide, collector: Collector
) -> None:
    await ann.connect("answers", far.url)
    far.status = 422
    run = (await ann.post("/process-runs/", QUICK, traceparent=CALLERS)).json
    far.status = 200
    await ann.post(f"/process-runs/{run['id']}/retry")
    await house.close()
    request, again = collector.one("POST /process-runs/{run_id}/retry"), collector.named("call POST")[1]
    assert request.trace_id == again.trace_id != TRACE_ID
    assert below(request, collector.one("turn Retry"))
    assert below(collector.one("turn Retry"), again)


async def test_a_call_that_a_restart_takes_up_again_belongs_to_the_request_that_wanted_it(
    house: House, ann: Person, far: FarSide, collector: Collector
) -> None:
    far.open.clear()
    await ann.connect("answers", far.url, timeout_s=30)
    run = (await ann.post("/process-runs/", QUICK, Prefer="respond-async", traceparent=CALLERS)).json
    await far.arrived.wait()
    await house.restart()
    far.open.set()
    await ann.until(run, "completed")
    await house.close()
    cut, again = collector.named("call POST")
    assert (cut.failed, cut["error.type"]) == (True, "CancelledError")
    assert below(collector.one(START), again, collector.one("turn CallReturned"))


async def test_a_trial_of_a_connector_is_part_of_its_request(
    house: House, ann: Person, far: FarSide, collector: Collector
) -> None:
    await ann.post("/connectors/answers/test", {"base_url": far.url, "method": "GET", "path": "/x"})
    await house.close()
    assert below(collector.one("POST /connectors/{tool_id}/test"), collector.one("call GET"))
    assert "traceparent" not in far.seen[0].headers


async def test_what_a_webhook_is_told_is_part_of_nobodys_request(
    house: House, ann: Person, far: FarSide, collector: Collector
) -> None:
    hook = (await ann.post("/webhooks/", {"url": far.url})).json
    await ann.start("quick")
    await far.arrived.wait()
    await house.close()
    calls = collector.named("call POST")
    assert {(call.parent_id, call["penstock.tool"]) for call in calls} == {(NOBODY, hook["id"])}
    assert all("traceparent" not in one.headers for one in far.seen)


async def test_a_caller_who_does_not_want_to_be_traced_is_not_and_that_is_passed_on(
    house: House, ann: Person, far: FarSide, collector: Collector
) -> None:
    await ann.connect("answers", far.url)
    await ann.post("/process-runs/", QUICK, traceparent=UNSAMPLED)
    await house.close()
    assert TRACE_ID not in {span.trace_id for span in collector.spans}
    passed = far.seen[0].headers["traceparent"]
    assert (passed[:36], passed[-3:]) == (UNSAMPLED[:36], "-00")


async def test_what_is_no_trace_context_counts_as_none(house: House, ann: Person, collector: Collector) -> None:
    for nonsense in ("x", f"00-{'0' * 32}-{ABOVE}-01", f"00-{TRACE_ID}-{'0' * 16}-01", CALLERS.upper()):
        await ann.post("/process-runs/", QUICK, traceparent=nonsense)
    await house.close()
    assert [span.parent_id for span in collector.named(START)] == [NOBODY] * 4


async def test_whoever_asks_how_the_service_is_leaves_no_trace(house: House, collector: Collector) -> None:
    await house.send("GET", "/health")
    await house.send("PROPFIND", "/no/such/s3cret")
    await house.close()
    assert [span.name for span in collector.spans] == ["_OTHER unknown"]


async def test_spans_say_ids_and_numbers_and_nothing_of_what_was_sent(
    house: House, ann: Person, far: FarSide, collector: Collector
) -> None:
    secret = "s3cret-canary"
    url = f"{far.url}/{secret}"
    await ann.connect("answers", url, auth_type="bearer", auth_token=secret, query_map={"q": "name"})
    await ann.post("/process-runs/", {"vertical": "quick", "inputs": {"name": secret}})
    run = await ann.start("line", {"amount": 1})
    await ann.post(f"/process-runs/{run['id']}/resume", {"gate": "signoff", "decision": "denied", "comment": secret})
    await ann.get(f"/process-runs/{secret}?token={secret}")
    await ann.get(f"/{secret}")
    far.answer, far.status = {"error": secret}, 422
    await ann.post("/process-runs/", {"vertical": "quick", "inputs": {"name": secret}})
    await house.close()
    assert len(collector.named("call POST")) == 2
    for planted in (secret, ann.token, ann.email, "correct horse"):
        assert planted.encode() not in collector.raw


class TestWithoutACollectorThatAnswers:
    @pytest.mark.parametrize("answers", [True, False], ids=["one that fails", "one that is silent"])
    async def test_it_holds_up_neither_the_requests_nor_the_stop(
        self, house: House, ann: Person, collector: Collector, *, answers: bool
    ) -> None:
        collector.status = 503
        if not answers:
            collector.answers.clear()
        await ann.start("quick")
        with capture_logs():
            await house.close()
        async with asyncio.timeout(PATIENCE_S):
            await collector.asked.wait()
        collector.answers.set()  # only now: the stop did not wait for it

    async def test_where_nobody_is_named_nothing_is_made(self, settings: Settings, aiohttp_client: Clients) -> None:
        one = House(settings.model_copy(update={"otlp_endpoint": ""}), aiohttp_client)
        await one.open()
        try:
            assert one.services.tracer is None
            assert one.services.directory._context.traced is None
            assert not isinstance(one.services.directory._context.journal, TracedJournal)
            assert TRACE.get() is None
        finally:
            await one.close()

    def test_not_even_the_library_is_loaded(self) -> None:
        program = "import sys, daemon.cli; sys.exit('opentelemetry' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", program], check=False, timeout=30).returncode == 0

    def test_without_the_extra_the_service_says_what_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "daemon.observability.spans", None)
        assert tracer("", version="1") is None
        with pytest.raises(ValueError, match=r"penstockd\[tracing\]"):
            tracer("http://127.0.0.1:4318", version="1")

    @pytest.mark.parametrize("wrong", ["127.0.0.1:4318", "ftp://x", "http://user:pass@collector", "http://"])
    def test_what_is_no_address_of_a_collector_is_refused(self, wrong: str) -> None:
        with pytest.raises(ValidationError):
            Settings(otlp_endpoint=wrong)
