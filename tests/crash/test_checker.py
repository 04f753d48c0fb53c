"""The checker finds nothing in logs that were recorded from a sound service, and names each fault
planted in them.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.crash.checker import Report, check
from tests.crash.folding import Fold
from tests.crash.notes import lines
from tests.crash.world import GUARDED

RECORDED = Path(__file__).with_name("recorded")
NAMED_IN = ("answers", "outside", "checker")
KIND = re.compile(r'(?:yield |yield from \(|_id, |_id"\], |plan}", )f?"([a-z ]+)[:{]')
Line = dict[str, Any]


@dataclass
class Logs:
    """The three logs, to plant faults in."""

    driver: list[Line]
    ledger: list[Line]
    history: list[Line]

    def answers(self, do: str, status: int) -> Iterator[Line]:
        return (line for line in self.driver if line.get("do") == do and line.get("status") == status)

    def run_of(self, answer: Line) -> Line:
        """The exported run that an answer is about."""
        return next(run for run in self.history if run["events"][0]["inputs"]["plan"] == answer["plan"])

    def acknowledged(self) -> tuple[Line, Line, int]:
        """A verdict that was acknowledged, its run, and the place of its event."""
        answer = next(self.answers("resume", 200))
        run = self.run_of(answer)
        return answer, run, place(run, lambda event: event.get("comment") == f"#{answer['n']}")

    def effect(self, *, keyed: bool = False) -> Line:
        """A call that took an effect which cannot be undone."""
        steps = {step for (_, step), guard in GUARDED.items() if guard.keyed is keyed}
        return next(line for line in self.ledger if line["effect"] and line["key"].split(":")[1] in steps)


def place(run: Line, fits: Callable[[Line], bool]) -> int:
    return next(at for at, event in enumerate(run["events"]) if fits(event))


def retold(run: Line, events: list[Line]) -> None:
    """Give a run another history, numbered as it has to be, and have it shown as that history
    says.
    """
    fold = Fold()
    for seq, event in enumerate(events, 1):
        event["seq"] = seq
        fold.apply(event)
    run["events"], run["seen"] = events, fold.seen()


def lose_a_verdict(logs: Logs) -> None:
    _, run, at = logs.acknowledged()
    retold(run, run["events"][:at])


def lose_a_start(logs: Logs) -> None:
    logs.history.remove(logs.run_of(next(logs.answers("start", 201))))


def lose_a_cancel(logs: Logs) -> None:
    run = logs.run_of(next(logs.answers("cancel", 200)))
    at = place(run, lambda event: event["type"] == "run_ended")
    retold(run, run["events"][:at])


def lose_a_state(logs: Logs) -> None:
    answer = next(logs.answers("start", 201))
    run = logs.run_of(answer)
    retold(run, run["events"][: answer["run"]["version"] - 1])


def drop_a_number(logs: Logs) -> None:
    del logs.history[0]["events"][2]


def swap_two_events(logs: Logs) -> None:
    _, run, at = logs.acknowledged()
    events = run["events"]
    events[at], events[at - 1] = {**events[at - 1], "seq": at + 1}, {**events[at], "seq": at}


def rewrite_a_decision(logs: Logs) -> None:
    _, run, at = logs.acknowledged()
    run["events"][at]["decision"] = "enough" if run["events"][at]["decision"] == "again" else "again"


def rewrite_a_time(logs: Logs) -> None:
    answer, run, _ = logs.acknowledged()
    run["events"][answer["run"]["version"] - 1]["at"] = "2026-01-01T00:00:00Z"


def show_another_outcome(logs: Logs) -> None:
    logs.history[0]["seen"]["outcome"] = "another"


def close_a_gate_twice(logs: Logs) -> None:
    _, run, at = logs.acknowledged()
    run["events"].insert(at + 1, {**run["events"][at], "comment": "#0"})


def acknowledge_the_second(logs: Logs) -> None:
    second = next(line for line in logs.answers("resume", 409) if line["decided"])
    decided, run = second.pop("decided"), logs.run_of(second)
    first = next(line for line in logs.answers("resume", 200) if line["plan"] == second["plan"])
    second.update(status=200, given=[[decided["gate"], decided["visit"]]], run={**first["run"], "id": run["id"]})


def refuse_the_first(logs: Logs) -> None:
    answer, _, _ = logs.acknowledged()
    for line in logs.driver:
        if line["n"] == answer["n"] and line["type"] == "answered":
            line.update(status=409, decided=None)
            line.pop("run")


def invent_a_verdict(logs: Logs) -> None:
    answer, _, _ = logs.acknowledged()
    logs.driver[:] = [line for line in logs.driver if line["n"] != answer["n"]]


def count_a_verdict_twice(logs: Logs) -> None:
    _, run, at = logs.acknowledged()
    run["events"].insert(at + 1, {**run["events"][at], "visit": 77})


def refuse_the_cancel(logs: Logs) -> None:
    answer = next(logs.answers("cancel", 200))
    answer.pop("run")
    answer.update(status=409, decided=None)


def name_another_verdict(logs: Logs) -> None:
    next(line for line in logs.answers("resume", 409) if line["decided"])["decided"]["decision"] = "another"


def change_the_answer_of_a_key(logs: Logs) -> None:
    keyed = {line["n"] for line in logs.driver if "Idempotency-Key" in line.get("headers", {})}
    answer = next(line for line in logs.answers("resume", 200) if line["n"] in keyed)
    logs.driver.append({**answer, "sha256": "0" * 64})


def read_the_past(logs: Logs) -> None:
    read = next(line for line in logs.answers("read", 200) if line["run"]["version"] > 5)
    before = [line for line in logs.driver if line["plan"] == read["plan"] and "run" in line and line is not read]
    read["run"] = min((line["run"] for line in before), key=lambda run: int(run["version"]))


def start_twice(logs: Logs) -> None:
    logs.history.append({**logs.history[0], "id": "another"})


def leave_a_run_stuck(logs: Logs) -> None:
    run = next(run for run in logs.history if any(event["type"] == "step_cleared" for event in run["events"]))
    at = place(run, lambda event: event["type"] == "step_cleared" and event["branch"] is None)
    retold(run, run["events"][: at + 1])


def repeat_an_effect(logs: Logs) -> None:
    logs.ledger.append(logs.effect())


def repeat_an_effect_in_another_visit(logs: Logs) -> None:
    effect = logs.effect()
    key, _, visit = effect["key"].rpartition(":")
    logs.ledger.append({**effect, "key": f"{key}:{int(visit) + 1}"})


def repeat_a_call_that_may_not_be(logs: Logs) -> None:
    logs.ledger.append({**logs.effect(), "effect": False})


def act_before_the_verdict(logs: Logs) -> None:
    logs.effect()["at"] -= 3_600.0


def act_for_nobody(logs: Logs) -> None:
    logs.ledger.append({**logs.effect(), "key": "nobody:pay:1"})


def call_for_a_step_not_entered(logs: Logs) -> None:
    known = next(line for line in logs.ledger if line["tool"] == "fetch")
    logs.ledger.append({**known, "key": known["key"].replace(":fetch:1", ":fetch:77")})


def call_a_shadowed_tool(logs: Logs) -> None:
    run = next(run for run in logs.history if run["vertical"] == "shadowed")
    logs.ledger.append({**logs.ledger[0], "key": f"{run['id']}:look:1", "tool": "look"})


def repeat_an_effect_under_one_key(logs: Logs) -> None:
    logs.ledger.append(next(line for line in logs.ledger if line["tool"] == "fetch" and line["effect"]))


def send_another_body(logs: Logs) -> None:
    logs.ledger.append({**logs.effect(keyed=True), "sha256": "0" * 64, "effect": False})


def answer_without_a_call(logs: Logs) -> None:
    run, output = next(
        (run, event["output"])
        for run in logs.history
        for event in run["events"]
        if event["type"] == "call_settled" and "receipt" in (event["output"] or {})
    )
    logs.ledger[:] = [line for line in logs.ledger if line["key"] != output["receipt"]]
    assert run


PLANTED = {
    lose_a_verdict: "verdict lost",
    lose_a_start: "start lost",
    lose_a_cancel: "cancel lost",
    lose_a_state: "state lost",
    drop_a_number: "history broken",
    swap_two_events: "history broken",
    rewrite_a_decision: "verdict changed",
    rewrite_a_time: "state lost",
    show_another_outcome: "state not folded",
    close_a_gate_twice: "gate closed twice",
    acknowledge_the_second: "two acknowledged",
    refuse_the_first: "verdict refused",
    invent_a_verdict: "verdict invented",
    count_a_verdict_twice: "verdict twice",
    refuse_the_cancel: "cancel refused",
    name_another_verdict: "verdict changed",
    change_the_answer_of_a_key: "key answered in two ways",
    read_the_past: "stale read",
    start_twice: "started twice",
    leave_a_run_stuck: "run stuck",
    repeat_an_effect: "effect twice",
    repeat_an_effect_in_another_visit: "effect twice",
    repeat_a_call_that_may_not_be: "sent twice",
    act_before_the_verdict: "effect without verdict",
    act_for_nobody: "effect without verdict",
    call_for_a_step_not_entered: "call unknown",
    call_a_shadowed_tool: "shadow broken",
    repeat_an_effect_under_one_key: "effect repeated",
    send_another_body: "call changed",
    answer_without_a_call: "outcome invented",
}


@pytest.fixture(scope="module")
def recorded() -> Logs:
    return Logs(*([*lines(RECORDED / f"{name}.jsonl")] for name in ("driver", "ledger", "history")))


def checked(logs: Logs, folder: Path) -> Report:
    files = [folder / f"{name}.jsonl" for name in ("driver", "ledger", "history")]
    for file, log in zip(files, (logs.driver, logs.ledger, logs.history), strict=True):
        file.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in log))
    return check(*files)


def test_sound_logs_have_no_fault(recorded: Logs, tmp_path: Path) -> None:
    report = checked(recorded, tmp_path)
    assert not report.faults, report
    assert (report.runs, report.verdicts) == (len(recorded.history), 55)
    assert report.effects == 13


@pytest.mark.parametrize(("plant", "kind"), PLANTED.items(), ids=[plant.__name__ for plant in PLANTED])
def test_a_planted_fault_is_named(recorded: Logs, plant: Callable[[Logs], None], kind: str, tmp_path: Path) -> None:
    logs = copy.deepcopy(recorded)
    plant(logs)
    assert kind in checked(logs, tmp_path).faults


def test_every_kind_of_fault_is_planted() -> None:
    files = (Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8") for name in NAMED_IN)
    kinds = {kind.strip() for text in files for kind in KIND.findall(text)}
    assert len(kinds) > 15
    assert not [kind for kind in kinds if not any(planted.startswith(kind) for planted in PLANTED.values())]
