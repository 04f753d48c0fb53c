"""Whatever changes between what a gate showed and the verdict: what is sent is what a human saw, or
nothing is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.crash.service import Service, serving, together
from tests.effects import scale
from tests.effects.ledger import Line
from tests.effects.mutations import (
    FACTS,
    INPUTS,
    MUTATIONS,
    NOTHING,
    Mutation,
    Scene,
    base,
    steps_of,
    stranger_of,
)
from tests.effects.world import (
    JSON,
    Books,
    assert_sent,
    call_digest,
    digest_of,
    gate_at,
    ledger,
    put,
    rests,
    shown_digest,
    start,
    write_template,
)
from tests.seeds import drawn

EFFECTS = ("reversible", "irreversible")
WAYS = ("digest", "If-Match", "neither")


async def shown(service: Service, run_id: str) -> tuple[JSON, JSON]:
    """The run as it rests, and its gate at `send`, whose digest covers what it shows."""
    run = await rests(service, run_id)
    gate = gate_at(run, "send")
    assert gate["digest"] == digest_of(run, gate)
    return run, gate


async def verdict(service: Service, run: JSON, gate: JSON, way: str) -> tuple[int, Any]:
    """An approval of what was seen then, in one of the ways to say what that was."""
    body = {"gate": "send", "decision": "approved"}
    headers = {}
    if way == "digest":
        body["digest"] = gate["digest"]
    if way == "If-Match":
        headers["If_Match"] = f'"{run["version"]}"'
    return await service.send("POST", f"/process-runs/{run['id']}/resume", body, **headers)


def expected(mutation: Mutation, way: str) -> int:
    """What the contract says of a verdict after the mutation."""
    if mutation.kind == NOTHING or (way == "neither" and mutation.kind == FACTS):
        return 200
    return 412


def sent(books: Books, run: JSON) -> list[Line]:
    """What the ledger got of the run's step `send`."""
    return [line for line in books.of(run["id"]) if line.key.split(":")[1] == "send"]


async def check_performed(scene: Scene, effect: JSON | None) -> None:
    """What was decided on last is what happened: the call was sent as it stood, was shadowed, or
    could not be made.
    """
    run, lines = await rests(scene.service, scene.run["id"]), sent(scene.books, scene.run)
    step = next(visit for visit in reversed(run["trace"]) if visit["step_id"] == "send")
    if effect is None:
        assert (lines, step["error"]["code"]) == ([], "missing_key")
        return
    assert (step["request"], step["status"]) == (effect, "done"), step["error"]
    assert len(lines) == (effect["mode"] == "live")
    for line in lines:
        assert_sent(line, effect)


async def play(scene: Scene, mutation: Mutation, way: str) -> None:
    """Show, change, decide; after a refusal the gate shows what stands now, and an approval of that
    is what is sent.
    """
    run, gate = await shown(scene.service, scene.run["id"])
    await mutation.act(scene)
    if mutation.kind == FACTS:
        now = (await shown(scene.service, run["id"]))[1]
        assert now["digest"] != gate["digest"]
    status, answer = await verdict(scene.service, run, gate, way)
    assert status == expected(mutation, way), (status, answer)
    if status == 412:
        assert answer["code"] == "stale"
        assert sent(scene.books, run) == []
        again, new = await shown(scene.service, run["id"])
        assert (new["digest"] == gate["digest"], new["visit"]) == (False, gate["visit"])
        assert answer["etag"] == f'"{again["version"]}"'
        status, answer = await verdict(scene.service, again, new, "digest")
        if new["missing"]:
            assert (status, [one["pointer"] for one in answer["errors"]]) == (422, ["/inputs/nowhere"])
            assert (new["effect"], sent(scene.books, run)) == (None, [])
            return
        assert status in {200, 202}, answer
        await check_performed(scene, new["effect"])
    else:
        await check_performed(scene, await asked(scene, gate, mutation))


async def asked(scene: Scene, gate: JSON, mutation: Mutation) -> JSON | None:
    """The call that an approval without a digest allowed: as the gate showed it last."""
    if mutation.kind == NOTHING:
        return dict(gate["effect"])
    run = await rests(scene.service, scene.run["id"])
    events = await scene.service.history(run["id"])
    given = next(e for e in events if e["type"] == "verdict_given" and e["step_id"] == "send")
    request: JSON | None = given["request"]
    if mutation.kind == FACTS:
        opened = [
            e for e in events if e["type"] == "gate_opened" and e["step_id"] == "send" and e["seq"] < given["seq"]
        ]
        assert request == opened[-1]["request"]
    return request


async def set_up(service: Service, stranger: Service, books: Books, vertical: str, before: JSON) -> Scene:
    """A new run, parked at `send` beside a branch that goes round."""
    connector = {**base(books), **before}
    await put(service, "send", connector)
    tally = {"base_url": books.url(2), "method": "GET", "path": "/ok/ok/tally", "reversible": True}
    await put(service, "tally", tally)
    run = await start(service, vertical, INPUTS)
    return Scene(service, stranger, books, vertical, connector, await rests(service, run["id"]))


@pytest.mark.parametrize("effect", EFFECTS)
async def test_a_verdict_never_sends_what_its_giver_did_not_see(tmp_path: Path, effect: str) -> None:
    write_template(tmp_path, "sending", steps_of(effect))
    cases = list(product(MUTATIONS, WAYS))
    wrong: dict[str, str] = {}
    async with ledger(tmp_path) as books, serving(tmp_path) as service:
        await service.register()
        stranger = await stranger_of(service)
        for mutation, way in cases:
            scene = await set_up(service, stranger, books, "sending", mutation.before)
            try:
                await play(scene, mutation, way)
            except AssertionError as error:
                wrong[f"{mutation.name}, {way}"] = str(error)
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())
    statuses = Counter(expected(mutation, way) for mutation, way in cases)
    figures = {"mutations": len(MUTATIONS), "verdicts": len(cases), "refused_with_412": statuses[412]}
    scale.note(f"mutations before {effect} calls", **figures, performed_as_shown=statuses[200])


