"""A denial in one of several branches: it ends that branch alone, and the run when no other is
left.
"""

from __future__ import annotations

import pytest

from actors.core.kinds import TURN_STEPS_MAX
from tests.conversations import Conversation
from tests.processes import connector, end, gate, parallel, process, task

LEAVING = process(
    parallel("fork"), gate("cut-off"), task("disable", effect="reversible"), gate("final-pay"), task("pay", tool="pay"),
    parallel("join"), task("wipe"), end(outcome="left"),
    ways="""fork -> cut-off -> disable -> join -> wipe -> end
            fork -> final-pay -> pay -> join""",
)  # fmt: skip
NESTED = process(
    *(parallel(i) for i in ("outer", "inner", "inner-join", "outer-join")),
    *(gate(i) for i in ("a", "b", "c")), task("behind"), end(),
    ways="""outer -> inner -> a -> inner-join -> behind -> outer-join -> end
            inner -> b -> inner-join
            outer -> c -> outer-join""",
)  # fmt: skip


def ended(talk: Conversation) -> tuple[str, str | None]:
    """How the run ended."""
    assert talk.run.ended is not None
    return talk.run.status, talk.run.ended.outcome


def test_a_denied_branch_takes_away_no_other_branchs_gate() -> None:
    talk = Conversation(LEAVING).start()
    talk.resume("final-pay", "denied")
    assert talk.events == ("verdict_given",)
    assert (talk.run.status, talk.parked) == ("parked", ["cut-off"])
    talk.resume("cut-off")
    assert ended(talk) == ("completed", "denied")
    assert talk.steps() == [
        *("fork:1 done", "final-pay:1 denied", "cut-off:1 done", "disable:1 done", "join:1 cancelled"),
    ]
    talk.resume("cut-off")
    assert talk.refusal.code == "not_parked"


def test_a_branch_that_had_come_to_the_join_already_gets_no_further() -> None:
    talk = Conversation(LEAVING).start()
    talk.resume("cut-off")
    assert talk.visit("join").status == "waiting"
    talk.resume("final-pay", "denied")
    assert ended(talk) == ("completed", "denied")
    assert "pay" not in talk.run.visits
    assert "wipe" not in talk.run.visits


def test_where_every_branch_is_denied_the_last_denial_ends_the_run() -> None:
    talk = Conversation(LEAVING).start()
    talk.resume("final-pay", "denied")
    talk.resume("cut-off", "denied")
    assert ended(talk) == ("completed", "denied")
    assert talk.steps() == ["fork:1 done", "final-pay:1 denied", "cut-off:1 denied"]


def test_the_call_of_another_branch_is_awaited_before_the_run_ends_as_denied() -> None:
    talk = Conversation(LEAVING, {"disable": connector("disable")}).start()
    talk.resume("cut-off")
    talk.resume("final-pay", "denied")
    assert (talk.run.status, talk.calls) == ("executing", ("run:disable:1",))
    talk.returned("disable")
    assert ended(talk) == ("completed", "denied")


def test_a_failed_branch_beside_a_denied_one_can_be_retried_and_then_the_run_ends_as_denied() -> None:
    talk = Conversation(LEAVING, {"disable": connector("disable")}).start()
    talk.resume("cut-off")
    talk.failed("disable")
    talk.resume("final-pay", "denied")
    assert talk.run.status == "failed"
    talk.retry()
    talk.returned("disable", 2)
    assert ended(talk) == ("completed", "denied")


@pytest.mark.parametrize("order", ["a- b+ c+", "b+ a- c+", "c+ a- b+", "a- b- c+", "c+ b+ a-", "c- a+ b+", "a+ b+ c-"])
def test_a_denial_in_an_inner_fork_lets_the_outer_branches_go_on(order: str) -> None:
    talk = Conversation(NESTED).start()
    said = order.split()
    for number, verdict in enumerate(said):
        assert sorted(talk.parked) == sorted(later[0] for later in said[number:])
        talk.resume(verdict[0], "approved" if verdict[1] == "+" else "denied")
    assert ended(talk) == ("completed", "denied")
    assert "end" not in talk.run.visits
    assert ("behind" in talk.run.visits) == ("c-" in said)


def test_a_parallel_gateway_that_is_denied_ends_its_branch_as_well() -> None:
    talk = Conversation(NESTED).start(auto=False)
    talk.resume("outer")
    talk.resume("inner", "denied")
    assert talk.parked == ["c"]
    talk.resume("c")
    assert ended(talk) == ("completed", "denied")


def test_a_gate_of_an_outcome_nobody_knows_stays_open_beside_a_denial() -> None:
    talk = Conversation(LEAVING, {"disable": connector("disable")}).start()
    talk.resume("cut-off")
    talk.failed("disable", unknown=True)
    talk.resume("final-pay", "denied")
    assert talk.parked == ["disable"]
    talk.resume("disable", "denied")
    assert ended(talk) == ("completed", "denied")


@pytest.mark.parametrize("tasks", range(TURN_STEPS_MAX - 2, TURN_STEPS_MAX + 2))
def test_a_denied_run_ends_also_where_a_turn_has_just_done_its_share(tasks: int) -> None:
    chain = [task(f"task-{number}") for number in range(tasks)]
    ways = " -> ".join(("fork", "long", *(one.id for one in chain), "join", "end")) + "\nfork -> short -> join"
    nodes = (parallel("fork"), gate("long"), gate("short"), *chain, parallel("join"), end())
    talk = Conversation(process(*nodes, ways=ways)).start()
    talk.resume("short", "denied")
    talk.resume("long")
    while talk.run.ended is None:
        assert talk.run.ready is not None
        talk.elapsed(talk.run.ready.step_id)
    assert ended(talk) == ("completed", "denied")
