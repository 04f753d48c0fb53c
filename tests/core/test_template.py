"""Which graphs may be loaded, and what is said about those that may not."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from actors.core.rules import RULES, EdgeName, guards, violations
from actors.core.template import DryRun, Edge, Node, Template
from tests.processes import ALWAYS, MATCHED, choice, end, gate, parallel, process, task


def found(template: Template) -> list[tuple[str, str | None]]:
    return [(problem.rule, problem.node) for problem in violations(template)]


def fork(ways: str, *more: Node, start: str | None = None) -> Template:
    """A fork over `left` and `right` with its join, and whatever else the ways need."""
    steps = (parallel("fork"), gate("left"), gate("right"), parallel("join"), *more, end())
    return process(*steps, ways=ways, start=start)


HIT, NO_HIT = DryRun({"match": "exact"}, signal=True), DryRun({"match": "none"}, signal=True)
BLOCK = "fork -> left -> join -> end\nfork -> right -> join\n"

SOUND = {
    "one end": process(end(), ways=""),
    "a sequence": process(task("a"), gate("b"), end(), ways="a -> b -> end"),
    "both decisions have an edge": process(gate("a"), end(), end("no"), ways="a -[approved]-> end\na -[denied]-> no"),
    "a loop over a gate": process(task("a"), gate("b"), end(), ways="a -> b -> end\nb -[denied]-> a"),
    "a loop of one's own": process(gate("a"), end(), ways="a -> end\na -[denied]-> a"),
    "a loop over a gateway": process(
        task("a"), choice("b"), end(), ways="a -> b -[again]-> a\nb -[on]-> end", when={"again": ALWAYS}
    ),
    "a gateway without an otherwise": process(
        choice("a"), end(), ways="a -[x]-> end\na -[y]-> end", when={"x": ALWAYS, "y": ALWAYS}
    ),
    "a human gateway": process(choice("a", "high"), end(), ways="a -[x]-> end\na -[y]-> end"),
    "a fork and its join": fork(BLOCK),
    "a fork with a way straight to the join": process(
        parallel("f"), gate("a"), parallel("j"), end(), ways="f -> a -> j -> end\nf -> j"
    ),
    "a fork that may be denied": fork(BLOCK + "fork -[denied]-> end"),
    "a join that may be denied": fork(BLOCK + "join -[denied]-> end"),
    "denied edges of two branches to one end": fork(BLOCK + "left -[denied]-> end\nright -[denied]-> end"),
    "a denied edge of one branch past the join": fork(
        "fork -> left -> join -> letter -> end\nfork -> right -> join\nleft -[denied]-> letter", task("letter")
    ),
    "a loop inside a branch": fork(BLOCK + "left -[denied]-> left"),
    "a loop around the whole block": process(
        gate("entry"),
        *fork(BLOCK).nodes,
        choice("again", "high"),
        ways="""entry -> fork -> left -> join -> again -[once more]-> entry
                fork -> right -> join
                again -[enough]-> end""",
    ),
    "a join that is where all begins": fork(
        "join -> again -[on]-> fork\nagain -[out]-> end\nfork -> left -> join\nfork -> right -> join",
        choice("again", "high"),
        start="join",
    ),
    "a join that forks again": process(
        *(parallel(i) for i in ("f", "jf", "j")),
        *(gate(i) for i in ("a", "b", "c", "d")),
        end(),
        ways="f -> a -> jf -> c -> j -> end\nf -> b -> jf -> d -> j",
    ),
    "nested forks": process(
        *(parallel(i) for i in ("outer", "inner", "inner-join", "outer-join")),
        *(gate(i) for i in ("a", "b", "c")),
        end(),
        ways="""outer -> inner -> a -> inner-join -> outer-join -> end
                inner -> b -> inner-join
                outer -> c -> outer-join""",
    ),
    "a choice inside a branch": process(
        parallel("f"),
        choice("a", "high"),
        task("b"),
        gate("c"),
        parallel("j"),
        end(),
        ways="""f -> a -[b]-> b -> j -> end
                a -[out]-> end
                f -> c -> j""",
    ),
    "a parallel gateway of one way": process(parallel("a"), end(), ways="a -> end"),
    "an irreversible task behind a gate": process(
        gate("a"), task("b", effect="irreversible"), end(), ways="a -> b -> end"
    ),
    "an irreversible task behind a human gateway": process(
        choice("a", "high"), task("b", effect="irreversible"), end(), ways="a -[x]-> b -> end\na -[y]-> end"
    ),
    "an irreversible task that is its own gate": process(task("a", "high", "irreversible"), end(), ways="a -> end"),
    "an irreversible task in a loop over its gate": process(
        gate("a"),
        task("b", effect="irreversible"),
        choice("c", "high"),
        end(),
        ways="a -> b -> c -[again]-> b\nc -[on]-> end",
    ),
}


@pytest.mark.parametrize("template", SOUND.values(), ids=SOUND)
def test_a_sound_graph_has_no_problems(template: Template) -> None:
    assert violations(template) == ()


def duplicate() -> Template:
    return process(task("a"), task("a"), end(), ways="a -> end")


BROKEN = {
    "illegal_id": (process(task("A b"), end(), ways="A b -> end"), "A b"),
    "illegal_id, the root of dotted keys": (process(task("facts"), end(), ways="facts -> end"), "facts"),
    "illegal_id, too long": (process(task("a" * 65), end(), ways=f"{'a' * 65} -> end"), "a" * 65),
    "duplicate_id": (duplicate(), "a"),
    "unknown_node, as the start": (process(end(), ways="", start="nowhere"), "nowhere"),
    "unknown_node, as a source": (process(end(), ways="ghost -> end"), "ghost"),
    "unknown_node, as a target": (process(task("a"), end(), ways="a -> ghost"), "ghost"),
    "task_without_tool": (process(replace(task("a"), tool=None), end(), ways="a -> end"), "a"),
    "task_without_tool, nor effect": (process(replace(task("a"), effect=None), end(), ways="a -> end"), "a"),
    "signal_without_rule": (process(task("a", dry_run=(HIT,)), end(), ways="a -> end"), "a"),
    "signal_without_rule, though there is one": (
        process(task("a", dry_run=(HIT, NO_HIT), signal_when=MATCHED), end(), ways="a -> end"),
        "a",
    ),
    "gateway_without_flow": (process(replace(parallel("a"), flow=None), end(), ways="a -> end"), "a"),
    "flow_off_gateway": (process(replace(gate("a"), flow="parallel"), end(), ways="a -> end"), "a"),
    "end_with_exit": (process(end("a"), end(), ways="a -> end"), "a"),
    "unlabelled_branch": (process(choice("a", "high"), end(), ways="a -> end\na -[x]-> end"), "a"),
    "unlabelled_branch, empty": (process(choice("a", "high"), end(), ways="a -[]-> end\na -[x]-> end"), "a"),
    "duplicate_branch": (process(choice("a", "high"), end(), ways="a -[x]-> end\na -[x]-> end"), "a"),
    "no_choice": (process(choice("a", "high"), end(), ways="a -[x]-> end"), "a"),
    "branch_without_condition": (process(choice("a"), end(), ways="a -[x]-> end\na -[y]-> end"), "a"),
    "condition_off_gateway": (
        process(gate("a"), end(), ways="a -[approved]-> end", when={"approved": ALWAYS}),
        "a",
    ),
    "no_way_on": (process(gate("a"), end(), ways="a -[denied]-> end"), "a"),
    "duplicate_branch, denied twice": (
        process(gate("a"), end(), ways="a -> end\na -[denied]-> end\na -[denied]-> end"),
        "a",
    ),
    "several_ways_on": (process(task("a"), end(), ways="a -> end\na -> end"), "a"),
    "unknown_branch": (process(task("a"), end(), ways="a -[perhaps]-> end"), "a"),
    "unreachable": (process(task("a"), task("b"), end(), ways="a -> end\nb -> end"), "b"),
    "no_end": (process(task("a"), choice("b", "high"), end(), ways="a -> a\nb -[x]-> a\nb -[y]-> end", start="b"), "a"),
    "ungated_irreversible": (process(task("a", effect="irreversible"), end(), ways="a -> end"), "a"),
    "ungated_irreversible, past the gate": (
        process(
            choice("a"),
            gate("b"),
            task("c", effect="irreversible"),
            end(),
            ways="a -[x]-> b -> c -> end\na -[y]-> c",
            when={"x": ALWAYS},
        ),
        "c",
    ),
    "ungated_irreversible, again in a loop": (
        process(
            gate("a"),
            task("b", effect="irreversible"),
            choice("c"),
            end(),
            ways="a -> b -> c -[again]-> b\nc -[on]-> end",
            when={"again": ALWAYS},
        ),
        "b",
    ),
    "fork_without_join": (fork("fork -> left -> end\nfork -> right -> join -> end"), "fork"),
    "fork_without_join, the branches meet before": (
        process(
            parallel("f"),
            gate("a"),
            gate("b"),
            task("c"),
            parallel("j"),
            end(),
            ways="f -> a -> c -> j -> end\nf -> b -> c",
        ),
        "f",
    ),
}


@pytest.mark.parametrize(("case", "template", "node"), [(c, *broken) for c, broken in BROKEN.items()], ids=BROKEN)
def test_a_broken_rule_is_named_with_its_node(case: str, template: Template, node: str) -> None:
    assert found(template) == [(case.split(",", maxsplit=1)[0], node)]


UNJOINED = {
    "a branch comes to the join twice": fork(BLOCK + "left -[denied]-> join"),
    "one more step comes to the join": fork(
        "first -[on]-> fork\nfirst -[past]-> join\n" + BLOCK, choice("first", "high"), start="first"
    ),
    "a branch goes back before the fork": fork(
        "fork -> left -> join -> end\nfork -> right -> join\nleft -[denied]-> fork"
    ),
    "a step behind the join goes back into a branch": fork(
        "fork -> left -> join -> again -[again]-> left\nfork -> right -> join\nagain -[on]-> end",
        choice("again", "high"),
    ),
    "a step before the fork goes into a branch": fork(
        "first -[on]-> fork\nfirst -[past]-> left\n" + BLOCK, choice("first", "high"), start="first"
    ),
    "a step before the fork goes into a branch that parts and meets": fork(
        """first -[on]-> fork
           first -[past]-> pick
           fork -> pick
           pick -[one]-> left -> last -> join -> end
           pick -[other]-> last
           fork -> right -> join""",
        choice("first", "high"),
        choice("pick", "high"),
        task("last"),
        start="first",
    ),
    "all begins inside a branch": fork(
        "fork -> left -> join -> again -[again]-> fork\nfork -> right -> join\nagain -[on]-> end",
        choice("again", "high"),
        start="left",
    ),
    "a denied fork goes into a branch": fork(BLOCK + "fork -[denied]-> left"),
    "both branches are denied to one task": fork(
        BLOCK + "left -[denied]-> letter\nright -[denied]-> letter\nletter -> end", task("letter")
    ),
}


@pytest.mark.parametrize("template", UNJOINED.values(), ids=UNJOINED)
def test_a_join_that_could_wait_for_ever_or_go_on_too_early_does_not_load(template: Template) -> None:
    assert {"fork_without_join"} <= {problem.rule for problem in violations(template)}


def test_a_join_without_any_fork_is_named() -> None:
    ways = "a -[x]-> join -> end\na -[y]-> join"
    assert found(process(choice("a", "high"), parallel("join"), end(), ways=ways)) == [("join_without_fork", "join")]


def test_a_name_that_does_not_hold_hides_nothing_else_and_has_no_other_consequence() -> None:
    graph = process(task("a"), gate("b"), task("pay", effect="irreversible"), end(), ways="a -> ghost\nb -> pay -> end")
    assert found(graph) == [("unknown_node", "ghost")]
    assert found(process(task("a"), end(), ways="a -> ghost\na -> end\na -> other")) == [
        ("unknown_node", "ghost"),
        ("unknown_node", "other"),
        ("several_ways_on", "a"),
    ]
    loose = process(task("a"), choice("c"), end(), ways="a -> ghost\nc -[x]-> end\nghost -> end")
    assert found(loose) == [("unknown_node", "ghost"), ("unknown_node", "ghost"), ("no_choice", "c")]


def test_a_violation_of_an_edge_names_it() -> None:
    graph = process(choice("a"), end(), ways="a -[x]-> end\na -> end")
    where = {problem.rule: problem.edge for problem in violations(graph)}
    assert where["unlabelled_branch"] == EdgeName("a", "end")
    assert where["branch_without_condition"] == EdgeName("a", "end", "x")


def test_each_rule_says_what_to_do() -> None:
    assert {problem.rule for _, (template, _) in BROKEN.items() for problem in violations(template)} <= {*RULES}
    assert all(advice.endswith(".") for advice in RULES.values())


def test_a_template_has_a_thousand_steps_and_an_end_at_most() -> None:
    steps = [task(f"s{number}") for number in range(1001)]
    graph = process(*steps, end(), ways=" -> ".join((*(one.id for one in steps), "end")))
    assert found(graph) == [("too_large", None)]
    assert found(process(*steps[1:], end(), ways=" -> ".join((*(one.id for one in steps[1:]), "end")))) == []


def test_forks_and_joins_that_are_too_entangled_are_refused_within_a_second() -> None:
    chance = Random(1)
    names = [f"p{number}" for number in range(900)]
    ways = "\n".join(f"{one} -> {chance.choice(names)}" for one in names for _ in range(4))
    graph = process(*map(parallel, names), end(), ways=f"{ways}\np0 -> end")
    assert ("too_large", None) in found(graph)


def irreversible(step_id: str) -> Node:
    return task(step_id, effect="irreversible")


def test_the_guards_of_an_irreversible_task_are_the_gates_on_every_path_to_it() -> None:
    way = "check -> first -> second -> pay -> end"
    assert guards(process(task("check"), gate("first"), gate("second"), irreversible("pay"), end(), ways=way)) == {
        "pay": ("first", "second")
    }
    either = process(
        *(choice("which"), gate("left"), gate("right"), irreversible("pay"), gate("last"), irreversible("post"), end()),
        ways="which -[l]-> left -> pay -> last -> post -> end\nwhich -[r]-> right -> pay\npost -[denied]-> which",
        when={"l": ALWAYS},
    )
    assert guards(either) == {"pay": (), "post": ("last",)}
    alone = process(task("wire", "critical", effect="irreversible"), end(), ways="wire -> end")
    assert guards(alone) == {"wire": ("wire",)}


def test_a_problem_is_one_line_for_people() -> None:
    (problem,) = violations(process(gate("a"), end(), ways="a -[denied]-> end"))
    assert str(problem) == "no_way_on at a: no edge leads on from here"


def test_a_template_knows_the_edges_of_its_steps_and_its_gates() -> None:
    template = process(task("a"), gate("b"), task("c", "critical"), end(), ways="a -> b -> c -> end\nb -[denied]-> end")
    assert template.leaving("b") == (Edge("b", "c"), Edge("b", "end", "denied"))
    assert template.entering("end") == (Edge("c", "end"), Edge("b", "end", "denied"))
    assert template.gates == ("b", "c")
    assert template.node("c").tool == "c"
    with pytest.raises(KeyError):
        template.node("ghost")


def test_no_human_is_ever_asked_at_an_end() -> None:
    assert not replace(end(), tier="critical").gate


def test_the_decisions_of_an_exclusive_gateway_are_its_branch_labels() -> None:
    template = process(choice("a"), gate("b"), end(), ways="a -[big one]-> b -> end\na -> b\na -[small]-> end")
    assert template.decisions("a") == ("big one", "small")
    assert template.decisions("b") == ("approved", "denied")


def test_only_a_parallel_gateway_with_several_ways_in_is_a_join() -> None:
    template = fork(BLOCK + "left -[denied]-> right")
    assert [node.id for node in template.nodes if template.joins(node.id)] == ["join"]
