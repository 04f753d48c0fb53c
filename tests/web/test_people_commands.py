"""The commands about people, as an operator gives them to the real service."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from daemon.client import AwaitsApproval, Penstock, Problem, Target
from daemon.runtime.clock import utc_now
from tests.web.operators import Operator
from tests.web.people import colleague, company, invited, member_id
from tests.web.support import PASSWORD, Person
from tests.web.test_calendar import VIENNA
from tests.web.test_functions import directed
from tests.web.test_own_templates import publish
from tests.web.test_policy import policy_of

REFUSED = 1
GRACE = "grace@grace.test"


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    """The service runs beside the commands, whose output is theirs alone."""
    with capture_logs():
        yield


async def test_a_person_is_invited_promoted_put_into_a_group_and_removed(operator: Operator, ann: Person) -> None:
    token = (await operator.reads("members", "invite", GRACE, "--role", "viewer"))["invitation"]["token"]
    listed = {one["email"]: one["status"] for one in await operator.reads("members", "ls")}
    assert listed == {ann.email: "active", GRACE: "pending"}
    async with Penstock(operator.url) as grace:
        assert (await grace.invitation(token)).role == "viewer"
        await grace.register(GRACE, PASSWORD, invitation=token)
        assert (await operator.reads("members", "role", GRACE.upper(), "manager"))["role"] == "manager"
        me = await grace.me()
        assert (me.role, me.company.id) == ("manager", ann.session["company"]["id"])
        assert (await operator.reads("groups", "put", "nurses", GRACE))["members"] == [me.member_id]
        assert [one["name"] for one in await operator.reads("groups", "ls")] == ["nurses"]
        assert (await operator.says("members", "rm", GRACE, "--yes")).exit_code == 0
        with pytest.raises(Problem) as refused:
            await grace.me()
        assert refused.value.status == 401
    assert (await operator.reads("groups", "ls"))[0]["members"] == []
    assert (await operator.says("groups", "rm", "nurses", "--yes")).exit_code == 0
    assert await operator.reads("groups", "ls") == []


async def test_a_person_of_two_companies_goes_from_one_to_the_other(operator: Operator, ann: Person) -> None:
    token = (await operator.reads("members", "invite", GRACE))["invitation"]["token"]
    there = ann.session["company"]["id"]
    async with Penstock(operator.url) as grace:
        here = (await grace.register(GRACE, PASSWORD, "Grace inc")).company.id
        assert (await grace.accept_invitation(token)).company.id == there
        assert (await grace.switch(here)).company.id == here
        assert (await grace.login(GRACE, PASSWORD, company_id=there)).role == "member"
        assert {one.id for one in (await grace.me()).companies} == {here, there}


async def test_a_company_is_handed_over(operator: Operator, ann: Person) -> None:
    token = (await operator.reads("members", "invite", GRACE))["invitation"]["token"]
    company_id = ann.session["company"]["id"]
    async with Penstock(operator.url) as grace, Penstock(operator.url, ann.token) as api:
        await grace.register(GRACE, PASSWORD, invitation=token)
        heir = (await grace.me()).member_id
        assert heir is not None
        assert (await api.hand_over(company_id, heir)).role == "owner"
        assert ((await grace.me()).role, (await api.me()).role) == ("owner", "admin")


async def test_somebody_is_told_who_they_are(operator: Operator, ann: Person) -> None:
    said = await operator.says("whoami")
    assert said.exit_code == 0, said.output
    assert f"{ann.email}  person  owner" in said.stdout
    assert (await operator.reads("whoami"))["kind"] == "person"


async def test_tables_and_the_link_of_an_invitation_are_printed(operator: Operator) -> None:
    invited = await operator.says("members", "invite", GRACE)
    assert f"{operator.url}/#/invitations/" in invited.stdout
    for words in (
        ("members", "ls"),
        ("members", "role", GRACE, "admin"),
        ("groups", "put", "nobody"),
        ("groups", "ls"),
    ):
        said = await operator.says(*words)
        assert said.exit_code == 0, said.output


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("autonomy", "set", "--confidence-floor", "5"), "--confidence-floor"),
        (("calendar", "set", "--holiday", "2026-02-31"), "--holiday"),
        (("api-keys", "create", "loader", "--expires", "2020-01-01T00:00:00Z"), "--expires"),
        (("members", "invite", GRACE, "--role", "guest"), "--role"),
    ],
)
async def test_a_value_that_the_service_refuses_is_named_by_its_option(
    operator: Operator, words: tuple[str, ...], option: str
) -> None:
    refused = await operator.says(*words)
    assert (refused.exit_code, refused.stderr.endswith(f"({option}).\n")) == (REFUSED, True), refused.output


async def test_nobody_is_removed_unasked_nor_a_stranger_changed(operator: Operator, ann: Person) -> None:
    assert (await operator.says("members", "rm", ann.email, types="n\n")).exit_code == REFUSED
    assert (await operator.says("groups", "rm", "nurses", types="n\n")).exit_code == REFUSED
    stranger = await operator.says("members", "role", "who@who.test", "admin")
    assert (stranger.exit_code, "no member who@who.test" in stranger.output) == (REFUSED, True)


async def test_a_colleague_comes_by_the_link_joins_another_company_and_switches_back(
    operator: Operator, eve: Person, ann: Person, tmp_path: Path
) -> None:
    grace = Operator(operator.url, tmp_path / "grace")
    link = (await operator.says("members", "invite", GRACE)).stdout.split()[-1]
    joined = await grace.says("register", GRACE, "--invitation", link, "--password-stdin", types=f"{PASSWORD}\n")
    assert "of ann inc" in joined.stdout
    token = (await invited(eve, GRACE, "manager"))["invitation"]["token"]
    assert (await grace.reads("companies", "join", token))["company"]["name"] == "eve inc"
    assert {one["name"] for one in (await grace.reads("companies", "ls"))["companies"]} == {"ann inc", "eve inc"}
    assert "of ann inc" in (await grace.says("companies", "switch", "ann inc")).stdout
    assert (await grace.reads("whoami"))["role"] == "member"
    assert "There is no company of yours bob inc." in (await grace.says("companies", "switch", "bob inc")).output


async def test_the_owner_hands_the_company_over_in_a_terminal(operator: Operator, ann: Person) -> None:
    await colleague(ann, "kim")
    refused = await operator.says("companies", "hand-over", "kim@kim.test", types="n\n")
    assert refused.exit_code == REFUSED
    assert (await operator.reads("companies", "hand-over", "kim@kim.test", "--yes"))["role"] == "owner"
    assert (await operator.reads("whoami"))["role"] == "admin"


async def test_a_registration_makes_a_company_or_joins_one(operator: Operator) -> None:
    for words in ((), ("Grace inc", "--invitation", "token")):
        said = await operator.says("register", GRACE, *words)
        assert "Give the name of a company, or --invitation." in said.output


async def test_the_commands_show_and_change_the_calendar(operator: Operator, ann: Person) -> None:
    await ann.put(f"{company(ann)}/calendar", VIENNA)
    assert await operator.reads("calendar", "show") == VIENNA
    listed = await operator.reads("calendar", "holidays", "AT", "--year", "2027")
    days = [one["date"] for one in listed["holidays"]]
    changed = await operator.reads(
        *("calendar", "set", "--weekend", "saturday,sunday", "--clear"),
        *("--country", "AT", "--year", "2027", "--holiday", "2027-12-24"),
    )
    assert changed["weekend"] == ["saturday", "sunday"]
    assert changed["holidays"] == sorted([*days, "2027-12-24"])
    added = await operator.reads("calendar", "set", "--holiday", "2027-12-31", "--weekend", "none")
    assert added["holidays"] == sorted([*changed["holidays"], "2027-12-31"])
    assert added["weekend"] == []
    assert (await operator.says("calendar", "set", "--country", "AT")).exit_code == 1


async def test_the_commands_show_and_bind_functions(operator: Operator, ann: Person) -> None:
    bob = await colleague(ann, "bob", "viewer")
    await publish(ann, directed())
    await ann.put(f"{company(ann)}/groups/physicians", {"members": []})
    functions = ("company", "functions")
    assert "nobody: the role admin" in " ".join((await operator.says(*functions, "show")).output.split())
    run = await ann.start("petty-cash")
    asked = await operator.says("gates", "show", run["id"])
    assert "the role admin, while nobody fills the function Medical director" in " ".join(asked.output.split())
    bound = await operator.reads(*functions, "bind", "director", "--group", "physicians", "--member", bob.email)
    assert bound["director"] == (await ann.get(f"{company(ann)}/functions")).json["director"]
    assert (bound["director"]["groups"], bound["director"]["members"]) == (["physicians"], [await member_id(bob)])
    shown = (await operator.says(*functions, "show")).output
    assert "physicians" in shown
    assert (
        "the function Medical director, whatever the role" in (await operator.says("gates", "show", run["id"])).output
    )
    assert "Medical director" in (await operator.says("gates", "ls")).output
    for words in (("director",), ("director", "--nobody", "--group", "physicians")):
        assert (await operator.says(*functions, "bind", *words)).exit_code == REFUSED
    free = await operator.reads(*functions, "bind", "director", "--nobody")
    assert free["director"]["bound"] is False


async def test_the_commands_make_list_and_end_delegations(operator: Operator, ann: Person) -> None:
    bob = await colleague(ann, "bob", "manager")
    until = (utc_now() + timedelta(days=7)).strftime("%Y-%m-%d")
    made = await operator.reads("delegations", "add", bob.email, "--until", until, "--vertical", "line")
    assert (made["to"], made["verticals"], made["until"]) == (await member_id(bob), ["line"], f"{until}T00:00:00Z")
    shown = await operator.says("delegations", "ls")
    assert bob.email in shown.output
    assert await operator.reads("delegations", "ls") == [made]
    assert (await operator.says("delegations", "rm", made["id"])).exit_code == 0
    assert await operator.reads("delegations", "ls") == []


async def test_a_step_learns_until_it_is_named_rightly(operator: Operator, ann: Person) -> None:
    step = "prior-auth/request-records"
    learnt = (await operator.reads("autonomy", "set", "--learn", f"{step}:0.9:10"))["learnable"]
    assert learnt == {step: {"threshold": 0.9, "sample_one_in": 10}}
    refused = await operator.says("autonomy", "set", "--unlearn", "prior-auth/request-record", "--no-auto-resolve")
    assert refused.exit_code != 0
    assert f"There is no learnable step prior-auth/request-record; the nearest is {step}." in refused.output
    assert (await operator.reads("autonomy", "show"))["auto_resolve"]
    assert (await operator.reads("autonomy", "set", "--unlearn", step))["learnable"] == {}
    assert (await operator.says("autonomy", "set")).exit_code == 2


async def test_a_token_that_begins_with_a_dash_is_no_option(operator: Operator) -> None:
    refused = await operator.says("companies", "join", "-Xy7")
    assert refused.exit_code != 0
    assert "There is no such invitation" in refused.output


async def test_changes_that_wait_are_listed_approved_and_denied(operator: Operator, ann: Person) -> None:
    bob = await colleague(ann, "bob", "admin")
    assert (await ann.put(policy_of(ann), {"change_gates": {"acts": ["go_live", "policy_off"]}})).status == 200
    company_id = ann.session["company"]["id"]
    async with Penstock(operator.url, bob.token) as api:
        with pytest.raises(AwaitsApproval) as waits:
            await api.put_connector("pay", Target(base_url="http://127.0.0.1:9", reversible=True))
        with pytest.raises(AwaitsApproval, match="waits for another person's approval"):
            await api.put_policy(company_id, change_gates=None)
    change = waits.value.change
    other, first = await operator.reads("company", "changes", "ls")
    assert (first["id"], first["act"], other["act"]) == (change.id, "go_live", "policy_off")
    done = await operator.reads("company", "changes", "approve", change.id, "--comment", "as agreed")
    assert (done["status"], done["comment"]) == ("approved", "as agreed")
    assert (await operator.reads("company", "changes", "deny", other["id"]))["status"] == "denied"
    again = await operator.says("company", "changes", "deny", change.id)
    assert (again.exit_code, "was approved by ann@ann.test" in again.stderr) == (REFUSED, True)
    listed = await operator.says("company", "changes", "ls")
    assert "approved" in listed.stdout
    waiting = await Operator(operator.url, operator.home, bob.token).says(
        "company", "changes", "approve", change.id, "--digest", "sha256:" + "0" * 64
    )
    assert waiting.exit_code == REFUSED
