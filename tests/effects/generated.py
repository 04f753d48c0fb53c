"""Templates at random that the catalog takes: blocks of one way in, each built in front of what
follows it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from daemon.templates.loading import load_folder
from tests.effects.world import JSON, write_template

TOOLS = tuple(f"tool-{number}" for number in range(10))
EFFECTS = ("read", "reversible", "irreversible")
TIERS = ("low", "low", "low", "medium", "medium", "high", "critical")
GATE_TIERS = ("high", "critical")
DEPTH = 3
REFUSED = "refused"


@dataclass
class Maker:
    """The steps of one template in the making, the last ones first."""

    random: Random
    steps: list[JSON] = field(default_factory=list)

    def add(self, word: str, **step: Any) -> str:
        """One more step, under an id of its own."""
        name = f"{word}-{len(self.steps)}"
        self.steps.append({"id": name, "label": f"The {name}", **step})
        return name

    def sequence(self, onward: str, depth: int) -> str:
        """A few blocks in a row; returns where it begins."""
        for _ in range(self.random.randint(1, 3)):
            onward = self.block(onward, depth)
        return onward

    def block(self, onward: str, depth: int) -> str:
        """One block that leads on to that step."""
        makers: list[Callable[[str, int], str]] = [self.task, self.task, self.gate]
        if depth:
            makers += [self.choice, self.verdict, self.fork, self.loop]
        return self.random.choice(makers)(onward, depth)

    def task(self, onward: str, _: int = 0) -> str:
        """A task; an irreversible one is its own gate, or comes behind one."""
        tier, effect = self.random.choice(TIERS), self.random.choice(EFFECTS)
        dry_run = [{"output": {"dry": True, "hit": self.random.random() < 0.1}}]
        step: JSON = {"tier": tier, "effect": effect, "tool": self.random.choice(TOOLS), "dry_run": dry_run}
        if self.random.random() < 0.5:
            step["signal_when"] = "has(output.hit) && output.hit == true"
        name = self.add("task", kind="task", next=self._ways(onward), **step)
        return self.gate(name) if effect == "irreversible" and tier not in GATE_TIERS else name

    def gate(self, onward: str, _: int = 0) -> str:
        return self.add("gate", kind="gate", tier=self.random.choice(GATE_TIERS), next=self._ways(onward))

    def choice(self, onward: str, depth: int) -> str:
        """A branch by condition."""
        ways = [self._branch(onward, depth - 1), self._branch(onward, depth - 1)]
        when = f"inputs.amount > {self.random.randint(0, 100)}"
        branches = [{"branch": "large", "when": when, "to": ways[0]}, {"branch": "small", "to": ways[1]}]
        return self.add("choice", kind="gateway", flow="exclusive", branches=branches)

    def verdict(self, onward: str, depth: int) -> str:
        """A branch by a human."""
        branches = [{"branch": word, "to": self._branch(onward, depth - 1)} for word in ("left", "right")]
        return self.add("verdict", kind="gateway", flow="exclusive", tier="high", branches=branches)

    def fork(self, onward: str, depth: int) -> str:
        """Two branches at once; each comes to the join, and all else to the fork, over a step of
        one way on.
        """
        join = self.add("join", kind="gateway", flow="parallel", next=onward)
        ways = [self.block(self._look(join), depth - 1) for _ in range(2)]
        return self._look(self.add("fork", kind="gateway", flow="parallel", next=ways))

    def loop(self, onward: str, depth: int) -> str:
        """A part that a human may send round again."""
        again = self.add("again", kind="gateway", flow="exclusive", tier="high", branches=[])
        head = self.sequence(again, depth - 1)
        step = next(step for step in self.steps if step["id"] == again)
        step["branches"] = [{"branch": "again", "to": head}, {"branch": "on", "to": onward}]
        return head

    def _look(self, onward: str) -> str:
        return self.add("look", kind="task", tool=self.random.choice(TOOLS), effect="read", next=onward)

    def _branch(self, onward: str, depth: int) -> str:
        return onward if self.random.random() < 0.2 else self.block(onward, depth)

    def _ways(self, onward: str) -> str | dict[str, str]:
        return {"approved": onward, "denied": REFUSED} if self.random.random() < 0.3 else onward


def steps_of(random: Random) -> list[JSON]:
    """The steps of a template, from its start on."""
    maker = Maker(random)
    done = maker.add("done", kind="end", outcome="done")
    maker.steps.append({"id": REFUSED, "kind": "end", "label": "Refused", "outcome": REFUSED})
    start = maker.sequence(done, DEPTH)
    steps = sorted(maker.steps, key=lambda step: step["id"] != start)
    if not any(REFUSED in str(step.get("next")) for step in steps):
        steps.remove(next(step for step in steps if step["id"] == REFUSED))
    return steps


def write_templates(folder: Path, number: int, random: Random) -> dict[str, dict[str, JSON]]:
    """So many templates, all of which the catalog takes; returns their steps by vertical and id."""
    made = {f"generated-{one}": steps_of(random) for one in range(number)}
    for vertical, steps in made.items():
        write_template(folder, vertical, steps)
    assert len(load_folder(folder / "templates")) == number
    return {vertical: {step["id"]: step for step in steps} for vertical, steps in made.items()}
