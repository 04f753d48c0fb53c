"""What the service counts and measures, read as Prometheus reads it while real requests go through
it.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from aiohttp import ClientSession
from structlog.testing import capture_logs

from daemon.observability.logs import add_log_context
from daemon.observability.metrics import Metrics, OpenGates, Sources
from daemon.runtime.clock import utc_now
from daemon.settings import Settings
from tests.web.figures import Page, read
from tests.web.support import PATIENCE_S, Clients, EventStream, FarSide, House, Person

METRICS = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
Measured = tuple[House, Page]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"metrics_port": 0})


@pytest.fixture
async def measured(settings: Settings, aiohttp_client: Clients) -> AsyncIterator[Measured]:
    one = House(settings, aiohttp_client)
    with capture_logs() as logs:
        await one.open()
    (address,) = (log["address"] for log in logs if log["event"] == "metrics_listening")
    yield one, Page(address)
    await one.close()


@pytest.fixture
def house(measured: Measured) -> House:
    return measured[0]


@pytest.fixture
def page(measured: Measured) -> Page:
    return measured[1]


async def test_requests_are_counted_and_timed_by_method_route_and_status(page: Page, ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    for _ in range(3):
        await ann.run(run)
    await ann.resume(run, "nonsense")
    seen, route = await page.read(), "/process-runs/{run_id}"
    assert seen("http_requests_total", method="GET", route=route, status="200") == 3
    assert seen("http_requests_total", method="POST", route=f"{route}/resume", status="409") == 1
    assert seen("http_requests_total", method="POST", route="/process-runs", status="201") == 1
    assert seen("http_request_seconds_count", method="GET", route=route) == 3
    assert 0 < seen("http_request_seconds_sum", method="GET", route=route) < PATIENCE_S
    assert seen("http_request_seconds_bucket", method="GET", route=route, le="+Inf") == 3


async def test_no_key_is_in_the_figures(page: Page, house: House, ann: Person) -> None:
    key = (await ann.post("/api-keys", {"name": "agent", "role": "member", "kind": "agent"})).json["key"]
    for sent in (key, f"{key[:-1]}-"):
        await house.send("GET", "/process-runs", headers={"Authorization": f"Bearer {sent}"})
    async with ClientSession() as session, session.get(page.address) as response:
        assert key[4:] not in await response.text()


async def test_what_a_caller_makes_up_adds_no_labels(page: Page, house: House, ann: Person) -> None:
    for number, method in enumerate(("PROPFIND", "MKCOL", "LOCK")):
        await house.send("GET", f"/made/up/{number}")
        await house.send(method, "/health")
        await ann.get(f"/process-runs/{number}")
    labels = (await page.read()).labelled("http_requests_total")
    assert {one["method"] for one in labels} == {"GET", "POST", "other"}
    assert {one["route"] for one in labels} == {"unknown", "/auth/register", "/process-runs/{run_id}"}


async def test_turns_and_what_became_fact_are_counted(page: Page, ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    await ann.resume(run, "signoff")
    await ann.start("quick")
    seen = await page.read()
    assert seen("turns_total") == 3
    assert seen("events_total", type="run_started") == 2
    assert seen("events_total", type="gate_opened") == 1
    assert seen("events_total", type="verdict_given") == 1
    assert seen("runs_ended_total", vertical="line", status="completed") == 1
    assert seen("runs_ended_total", vertical="quick", status="completed") == 1


async def test_a_refused_command_is_no_turn_that_changed_a_run(page: Page, ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    await ann.resume(run, "nonsense")
    assert (await page.read())("turns_total") == 1


async def test_open_gates_are_counted_by_vertical_with_the_age_of_the_oldest(page: Page, ann: Person) -> None:
    before = utc_now()
    await ann.start("fork")
    await ann.start("line", {"amount": 1})
    await ann.start("line", {"amount": 2})
    await ann.start("quick")
    seen = await page.read()
    assert seen("gates_open", vertical="fork") == 2
    assert seen("gates_open", vertical="line") == 2
    assert {one["vertical"] for one in seen.labelled("gates_open")} == {"fork", "line"}
    # By the clock that says when a gate was opened: another one may run at another pace.
    assert 0 < seen("gate_age_seconds_max", vertical="line") < (utc_now() - before).total_seconds()
    assert seen("gate_age_seconds_max", vertical="fork") > seen("gate_age_seconds_max", vertical="line")


async def test_gates_are_counted_over_all_companies_and_all_pages_and_those_decided_no_more(
    house: House, ann: Person, eve: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.observability.metrics.PAGE", 2)
    gates = OpenGates(house.services.store.parked, house.services.store.load, fresh_s=0, pause_factor=0)
    runs = [await person.start("line", {"amount": 1}) for person in (ann, eve, eve, ann, ann)]
    assert {vertical: one.count for vertical, one in (await gates.by_vertical()).items()} == {"line": 5}
    await ann.resume(runs[0], "signoff")
    assert (await gates.by_vertical())["line"].count == 4


@pytest.mark.parametrize("looked_max", [1, 1_000])
async def test_a_gate_is_as_old_as_it_is_whatever_has_happened_on_another_branch_since(
    house: House, ann: Person, monkeypatch: pytest.MonkeyPatch, looked_max: int
) -> None:
    monkeypatch.setattr("daemon.observability.metrics.OLDEST_READ_MAX", looked_max)
    gates = OpenGates(house.services.store.parked, house.services.store.load, fresh_s=0, pause_factor=0)
    runs = [await ann.start("fork") for _ in range(4)]
    for run in reversed(runs):
        assert (await ann.resume(run, "legal")).status == 200
    opened = [one["opened_at"] for one in runs[0]["gates"] if one["step_id"] == "finance"]
    tally = (await gates.by_vertical())["fork"]
    assert (tally.count, [tally.since]) == (4, [datetime.fromisoformat(at) for at in opened])
    await ann.resume(runs[0], "finance")
    opened = [one["opened_at"] for one in runs[1]["gates"] if one["step_id"] == "finance"]
    assert [(await gates.by_vertical())["fork"].since] == [datetime.fromisoformat(at) for at in opened]


@pytest.mark.one_daemon
@pytest.mark.sqlite
async def test_a_run_that_cannot_be_read_keeps_no_other_from_being_counted(house: House, ann: Person) -> None:
    gates = OpenGates(house.services.store.parked, house.services.store.load, fresh_s=0, pause_factor=0)
    broken, sound = await ann.start("fork"), await ann.start("fork")
    for run in (sound, broken):
        await ann.resume(run, "legal")
    await house.services.directory.drain(1)
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db")) as db, db:
        db.execute("DELETE FROM snapshots")
        db.execute("UPDATE commits SET events = x'00' WHERE run_id = ?", (broken["id"],))
    tally = (await gates.by_vertical())["fork"]
    opened = [one["opened_at"] for one in sound["gates"] if one["step_id"] == "finance"]
    assert (tally.count, [tally.since]) == (2, [datetime.fromisoformat(at) for at in opened])


async def test_a_vertical_without_open_gates_leaves_the_page(house: House, ann: Person) -> None:
    services, metrics = house.services, Metrics("1")
    gates = OpenGates(services.store.parked, services.store.load, fresh_s=0, pause_factor=0)
    sources = Sources(services.directory, services.directory.waiting, (), gates, services.store.unsealed, services.now)
    run = await ann.start("line", {"amount": 1})
    assert read((await metrics.scrape(sources)).decode()).labelled("gates_open") == [{"vertical": "line"}]
    await ann.resume(run, "signoff")
    seen = read((await metrics.scrape(sources)).decode())
    assert seen.labelled("gates_open") == seen.labelled("gate_age_seconds_max") == []


async def test_gates_are_not_counted_again_at_once(page: Page, ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    assert (await page.read())("gates_open", vertical="line") == 1
    await ann.resume(run, "signoff")
    assert (await page.read())("gates_open", vertical="line") == 1


async def test_the_time_from_a_gates_opening_to_its_verdict_is_measured(page: Page, ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    await ann.resume(run, "signoff")
    fork = await ann.start("fork")
    await ann.resume(fork, "legal")
    seen = await page.read()
    assert seen("decision_seconds_count", vertical="line") == 1
    assert 0 < seen("decision_seconds_sum", vertical="line") < PATIENCE_S
    assert seen("decision_seconds_count", vertical="fork") == 1


async def test_calls_are_counted_by_mode_and_outcome(page: Page, ann: Person, far: FarSide) -> None:
    await ann.start("quick")
    await ann.connect("answers", far.url)
    await ann.start("quick")
    far.status = 422
    await ann.start("quick")
    seen = await page.read()
    assert seen("calls_total", mode="shadow", outcome="succeeded") == 1
    assert seen("calls_total", mode="live", outcome="succeeded") == 1
    assert seen("calls_total", mode="live", outcome="failed") == 1
    assert len(seen.labelled("calls_total")) == 3


async def test_a_call_whose_outcome_nobody_knows_is_counted_once_though_a_human_settles_it(
    page: Page, ann: Person, far: FarSide
) -> None:
    await ann.connect("payment", far.url)
    far.status = 502
    run = await ann.start("line", {"amount": 1})
    assert (await ann.resume(run, "signoff")).json["gate"]["reason"] == "outcome unknown"
    assert (await ann.resume(run, "pay", "done")).json["status"] == "completed"
    seen = await page.read()
    assert seen("calls_total", mode="live", outcome="unknown") == 1
    assert seen("calls_total", mode="live", outcome="succeeded") == 0
    assert seen("calls_total", mode="shadow", outcome="succeeded") == 1


async def test_what_is_under_way_now_is_shown(page: Page, ann: Person, far: FarSide) -> None:
    far.open.clear()
    await ann.connect("answers", far.url, timeout_s=30)
    answer = await ann.post("/process-runs/", {"vertical": "quick", "inputs": {}}, Prefer="respond-async")
    await ann.start("line", {"amount": 1})
    await far.arrived.wait()
    seen = await page.read()
    assert seen("actors") == 2
    assert seen("calls_in_flight") == 1
    assert (seen("mailbox_messages"), seen("mailbox_depth_max")) == (0, 0)
    far.open.set()
    await ann.until(answer.json, "completed")
    assert (await page.read())("calls_in_flight") == 0


async def test_transactions_are_counted_with_their_size_and_time(page: Page, ann: Person) -> None:
    before = await page.read()
    await asyncio.gather(*(ann.start("quick") for _ in range(20)))
    after = await page.read()
    batches = after("store_batch_size_count") - before("store_batch_size_count")
    assert 1 <= batches <= after("store_batch_size_sum") - before("store_batch_size_sum")
    assert after("store_batch_size_sum") - before("store_batch_size_sum") >= 20
    assert after("store_batch_seconds_count") == after("store_batch_size_count")
    assert 0 < after("store_batch_seconds_sum") < PATIENCE_S


@pytest.mark.one_daemon
@pytest.mark.sqlite
async def test_a_history_that_is_damaged_is_counted_and_its_line_names_the_run(
    page: Page, house: House, ann: Person
) -> None:
    run = await ann.start("line", {"amount": 1})
    await house.services.directory.drain(1)
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db")) as db, db:
        db.execute("DELETE FROM snapshots")
        db.execute("UPDATE commits SET events = x'00' WHERE run_id = ?", (run["id"],))
    with capture_logs(processors=[add_log_context]) as logs:
        assert (await ann.get(f"/process-runs/{run['id']}")).status == 503
    (line,) = (log for log in logs if log["event"] == "history_broken")
    assert (line["run_id"], line["company_id"]) == (run["id"], ann.session["company"]["id"])
    assert (await page.read())("store_failures_total", kind="damaged") == 1


@pytest.mark.sqlite
async def test_a_read_that_fails_is_counted(
    page: Page, house: House, ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.stores.sqlite.journal.listing", lambda *_: ("no SQL at all", []))
    assert (await ann.get("/process-runs/")).status == 503
    assert (await page.read())("store_failures_total", kind="read") == 1


async def test_sealed_commits_and_checkpoints_are_counted(page: Page, house: House, ann: Person, eve: Person) -> None:
    await house.services.sealer.seal()
    before = await page.read()
    assert before("audit_unsealed_commits") == 0
    for person in (ann, eve, eve):
        await person.start("quick")
    assert (await page.read())("audit_unsealed_commits") == 3
    await house.services.sealer.seal()
    after = await page.read()
    assert after("audit_sealed_commits_total") - before("audit_sealed_commits_total") == 3 + 1  # and the roots of both
    assert after("audit_checkpoints_total") - before("audit_checkpoints_total") == 2 + 1
    assert after("audit_unsealed_commits") == 0


async def test_a_loop_that_is_held_up_is_seen(page: Page) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not (before := await page.read())("event_loop_lag_seconds_count"):
            pass
        until = time.perf_counter() + 0.3
        while time.perf_counter() < until:
            pass
        while (after := await page.read())("event_loop_lag_seconds_count") == before("event_loop_lag_seconds_count"):
            pass
    assert after("event_loop_lag_seconds_sum") - before("event_loop_lag_seconds_sum") >= 0.15


async def test_the_process_tells_its_age_and_its_processor_time(page: Page) -> None:
    samples = {name: value for (name, _), value in (await page.read()).samples.items()}
    assert 0 < time.time() - samples["process_start_time_seconds"] < 86_400
    assert samples["process_cpu_seconds_total"] > 0
    assert samples["process_resident_memory_bytes"] > 1_000_000
    assert samples["process_open_fds"] > 3


async def test_the_page_is_on_the_loopback_address_and_there_is_nothing_beside_it(page: Page) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", page.address)
    async with ClientSession() as session:
        for other in ("/", "/health", "/process-runs/"):
            async with session.get(page.address.replace("/metrics", other)) as response:
                assert response.status == 404


async def test_the_api_itself_shows_no_figures(house: House, ann: Person) -> None:
    assert (await house.send("GET", "/metrics")).status == 404
    assert (await ann.get("/metrics")).status == 404


async def test_the_guide_lists_every_figure_and_no_other(page: Page, ann: Person) -> None:
    await ann.start("line", {"amount": 1})
    text = METRICS.read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(penstock_\w+)`", text, re.MULTILINE))
    assert {name.removesuffix("_bucket") for name in re.findall(r"\b(penstock_\w+)", text)} == listed
    kinds = {name: kind for name, kind in (await page.read()).kinds.items() if name.startswith("penstock_")}
    assert listed == {f"{name}_total" if kind == "counter" else name for name, kind in kinds.items()}


async def test_a_stream_that_is_followed_changes_no_figure_but_its_own(page: Page, ann: Person) -> None:
    run = await ann.start("line", {"amount": 1})
    async with EventStream(ann, run["id"]) as stream:
        await anext(stream)
        seen = await page.read()
    assert seen("http_requests_total", method="GET", route="/process-runs/{run_id}/events", status="200") == 0


class TestAtAnAddressOfItsOwn:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"metrics_host": "127.0.0.2"})

    async def test_figures_are_served_there(self, page: Page) -> None:
        assert page.address.startswith("http://127.0.0.2:")
        assert (await page.read())("runs_live") == 0


class TestWithoutAPort:
    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"metrics_port": None})

    async def test_nothing_is_measured(self, settings: Settings, aiohttp_client: Clients) -> None:
        one = House(settings, aiohttp_client)
        with capture_logs() as logs:
            await one.open()
        try:
            assert "metrics_listening" not in [log["event"] for log in logs]
            assert one.services.metrics is None
            # webhooks, notifications, timers, reports, what companies have stored
            assert len(one.services.feed._listeners) == 5
        finally:
            await one.close()

    def test_not_even_the_library_is_loaded(self) -> None:
        program = "import sys, daemon.cli; sys.exit('prometheus_client' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", program], check=False, timeout=30).returncode == 0
