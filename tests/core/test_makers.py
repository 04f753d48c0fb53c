"""A key counts, for four eyes, as the person who made it and as the one it acts for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from actors.core.calls import StoredBinding
from actors.core.eligibility import four_eyes_open
from actors.core.messages import Rejected, Start
from actors.core.people import Company
from tests.conversations import Conversation
from tests.core.test_gate_policies import OFFICE, reason
from tests.processes import connector, end, gate, process, task

MAKERS = Company(OFFICE.people, makers={"ci": frozenset({"bob"})})


def started(company: Company = OFFICE, word: str = "starter", **start: Any) -> Conversation:
    """A run that a key has started."""
    asked = process(gate("a", four_eyes=(word,)), task("pay"), end(), ways="a -> pay -> end")
    talk = Conversation(asked, company=company)
    said: dict[str, Any] = {"by": "ci", "by_kind": "service", **start}
    talk.say(Start(run_id="run", company_id="acme", inputs={}, **said, at=talk.at))
    return talk


def refused(talk: Conversation, by: str) -> str | None:
    """Why somebody does not decide there."""
    talk.resume("a", by=by, role=talk.company.people[by].role)
    return reason(talk) if isinstance(talk.last, Rejected) else None


def test_who_made_the_key_that_started_a_run_counts_as_its_starter() -> None:
    assert refused(started(made_by="bob"), "bob") == "four_eyes"
    assert refused(started(made_by="bob"), "cyd") is None


def test_so_does_the_member_for_whom_a_key_started_it() -> None:
    talk = started(made_by="bob", on_behalf_of="cyd")
    assert (refused(talk, "bob"), refused(talk, "cyd"), refused(talk, "dan")) == ("four_eyes", "four_eyes", None)


def test_runs_of_before_know_the_maker_by_the_key() -> None:
    assert refused(started(MAKERS), "bob") == "four_eyes"


def test_a_gate_says_that_nobody_is_kept_out_where_nobody_is_known_to_have_made_the_key() -> None:
    def shown(talk: Conversation) -> bool:
        return four_eyes_open(talk.run.parked[0], talk.run, talk.company)

    assert shown(started())
    assert refused(started(), "bob") is None
    assert not shown(started(made_by="bob"))
    assert not shown(started(MAKERS))
    assert not shown(started(by_kind="person", by="ann"))
    assert not shown(started(word="template-author"))


def test_a_version_and_its_draft_are_by_who_made_the_keys_that_published_and_saved_them() -> None:
    asked = process(gate("a", four_eyes=("template-author",)), end(), ways="a -> end")
    versions: tuple[dict[str, Any], ...] = (
        {"author": "ci"},
        {"author": "dan", "drafted_by": "ci"},
        {"author": "dan", "drafted_by": "bob"},
    )
    for who in versions:
        talk = Conversation(replace(asked, **who), company=MAKERS).start()
        assert refused(talk, "bob") == "four_eyes"
        assert refused(talk, "cyd") is None


def test_a_connector_is_changed_by_who_made_the_key_that_changed_it() -> None:
    asked = process(gate("a", four_eyes=("connector-author",)), task("pay"), end(), ways="a -> pay -> end")
    live = connector("pay")
    given: dict[str, Any] = {name: getattr(live, name) for name in live.__struct_fields__}
    talk = Conversation(asked, {"pay": StoredBinding(**given, changed_by="ci")}, company=MAKERS).start()
    assert refused(talk, "bob") == "four_eyes"
    assert refused(talk, "cyd") is None
