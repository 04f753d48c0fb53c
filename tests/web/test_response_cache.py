"""A run that is read again is not rendered again, and nobody is shown what is not committed."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.runtime.json_codec import dumps
from daemon.web.resources.response_cache import ResponseCache
from daemon.web.resources.run_json import run_json
from tests.histories import ACME, OTHER, decide, start
from tests.web.support import Person, assert_problem, contest


def size(run: Any) -> int:
    return len(dumps(run_json(run)))


def test_the_same_version_is_rendered_once() -> None:
    rendered, run = ResponseCache(), start().run
    first = rendered.body(run)
    assert first == dumps(run_json(run))
    assert rendered.body(run) is first


def test_a_later_version_takes_the_place_of_the_one_before() -> None:
    rendered, run = ResponseCache(), start().run
    later = decide(run).run
    assert rendered.body(run) != rendered.body(later) == dumps(run_json(later))
    assert rendered.body(run) == dumps(run_json(run))


def test_companies_do_not_share_what_is_kept_under_one_id() -> None:
    rendered = ResponseCache()
    ours, theirs = start("run-1", ACME, inputs={"of": "acme"}).run, start("run-1", OTHER, inputs={"of": "other"}).run
    assert rendered.body(ours) == dumps(run_json(ours))
    assert rendered.body(theirs) == dumps(run_json(theirs))


def test_no_more_is_kept_than_there_is_room_for_and_the_oldest_goes_first() -> None:
    runs = [start(f"run-{number}").run for number in range(3)]
    rendered = ResponseCache(2 * size(runs[0]))
    oldest, middle, newest = map(rendered.body, runs)
    assert rendered.body(runs[2]) is newest
    assert rendered.body(runs[1]) is middle
    assert rendered.body(runs[0]) == oldest
    assert rendered.body(runs[0]) is not oldest


def test_what_is_larger_than_the_room_is_answered_and_not_kept() -> None:
    run = start().run
    rendered = ResponseCache(size(run) - 1)
    assert rendered.body(run) is not rendered.body(run)
    small = ResponseCache(size(run))
    assert small.body(run) is small.body(run)


def test_the_room_of_what_was_replaced_is_free_again() -> None:
    run = start().run
    later, other = decide(run).run, start("run-2").run
    rendered = ResponseCache(max(size(run), size(later)) + size(other))
    kept = rendered.body(other)
    for _ in range(5):
        rendered.body(run)
        rendered.body(later)
    assert rendered.body(other) is kept


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
