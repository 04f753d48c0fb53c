"""Who is told of a gate that asks for a function: who may decide there, whatever the role."""

from __future__ import annotations

import pytest

from actors.core.eligibility import Setting
from actors.core.people import Company
from daemon.notifications.audience import Occurrence, is_recipient
from tests.conversations import MORNING, Conversation
from tests.core.test_functions import directed, staffed


@pytest.mark.parametrize(
    ("company", "told"),
    [(staffed(), {"eve", "fay"}), (staffed(None), {"ann", "bob", "cyd", "dan"})],
    ids=["bound", "unbound"],
)
def test_who_fills_the_function_of_a_gate_is_told_of_it_and_while_nobody_does_its_role(
    company: Company, told: set[str]
) -> None:
    talk = Conversation(directed(), company=company).start()
    opened, setting = Occurrence("gate_opened", "a", 1), Setting(talk.template, {}, company)
    assert {
        name for name, one in company.people.items() if is_recipient(one, opened, talk.run, setting, MORNING)
    } == told
