"""Whatever is said to a run, it has ended or has a reason to wake."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.core.template import Template
from daemon.engine.sweeper import reason
from tests.property.templates import templates
from tests.property.test_conversations import Say, bindings, play, sayings


@given(templates(), st.booleans(), bindings, st.lists(sayings, max_size=20))
def test_every_run_has_a_reason_to_wake_unless_it_has_ended(
    template: Template, auto: bool, bind: dict[str, int], said: list[Say]
) -> None:
    run = play(template, auto, bind, said).run
    why = reason(run, template)
    assert why is not None
    assert (why == "ended") == (run.ended is not None)
    assert run.resting == (not why.startswith(("call", "timer"))) or run.status in ("parked", "failed")
