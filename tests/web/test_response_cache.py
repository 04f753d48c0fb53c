"""A run that is read again is not rendered again, and nobody is shown what is not committed."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.runtime.json_codec import dumps
from daemon.runtime.offload import Offload
from daemon.web.resources.run_json import KEPT_BYTES_MAX, ResponseCache, run_json
from tests.histories import ACME, OTHER, decide, start
from tests.web.support import Person, assert_problem, contest


def cache(bytes_max: int = KEPT_BYTES_MAX) -> ResponseCache:
    return ResponseCache(Offload(), bytes_max)


def size(run: Any) -> int:
    return len(dumps(run_json(run)))


async def test_the_same_version_is_rendered_once() -> None:
    rendered, run = cache(), start().run
    first = await rendered.body(run)
    assert first == dumps(run_json(run))
    assert await rendered.body(run) is first


@pytest.mark.one_daemon
async def test_what_a_command_was_answered_is_what_is_read_behind_it(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await ann.start("line", {"amount": 5})
    decided = (await ann.resume(run, "signoff")).json
    assert decided["status"] == "completed"
    with monkeypatch.context() as nothing_is_rendered:
        nothing_is_rendered.setattr("daemon.web.resources.run_json.run_body", None)
        assert (await ann.get(f"/process-runs/{run['id']}")).json == decided


async def test_a_later_version_takes_the_place_of_the_one_before() -> None:
    rendered, run = cache(), start().run
    later = decide(run).run
    assert await rendered.body(run) != await rendered.body(later) == dumps(run_json(later))
    assert await rendered.body(run) == dumps(run_json(run))


async def test_companies_do_not_share_what_is_kept_under_one_id() -> None:
    rendered = cache()
    ours, theirs = start("run-1", ACME, inputs={"of": "acme"}).run, start("run-1", OTHER, inputs={"of": "other"}).run
    assert await rendered.body(ours) == dumps(run_json(ours))
    assert await rendered.body(theirs) == dumps(run_json(theirs))


async def test_no_more_is_kept_than_there_is_room_for_and_the_oldest_goes_first() -> None:
    runs = [start(f"run-{number}").run for number in range(3)]
    rendered = cache(2 * size(runs[0]))
    oldest, middle, newest = [await rendered.body(run) for run in runs]
    assert await rendered.body(runs[2]) is newest
    assert await rendered.body(runs[1]) is middle
    assert await rendered.body(runs[0]) == oldest
    assert await rendered.body(runs[0]) is not oldest


async def test_what_is_larger_than_the_room_is_answered_and_not_kept() -> None:
    run = start().run
    rendered = cache(size(run) - 1)
    assert await rendered.body(run) is not await rendered.body(run)
    small = cache(size(run))
    assert await small.body(run) is await small.body(run)


async def test_the_room_of_what_was_replaced_is_free_again() -> None:
    run = start().run
    later, other = decide(run).run, start("run-2").run
    rendered = cache(max(size(run), size(later)) + size(other))
    kept = await rendered.body(other)
    for _ in range(5):
        await rendered.body(run)
        await rendered.body(later)
    assert await rendered.body(other) is kept


@pytest.mark.sqlite
async def test_a_verdict_that_lost_against_another_process_is_never_shown(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await ann.start("line", {"amount": 5})
    rivals = await contest(ann, run, "approved", monkeypatch)
    assert_problem(await ann.resume(run, "signoff", Idempotency_Key="k"), 409, "not_parked")
    now = await ann.run(run)
    assert now["version"] == rivals
    assert [visit["verdict"]["by"] for visit in now["trace"] if visit["verdict"]] == ["rival"]