async def test_a_restart_and_another_template_change_nothing_that_was_shown(tmp_path: Path) -> None:
    write_template(tmp_path, "sending", steps_of("irreversible"))
    async with ledger(tmp_path) as books:
        async with serving(tmp_path) as service:
            await service.register()
            scene = await set_up(service, service, books, "sending", {})
            more = [await start(service, "sending", INPUTS) for _ in WAYS[1:]]
            seen = [await shown(service, run["id"]) for run in (scene.run, *more)]
            await service.kill()
        other = [{**step, "tool": "tally"} if step["id"] == "send" else step for step in steps_of("reversible")]
        write_template(tmp_path, "sending", other, version=2)
        async with serving(tmp_path, service.token) as again:
            assert (await start(again, "sending", INPUTS))["template"]["version"] == 2
            for way, (run, gate) in zip(WAYS, seen, strict=True):
                assert await shown(again, run["id"]) == (run, gate)
                status, answer = await verdict(again, run, gate, way)
                assert status == 200, answer
                await check_performed(replace(scene, service=again, run=run), gate["effect"])


async def test_a_host_is_kept_and_shown_in_the_form_in_which_it_is_called(tmp_path: Path) -> None:
    write_template(tmp_path, "sending", steps_of("irreversible"))
    async with ledger(tmp_path) as books, serving(tmp_path) as service:
        await service.register()
        stored = await put(service, "send", {**base(books), "base_url": "http://bücher.example/straße?q=%2Fü"})
        assert stored["base_url"] == "http://xn--bcher-kva.example/stra%C3%9Fe?q=/%C3%BC"
        status, refused = await service.send("PUT", "/connectors/send", {**base(books), "base_url": "http://ü.\u2028/"})
        assert (status, refused["errors"][0]["pointer"]) == (422, "/base_url")


FORMS: tuple[JSON, ...] = (
    {"method": "POST", "body_map": None, "query_map": None},
    {"method": "PUT", "body_map": {"list": "inputs.list"}},
    {"method": "PATCH", "body_map": {"a": "inputs.text", "b": "inputs.number"}, "query_map": {"q": "inputs.text"}},
    {"method": "DELETE", "query_map": {"q": "inputs.text", "n": "inputs.number", "t": "inputs.truth"}},
    {"method": "GET", "query_map": {"q": "inputs.list", "é": "inputs.text"}, "body_map": {"a": "inputs.text"}},
    {"method": "POST", "query_map": {}, "path": "/ok/ok/%7Efive?fixed=%20&x"},
    {"method": "POST", "path": "/ok/ok/{inputs.number}", "headers": {"X-Fixed": "~"}, "response_map": {"a": "b.c"}},
)
LETTERS = "abc xyz&=?#%+/\\\"'äß€\u2028\U0001f600\t\n~.-_{}[]|^`<>;:@!$()*,\x7f"


def some_inputs(random: Random) -> JSON:
    """What is hard to quote, and numbers that have more than one writing."""
    text = "".join(random.choices(LETTERS, k=random.randint(0, 30)))
    number = random.choice((0, -1, 1e21, 1e-7, 0.1, 1.0, -0.0, 2**53 - 1, random.random(), random.randint(-9, 9)))
    return {"text": text, "number": number, "truth": random.choice((True, False, None)), "list": [text, number, {}]}


async def test_what_the_ledger_got_is_what_each_approval_had_been_shown(tmp_path: Path) -> None:
    number, random = scale.LIVE_EFFECTS.now, Random(drawn())
    for form in range(len(FORMS)):
        tool = {"tool": f"form-{form}", "tier": "critical", "effect": "irreversible"}
        steps: list[JSON] = [
            {"id": "send", "kind": "task", "label": "Send", "next": "done", **tool},
            {"id": "done", "kind": "end", "label": "Done", "outcome": "done"},
        ]
        write_template(tmp_path, f"form-{form}", steps)
    async with ledger(tmp_path) as books, serving(tmp_path) as service:
        await service.register()
        for form, how in enumerate(FORMS):
            common = {"base_url": books.url(form), "path": f"/ok/ok/{form}", "reversible": True}
            await put(service, f"form-{form}", {**common, **how})
        seen = await together(approved(service, one % len(FORMS), some_inputs(random)) for one in range(number))
        got = {line.run_id: line for line in books.lines}
        assert len(books.lines) == len(got) == number
    for run, gate in seen:
        assert_sent(got[run["id"]], gate["effect"])
    equal = sum(digest_of(run, gate) == gate["digest"] and as_shown(got[run["id"]], gate) for run, gate in seen)
    assert equal == number
    scale.note("live effects", approved=number, received=len(got), digests_equal=equal)


def as_shown(line: Line, gate: JSON) -> bool:
    return call_digest(line.method, line.url, line.body.encode()) == shown_digest(gate["effect"])


async def approved(service: Service, form: int, inputs: JSON) -> tuple[JSON, JSON]:
    """A run whose call was approved by its digest, as it was before that, and its gate."""
    run, gate = await shown(service, (await start(service, f"form-{form}", inputs))["id"])
    status, answer = await verdict(service, run, gate, "digest")
    assert (status, answer.get("outcome")) == (200, "done"), answer["error"]
    return run, gate
