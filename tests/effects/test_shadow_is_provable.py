"""What is in shadow never reaches the outside, and nothing irreversible does without a human in
front of it.
"""

from __future__ import annotations

import signal
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from daemon.keys.vault import Vault
from daemon.settings import Settings
from tests.crash.service import serving, together
from tests.effects import scale
from tests.effects.crowd import NEVER, UNBOUND, Errand, Switchboard, wave
from tests.effects.generated import write_templates
from tests.effects.ledger import Line
from tests.effects.world import JSON, history, ledger, write_template
from tests.seeds import drawn
from tests.web.support import Clients, House, Person

ON_THE_WAY_S = 5.0  # how long a call that had been cleared may have been on its way to the ledger


def clearing(events: list[JSON], step_id: str, visit: int) -> JSON:
    """The event that let the call of a visit go."""
    kinds = ("verdict_given", "step_cleared")
    here = [e for e in events if e["type"] in kinds and (e["step_id"], e["visit"]) == (step_id, visit)]
    return next(e for e in reversed(here) if e["request"] is not None)


def approved(events: list[JSON], cleared: JSON) -> bool:
    """Whether a human allowed it: somebody approved, and somebody did since the step last made a
    call.
    """
    before = [e for e in events if e["seq"] <= cleared["seq"]]
    verdicts = [e["seq"] for e in before if e["type"] == "verdict_given" and e["decision"] != "denied"]
    again = [e["seq"] for e in before if e["type"] == "step_entered" and e["by"] is not None]
    calls = [e["seq"] for e in before if live(e) and e["step_id"] == cleared["step_id"] and e is not cleared]
    return bool(verdicts) and max(verdicts + again) > max((seq for seq in calls if seq < cleared["seq"]), default=0)


def live(event: JSON) -> bool:
    """Whether the event let a call go to the outside."""
    kinds = ("verdict_given", "step_cleared")
    if event["type"] not in kinds or event.get("decision") == "denied" or event["request"] is None:
        return False
    return bool(event["request"]["mode"] == "live")


def check(line: Line, events: list[JSON], steps: dict[str, JSON], board: Switchboard) -> str:
    """A call that the ledger got was live, by the very connector that was in force; returns its
    effect.
    """
    _, step_id, visit = line.key.split(":")
    cleared = clearing(events, step_id, int(visit))
    request = cleared["request"]
    assert (request["mode"], request["tool"]) == ("live", line.path.rpartition("/")[2]), line
    assert request["tool"] not in UNBOUND + NEVER
    setting = board.settings[request["tool"]][request["connector_version"]]
    assert setting.reversible, line
    assert setting.since <= line.at <= setting.until + ON_THE_WAY_S, line
    effect: str = steps[step_id]["effect"]
    if effect == "irreversible":
        assert approved(events, cleared), (line, events)
    return effect


async def lived_through(folder: Path, errands: list[Errand], board: Switchboard) -> list[list[JSON]]:
    """See all errands through, the service being killed or stopped now and then; returns their
    histories.
    """
    restarts, token = scale.RESTARTS.now, ""
    share = len(errands) // (restarts + 1)
    ended: list[Errand] = []
    for one in range(restarts):
        async with serving(folder, token) as service:
            if not token:
                await service.register()
                await board.begin(service)
            await board.catch_up(service)
            token, left = service.token, [errand for errand in errands if errand not in ended]
            ended += await wave(service, left, board, share, (signal.SIGKILL, signal.SIGTERM)[one % 2])
    async with serving(folder, token) as service:
        await board.catch_up(service)
        left = [errand for errand in errands if errand not in ended]
        ended += await wave(service, left, board, len(left), None)
        assert len(ended) == len(errands)
        return await together(history(service, errand.run_id) for errand in errands)


