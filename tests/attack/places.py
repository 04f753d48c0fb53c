"""Each place that evaluates what tenants wrote, at its worst input, and /health beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from daemon.evaluation.worker import EVALUATORS
from tests.attack.probes.answers import RULES
from tests.attack.probes.evaluations import DOUBLING, FOUND, LONG
from tests.attack.probes.running import SHARED, Seen, stalls
from tests.attack.probes.world import Tally, World, far_side
from tests.attack.report import Report, percentile
from tests.attack.service import attacked
from tests.programs import announced

AT_ONCE, CALM_S, BETWEEN_S, PATIENCE_S = 2, 2.0, 0.1, 3.0
STEPS = 990
Ask = Callable[[World, str], Awaitable[Any]]
END = {"id": "done", "kind": "end", "label": "Done", "outcome": "done"}


def document(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    vertical = str(more.pop("vertical", "worst"))
    return {"vertical": vertical, "title": "Worst", "steps": [*steps, END], **more}


def gateway(when: str, **more: Any) -> dict[str, Any]:
    branches = [{"branch": "found", "when": when, "to": "done"}, {"branch": "other", "to": "done"}]
    choice = {"id": "size", "kind": "gateway", "label": "Size", "flow": "exclusive", "branches": branches}
    return document(choice, vertical="condition", **more)


def wide(chars: int) -> dict[str, Any]:
    """As many steps and conditions as a template may have, of so many characters each."""
    ids = [f"s{number}" for number in range(STEPS)]
    about = {"kind": "gateway", "flow": "exclusive", "label": "L" * chars}
    ways = [
        [{"branch": "a", "when": f"inputs.a > {number}", "to": after}, {"branch": "b", "to": "done"}]
        for number, after in enumerate([*ids[1:], "done"])
    ]
    return document(*({"id": one, **about, "branches": way} for one, way in zip(ids, ways, strict=True)))


UNICODE = " || ".join(["response.body.a.matches('[[:^alpha:]\\\\pL]{1000}')"] * 60)
"""A rule whose patterns take seconds to compile."""
TASK = {"id": "t", "kind": "task", "label": "T", "tool": "t", "effect": "reversible", "next": "done"}
OUTPUT = FOUND.replace("inputs.", "output.")
SAID = [{"output": {"a": "a" * 600_000, "b": "a" * 300_000}}]
NEVER = "timestamp('2026-01-31T09:00:00Z')"
PUBLISHED: Mapping[str, dict[str, Any]] = {
    "call": document({**TASK, "tier": "medium"}, judges=[{"id": "j", "label": "J", "steps": ["t"], "rule": FOUND}]),
    "condition": gateway(FOUND),
    "drawing": wide(80),
    "form": document({"id": "sign", "kind": "gate", "label": "Sign", "form": DOUBLING, "next": "done"}),
    "inputs": document(inputs_schema=DOUBLING, example={"x": "x"}),
    "moment": document(
        {"id": "t", "kind": "wait", "label": "W", "until": f"{FOUND} ? {NEVER} : {NEVER}", "next": "done"}
    ),
    "span": document(
        TASK, clocks=[{"id": "c", "label": "C", "within": f"{FOUND} ? 'P1D' : 'P2D'", "stops": [TASK["id"]]}]
    ),
    "output": document({**TASK, "signal_when": OUTPUT, "dry_run": SAID}),
    "tool": document(TASK, tools={"t": {"output": DOUBLING}}),
}
"""What each company publishes; a vertical is called as what it is for."""


def starting(vertical: str, inputs: Any) -> Ask:
    return lambda world, token: world.start(token, inputs, vertical)


def posting(path: str, body: Any, method: str = "POST") -> Ask:
    return lambda world, token: world.call(method, path, body, token)


def trying(tool: str, path: str, **rules: Any) -> Ask:
    async def ask(world: World, token: str) -> Any:
        body = {"base_url": world.far.url(), "path": path, "reversible": True, **rules}
        return await world.call("POST", f"/connectors/{tool}/test", body, token)

    return ask


async def deciding(world: World, token: str) -> Any:
    started = await world.start(token, {}, "form")
    if started is None or started.status != 201:
        return started
    verdict = {"gate": "sign", "decision": "approved", "form": {"x": 1}}
    return await world.call("POST", f"/process-runs/{started.json['id']}/resume", verdict, token)


async def importing(world: World, token: str) -> Any:
    drawn = await world.call("GET", "/process-templates/drawing/bpmn", token=token)
    xml = "" if drawn is None else drawn.body.decode()
    return await world.call("POST", "/process-templates/import-bpmn", {"xml": xml}, token)


def ruling(count: int, then: bool) -> Ask:
    """So many rules of a company, and then a call that they decide about."""
    when = FOUND.replace("inputs.", "arguments.")
    rules = [{"id": f"r{one}", "tool": "worst", "when": when, "decision": "ask"} for one in range(count)]

    async def ask(world: World, token: str) -> Any:
        account = await world.call("GET", "/auth/me", token=token)
        path = "" if account is None else f"/companies/{account.json['company']['id']}/action-rules"
        answer = await world.call("PUT", path, {"rules": rules}, token)
        return await world.call("POST", f"{path}/try", {"tool": "worst", "arguments": LONG}, token) if then else answer

    return ask


ASKS: Mapping[str, Ask] = {
    "action": ruling(1, then=True),
    "action_rules": ruling(500, then=False),
    "all_errors": trying("t", "/letters"),
    "bpmn": importing,
    "call": starting("call", LONG),
    "check": posting("/process-templates/validate", wide(850)),
    "condition": starting("condition", LONG),
    "draft": posting("/process-templates/worst/draft", wide(850), "PUT"),
    "drawing": posting("/process-templates/drawing/bpmn", None, "GET"),
    "expressions": trying("other", "/letters", signal_rule=UNICODE, send=False),
    "form": deciding,
    "inputs": starting("inputs", {"x": 1, "y": "y" * 900_000}),
    "mapped": trying("other", "/bomb", response_map={f"n{n}": "|".join(["[@,@]"] * 20) for n in range(100)}),
    "moment": starting("moment", LONG),
    "output": starting("output", {}),
    "span": starting("span", LONG),
    "signal": trying("other", "/bomb", signal_rule=RULES[0]),
}
"""By kind, so that a new place has to be attacked, too."""


async def places(folder: Path, report: Report, seconds: float) -> None:
    """Fire each for so long, two at once from two companies that share the two processes."""
    assert ASKS.keys() == EVALUATORS.keys()
    seen, windows, tallies = folder / "seen", dict[str, tuple[float, float]](), dict[str, Tally]()
    async with far_side(folder) as far, attacked(folder, **SHARED | {"rate_limits": "off"}) as target:
        world = World(target, far)
        tokens = [await _company(world, f"places-{number}") for number in range(2)]
        watched = announced("tests.attack.probes.watch", str(target.port), str(target.process.pid), str(seen), env={})
        async with watched:
            await asyncio.sleep(CALM_S)
            for kind, ask in {"nothing": _nothing, **ASKS}.items():
                began, tally = time.monotonic(), tallies.setdefault(kind, Tally())
                fired = [_again(world, ask, token, tally, began + seconds) for token in tokens for _ in range(AT_ONCE)]
                under_way = [asyncio.create_task(one) for one in fired]
                for one in (await asyncio.wait(under_way, timeout=seconds + PATIENCE_S))[1]:
                    one.cancel()
                windows[kind] = began, time.monotonic()
        report.most("faults in the service's log", len(target.faults()), 0)
    figures, every = Seen(seen), list[float]()
    for kind, window in windows.items():
        health, lag_ms = list(figures.between("health", *window)), max(target.lags_ms(*window), default=0.0)
        shown = f"{_shown(health)}, the loop late by {lag_ms:.0f} ms at most"
        report.told(f"/health p50 and p99 beside {kind}", f"{shown}   {dict(tallies[kind].statuses)}")
        every += health if kind in ASKS else []
    report.told("/health p50 and p99 beside all", _shown(every))
    report.most("turns of the loop above 100 ms, by its watchdog", stalls(target, report), 0)


def _shown(health: list[float]) -> str:
    return f"{percentile(health, 0.5):.1f} and {percentile(health, 0.99):.1f} ms"


async def _nothing(_world: World, _token: str) -> None:
    """What else the machine does."""
    await asyncio.sleep(BETWEEN_S)


async def _company(world: World, name: str) -> str:
    token = await world.company(name)
    for vertical, made in PUBLISHED.items():
        path = f"/process-templates/{vertical}"
        for method, end, body in (("PUT", "draft", {**made, "vertical": vertical}), ("POST", "publish", {})):
            answer = await world.call(method, f"{path}/{end}", body, token)
            assert answer is not None
            assert answer.status in {200, 201}, (vertical, answer.body[:300])
    return token


async def _again(world: World, ask: Ask, token: str, tally: Tally, until: float) -> None:
    while time.monotonic() < until:
        tally.note(await ask(world, token))
        await asyncio.sleep(BETWEEN_S)
