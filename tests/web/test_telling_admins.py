"""Admins are mailed when somebody else lets a connector go live."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.settings import Settings
from tests.post_office import PostOffice
from tests.web.people import colleague, company, invited
from tests.web.support import FarSide, Person
from tests.web.test_policy import policy_of

pytestmark = pytest.mark.one_daemon


@pytest.fixture
def settings(settings: Settings, office: PostOffice) -> Settings:
    return settings.model_copy(update=office.settings)


def told(office: PostOffice) -> list[tuple[list[str], str]]:
    """Who got mail of what, apart from invitations."""
    found = [(one.recipients, str(one.message["Subject"])) for one in office.received]
    return sorted(one for one in found if not one[1].startswith("Invitation"))


async def store(person: Person, far: FarSide, tool: str, **said: Any) -> None:
    answer = await person.put(f"/connectors/{tool}", {"base_url": far.url, "method": "POST", **said})
    assert answer.status in {200, 201}, answer.raw


async def test_the_other_admins_are_told_of_a_connector_that_goes_live_and_nobody_else_is(
    ann: Person, far: FarSide, office: PostOffice
) -> None:
    bob, cyd = [await colleague(ann, name, "admin") for name in ("bob", "cyd")]
    await colleague(ann, "mo", "manager")
    await invited(ann, "pending@pending.test", "admin")
    await store(bob, far, "pay")
    await store(bob, far, "pay", reversible=True)
    await store(bob, far, "pay", reversible=True, path="/elsewhere")  # live as it was
    await store(ann, far, "end", reversible=True)
    await office.until(lambda office: len(told(office)) == 4)
    pay, end = (f'The tool "{tool}" of "ann inc" is live' for tool in ("pay", "end"))
    assert told(office) == sorted([([ann.email], pay), ([cyd.email], pay), ([bob.email], end), ([cyd.email], end)])
    [mail] = office.mails_to(ann.email)
    assert mail.text.startswith(f'{bob.email} switched the tool "pay" of the company "ann inc" to live')
    assert "https://penstock.test/#/connectors/pay" in mail.text


async def test_the_other_admins_are_told_of_a_server_of_agents_that_goes_live(
    ann: Person, far: FarSide, office: PostOffice
) -> None:
    bob = await colleague(ann, "bob", "admin")
    for reversible in (False, True, True):
        answer = await bob.put("/mcp-servers/bank", {"url": far.url, "reversible": reversible})
        assert answer.status in {200, 201}, answer.raw
    await office.until(lambda office: len(told(office)) == 1)
    assert told(office) == [([ann.email], 'The tool "bank/*" of "ann inc" is live')]
    [mail] = office.mails_to(ann.email)
    assert "#/connectors" not in mail.text


async def test_admins_are_told_of_what_waits_and_of_what_became_of_it(
    ann: Person, far: FarSide, office: PostOffice
) -> None:
    bob, cyd = [await colleague(ann, name, "admin") for name in ("bob", "cyd")]
    await colleague(ann, "mo", "manager")
    assert (await ann.put(policy_of(ann), {"change_gates": {"acts": ["go_live"]}})).status == 200
    asked = await bob.put("/connectors/pay", {"base_url": far.url, "method": "POST", "reversible": True})
    assert asked.status == 202
    waits, decided = 'A change of "ann inc" waits for approval', 'A change of "ann inc" was decided'
    await office.until(lambda office: len(told(office)) == 2)
    assert told(office) == sorted([([ann.email], waits), ([cyd.email], waits)])
    *_, mail = office.mails_to(cyd.email)
    assert mail.text.startswith(f'{bob.email} asked to switch the tool "pay" live, or change it')
    path = f"{company(ann)}/changes/{asked.json['id']}/approve"
    assert (await ann.post(path, {"digest": asked.json["digest"]})).status == 200
    live = 'The tool "pay" of "ann inc" is live'
    await office.until(lambda office: len(told(office)) == 6)
    since = [one for one in told(office) if one[1] != waits]
    assert since == sorted(([one.email], about) for one in (bob, cyd) for about in (decided, live))