async def test_no_shadowed_call_and_no_irreversible_one_without_a_human_ever_leaves(tmp_path: Path) -> None:
    number, seed = scale.GENERATED_RUNS.now, drawn()
    random = Random(seed)
    templates = write_templates(tmp_path, scale.GENERATED_TEMPLATES.now, random)
    errands = [Errand(one, random.choice(list(templates)), Random(seed + one)) for one in range(number)]
    async with ledger(tmp_path) as books:
        board = Switchboard(books, random)
        histories = await lived_through(tmp_path, errands, board)
        lines = books.lines
    steps = {errand.run_id: templates[errand.vertical] for errand in errands}
    events = {errand.run_id: found for errand, found in zip(errands, histories, strict=True)}
    effects = Counter(check(line, events[line.run_id], steps[line.run_id], board) for line in lines)
    assert set(effects) == {"read", "reversible", "irreversible"}
    check_once(lines, steps)
    requests = [e["request"] for found in histories for e in found if e.get("request") is not None]
    shadowed = [request for request in requests if not is_live(request, board)]
    assert shadowed
    calls = {f"{effect}_calls": times for effect, times in effects.items()}
    board_size = sum(len(known) for known in board.settings.values())
    more = {"requests_in_shadow": len(shadowed), "connectors_stored": board_size}
    what = "generated templates with random shadow and live"
    scale.note(what, runs=number, templates=len(templates), restarts=scale.RESTARTS.now, **calls, **more)


def is_live(request: JSON, board: Switchboard) -> bool:
    """Whether a request in a history is live; it is if, and only if, its connector was."""
    live_then = request["connector_version"] is not None and (
        board.settings[request["tool"]][request["connector_version"]].reversible
    )
    assert request["mode"] == ("live" if live_then else "shadow"), request
    return live_then


def check_once(lines: list[Line], steps: dict[str, dict[str, JSON]]) -> None:
    """No irreversible call was sent twice, restarts or not."""
    for key, times in Counter(line.key for line in lines).items():
        run_id, step_id, _ = key.split(":")
        assert times == 1 or steps[run_id][step_id]["effect"] != "irreversible", key


class Watch:
    """What this process does to the outside while it is watched: names it resolves, connections,
    secrets opened.
    """

    def __init__(self) -> None:
        self.on = False
        self.seen: list[tuple[str, Any]] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.connect"}:
            self.seen.append((event, arguments[0] if event == "socket.getaddrinfo" else arguments[-1]))


@pytest.fixture
async def ann(tmp_path: Path, aiohttp_client: Clients) -> Any:
    """Somebody at a service in this process, with a template of two tools."""
    steps: list[JSON] = [
        {"id": "look", "kind": "task", "label": "Look", "tool": "look", "effect": "read", "next": "pay"},
        {
            "id": "pay",
            "kind": "task",
            "label": "Pay",
            "tier": "high",
            "tool": "pay",
            "effect": "irreversible",
            "next": "end",
        },
        {"id": "end", "kind": "end", "label": "Paid", "outcome": "paid"},
    ]
    write_template(tmp_path, "two-tools", steps)
    settings = Settings(
        data_dir=tmp_path / "data",
        templates_dir=tmp_path / "templates",
        egress_allow="127.0.0.0/8,::1/128",
        rate_limits=False,
    )
    house = House(settings, aiohttp_client)
    await house.open()
    yield await house.register("ann")
    await house.close()


async def driven(ann: Person, auto: bool) -> None:
    """A run from its start to its end, every gate approved."""
    run = await ann.start("two-tools", {"amount": 1}, auto=auto)
    while run["status"] == "parked":
        run = (await ann.resume(run, run["parked_at"])).json
    assert run["outcome"] == "paid", run["error"]


@pytest.mark.parametrize("auth", ["bearer", "basic", "header"])
async def test_a_shadowed_call_resolves_no_name_opens_no_secret_and_connects_to_nothing(
    ann: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, auth: str
) -> None:
    watch, really_open = Watch(), Vault.open

    def noted(self: Vault, *place: Any) -> Any:
        if watch.on:
            watch.seen.append(("secret", place[1]))
        return really_open(self, *place)

    monkeypatch.setattr(Vault, "open", noted)
    async with ledger(tmp_path) as books:
        how = {"auth_type": auth, "auth_token": "ann:correct-horse", "auth_header": "X-Key", "path": "/ok/ok"}
        for live in (False, True):
            for tool in ("look", "pay"):
                await ann.connect(tool, f"http://localhost:{books.port}", **how, reversible=live)
            watch.on = True
            for auto in (True, False):
                await driven(ann, auto)
            watch.on = False
            own = ann.house.client.port
            seen = [(what, of) for what, of in watch.seen if what != "socket.connect" or of[1] != own]
            watch.seen.clear()
            if live:
                assert {what for what, _ in seen} == {"socket.getaddrinfo", "socket.connect", "secret"}
                assert len(books.lines) == 4
            else:
                assert seen == []
                assert books.lines == []
