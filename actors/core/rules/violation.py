"""What breaks a rule, and where; and all rules, each with what to do about it."""

from __future__ import annotations

from msgspec import Struct

from actors.core.template import Edge


class EdgeName(Struct, frozen=True):
    """An edge by its ends and its branch."""

    source: str
    target: str
    branch: str | None = None


class Violation(Struct, frozen=True):
    """A rule that a template breaks, and the node or edge at which it does.

    Without either the detail begins with the member of the document. Of a clock there is the
    `path` of steps from where it starts, what that takes at most, and what is allowed.
    """

    rule: str
    node: str | None
    detail: str
    edge: EdgeName | None = None
    clock: str | None = None
    path: tuple[str, ...] = ()
    takes: str | None = None
    within: str | None = None

    def __str__(self) -> str:
        """One line for people: the rule, the place, and why."""
        return f"{self.rule} at {self.detail if self.node is None else f'{self.node}: {self.detail}'}"


class SlowestPath(Struct, frozen=True):
    """The path that leaves a clock the least time, what it takes at most, and what is allowed."""

    clock: str
    path: tuple[str, ...]
    takes: str
    within: str


def named(edge: Edge) -> EdgeName:
    """The name of an edge."""
    return EdgeName(edge.source, edge.target, edge.branch)


RULES: dict[str, str] = {
    "illegal_id": "Give the step an id of 1 to 64 letters a-z, digits and dashes that begins with a letter.",
    "duplicate_id": "Give one of the two steps another id.",
    "unknown_node": "Add the step, or lead the edge to one that is there.",
    "unreachable": "Lead an edge here from a step that the start reaches, or delete the step.",
    "no_end": "Lead a path from here to an end.",
    "unlabelled_branch": "Give every branch of the gateway a label.",
    "duplicate_branch": "Give each branch a label of its own.",
    "no_choice": "Add a second branch, or replace the gateway by an edge.",
    "branch_without_condition": "Give the branch a condition, or make it the last one.",
    "several_ways_on": "Put a gateway behind the step, and let that lead to several steps.",
    "no_way_on": "Lead an edge from here to the next step, or make the step an end.",
    "unknown_branch": "Name the branch approved or denied, or put a gateway there.",
    "condition_off_gateway": "Remove the condition, or put an exclusive gateway there.",
    "end_with_exit": "Remove the edge, or make the step another kind.",
    "task_without_tool": "Name the tool that the task calls, and whether it reads, can be undone, or cannot.",
    "gateway_without_flow": "Say exclusive for one branch, or parallel for all.",
    "flow_off_gateway": "Remove the flow, or make the step a gateway.",
    "misplaced_field": "Remove the field, or make the step one that has it.",
    "unknown_role": "Name one of the roles manager, admin and owner.",
    "group_refused": "Name a group in 1 to 63 letters a-z, digits and dashes.",
    "end_without_outcome": "Give the end an outcome, one word for how the process ended.",
    "signal_without_rule": "Write a signal_when that finds the hit, or remove signal: true from the dry run.",
    "condition_refused": "Correct the expression.",
    "reserved_vertical": "Choose another name: `action` is the process of the actions of agents.",
    "schema_refused": "Correct the schema.",
    "citation_refused": "Name steps, clocks and rehearsals that are there and show it, or say why nothing enforces it.",
    "rehearsal_refused": "Write how the rehearsal ends, or change the step that should let it pass or stop it.",
    "example_refused": "Give an example that the schema of the inputs accepts.",
    "malformed": "Give the document the form that the guide shows.",
    "fork_without_join": "Lead each branch of the fork to one join, which waits for these branches alone.",
    "join_without_fork": "Open the branches at one fork, or replace the join by a task.",
    "ungated_irreversible": "Put a gate in front of the task on every path, or give the task the tier high.",
    "quorum_refused": "Give a number within these bounds.",
    "four_eyes_refused": "Name the starter, the author of a connector or of the template, or another gate.",
    "function_refused": "Name a function of the template, which a role from manager up stands in for.",
    "comment_refused": "Use one of the words that are known, and give codes where one is required.",
    "deadline_refused": "Write a duration such as PT72H, or P3BD for three business days.",
    "on_deadline_refused": "Say together when the deadline is and what happens then, which is never an approval.",
    "escalates_to_nobody": "Name groups at the gate or a lower role here; as it is, the deadline only reminds.",
    "deadline_without_clock": "Anchor the deadline to a clock that runs at the gate, or give a duration.",
    "judge_refused": "Seat judges, each a rule or a tool, at tasks of the tier medium.",
    "form_refused": "Give a JSON Schema of an object.",
    "question_refused": "Ask in one line, with placeholders for what the schema of the inputs or an earlier step has.",
    "wait_refused": "Wait for one thing, and lead on by the ways that fit it.",
    "compensate_refused": "Name at a task the tool that undoes it, and say true at an end.",
    "readers_refused": "Name functions of the template, groups and a role that there are, and subjects as inputs.",
    "blast_refused": "Use low, medium or high.",
    "clock_refused": "Name steps, clocks and roles that are there, and durations such as P7D or P20BD.",
    "duty_refused": "Name a rule by its id, and ends in exempt.",
    "late_by_design": "Shorten the deadlines and waits on the path, or anchor them to the clock.",
    "clock_unbounded": "Give the gate or the wait an end: a deadline that leads on, or one anchored to the clock.",
    "clock_not_stopped": "Lead the path over an act that stops the clock, or say in ends_clocks why none is due.",
    "duty_avoidable": "Lead the denial to a gate of a higher role with four_eyes for the first, or to an exempt end.",
    "too_large": "Divide the process into smaller ones.",
    "unsupported_element": "Draw this part with tasks, gateways, gates, waits and ends.",
}
"""What to do about each violation, by rule."""
