"""Random graphs in the form of a canvas: sequences with choices, forks, gates, waits and loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

LABELS = st.text(min_size=1, max_size=12).filter(lambda text: text.isprintable() and text.strip() == text)
FORM = {"type": "object", "required": ["units"], "properties": {"units": {"type": "integer"}}, "x-order": ["units"]}
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "groups": st.just(["finance"]),
        "quorum": st.integers(1, 3),
        "four_eyes": st.just(["starter"]),
        "comment": st.sampled_from(["optional", "on-denial", "always"]),
        "form": st.just(FORM),
        "denial_codes": st.just(["late", "wrong"]),
    },
)
DEADLINES = st.sampled_from([{}, {"deadline": "PT4H", "remind": ["PT1H"], "on_deadline": "denied"}])
QUESTIONS = st.sampled_from([{}, {"question": "Sign {business_key}?"}])
WAITS = st.sampled_from([{"duration": "P3BD"}, {"until": "timestamp(inputs.at)"}, {"message": "papers"}])
EFFECTS = st.sampled_from(["read", "reversible"])


@dataclass
class Plan:
    """A graph that grows at its last step."""

    draw: st.DrawFn
    nodes: list[dict[str, Any]] = field(default_factory=list)
    edges: list[dict[str, Any]] = field(default_factory=list)
    last: str = ""

    def step(self, kind: str, **more: Any) -> str:
        self.nodes.append({"id": f"{kind[0]}{len(self.nodes)}", "kind": kind, "label": self.draw(LABELS), **more})
        return str(self.nodes[-1]["id"])

    def lead(self, source: str, target: str, branch: str | None = None, when: str | None = None) -> None:
        self.edges.append({"source": source, "target": target, "branch": branch, "when": when})

    def go_on(self, kind: str, **more: Any) -> None:
        """Add a step behind the last one."""
        step = self.step(kind, **more)
        if self.last:
            self.lead(self.last, step)
        self.last = step


def a_gate(plan: Plan) -> None:
    policy = {"role": "admin", **plan.draw(POLICIES)}
    plan.go_on("gate", tier="critical", role="admin", policy=policy, **plan.draw(QUESTIONS))


def a_wait(plan: Plan) -> None:
    plan.go_on("wait", wait=plan.draw(WAITS))


def a_task(plan: Plan) -> None:
    plan.go_on("task", tool="look", effect=plan.draw(EFFECTS), tier=plan.draw(st.sampled_from(["low", "medium"])))


def a_payment(plan: Plan) -> None:
    plan.go_on("task", tool="pay", effect="irreversible")


def a_choice(plan: Plan) -> None:
    plan.go_on("gateway", flow="exclusive")
    choice, branches = plan.last, [plan.step("task", tool="look", effect=plan.draw(EFFECTS)) for _ in range(2)]
    plan.lead(choice, branches[0], "first <one>", 'has(inputs.amount) && inputs.amount > 3 && "a" != "b"')
    plan.lead(choice, branches[1], "other & rest")
    plan.last = plan.step("task", tool="merge", effect="read", signal_when="output.hits > 0")
    for branch in branches:
        plan.lead(branch, plan.last)


def a_fork(plan: Plan) -> None:
    plan.go_on("gateway", flow="parallel")
    fork, plan.last = plan.last, plan.step("gateway", flow="parallel")
    for branch in [plan.step("task", tool="look", effect="read", compensate="unlook") for _ in range(2)]:
        plan.lead(fork, branch)
        plan.lead(branch, plan.last)


PARTS: tuple[Callable[[Plan], None], ...] = (a_task, a_gate, a_wait, a_choice, a_fork, a_payment)


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, Any]:
    """A process of up to ten parts behind a gate, each of which leads to the next."""
    plan = Plan(draw)
    plan.go_on("gate", tier="high", policy={**draw(POLICIES), **draw(DEADLINES)})
    for part in draw(st.lists(st.sampled_from(PARTS), max_size=10)):
        part(plan)
    plan.go_on("end", outcome="done", compensates=draw(st.booleans()))
    return {"title": draw(LABELS), "nodes": plan.nodes, "edges": plan.edges}
