"""Who is invited gets the link by mail, where the service has an SMTP server."""

from __future__ import annotations

import re

import pytest

from daemon.settings import Settings
from tests.post_office import PostOffice
from tests.web.support import PASSWORD, Answer, House, Person, assert_problem

LINK = re.compile(r"^https://penstock\.test/#/invitations/([A-Za-z0-9_-]{43})\r?$", re.MULTILINE)
pytestmark = pytest.mark.one_daemon


@pytest.fixture
def settings(settings: Settings, office: PostOffice) -> Settings:
    return settings.model_copy(update={**office.settings, "company_mailed_invitations_per_day_max": 2})


async def invite(person: Person, email: str, **headers: str) -> Answer:
    path = f"/companies/{person.session['company']['id']}/members"
    return await person.post(path, {"email": email, "role": "member"}, **headers)


async def test_the_link_of_the_mail_is_the_invitation(house: House, ann: Person, office: PostOffice) -> None:
    answer = await invite(ann, "bob@bob.test")
    received = await office.mail_to("bob@bob.test")
    assert received.message["Subject"] == 'Invitation to "ann inc"'
    assert received.text.startswith(f'{ann.email} invites you to join the company "ann inc" on Penstock.')
    link = LINK.search(received.text)
    assert link is not None
    assert link[1] == answer.json["invitation"]["token"]
    joining = {"email": "bob@bob.test", "password": PASSWORD, "invitation": link[1]}
    joined = await house.send("POST", "/auth/register", joining)
    assert (joined.status, joined.json["company"]) == (201, ann.session["company"])


async def test_a_repeated_request_sends_no_second_mail(ann: Person, office: PostOffice) -> None:
    for _ in range(2):
        assert (await invite(ann, "bob@bob.test", Idempotency_Key="k")).status == 201
    assert (await invite(ann, "cid@cid.test")).status == 201
    await office.mail_to("cid@cid.test")
    assert len(office.mails_to("bob@bob.test")) == 1


async def test_a_refused_invitation_sends_no_mail(ann: Person, office: PostOffice) -> None:
    assert (await invite(ann, ann.email)).status == 409
    assert (await invite(ann, "cid@cid.test")).status == 201
    await office.mail_to("cid@cid.test")
    assert len(office.received) == 1


async def test_a_company_mails_a_bounded_number_in_a_day(ann: Person, eve: Person) -> None:
    for number in range(2):
        assert (await invite(ann, f"bob{number}@bob.test")).status == 201
    refused = await invite(ann, "bob2@bob.test")
    assert_problem(refused, 429, "quota_exceeded", limit=2, budget="company_mailed_invitations_per_day")
    assert (await invite(eve, "bob@bob.test")).status == 201


async def test_an_address_that_does_not_answer_gets_two_mails_a_day(
    house: House, ann: Person, eve: Person, office: PostOffice
) -> None:
    mailed = [await invite(one, "bob@bob.test") for one in (ann, eve)]
    third = await invite(await house.register("cid"), "BOB+x@bob.test")
    assert [one.json["invitation"]["mailed"] for one in (*mailed, third)] == [True, True, False]
    token = mailed[0].json["invitation"]["token"]
    joining = {"email": "bob@bob.test", "password": PASSWORD, "invitation": token}
    assert (await house.send("POST", "/auth/register", joining)).status == 201
    fourth = await invite(await house.register("dee"), "bob@bob.test")
    assert fourth.json["invitation"]["mailed"]
    assert len(await office_mails(office, "bob@bob.test", 3)) == 3


async def office_mails(office: PostOffice, address: str, number: int) -> list[object]:
    await office.mail_to(address, number)
    return list(office.mails_to(address))


async def test_all_companies_together_mail_a_bounded_number(house: House, office: PostOffice) -> None:
    await house.close()
    house.settings = house.settings.model_copy(update={"mailed_invitations_per_day_max": 2})
    await house.open()
    mailed = [await invite(await house.register(one), f"x@{one}.test") for one in ("ann", "eve", "cid")]
    assert [one.json["invitation"]["mailed"] for one in mailed] == [True, True, False]


async def test_a_new_company_mails_fewer(house: House) -> None:
    await house.close()
    more = {"company_mailed_invitations_per_day_max": 500, "new_company_mailed_invitations_per_day_max": 1}
    house.settings = house.settings.model_copy(update=more)
    await house.open()
    ann = await house.register("ann")
    assert (await invite(ann, "bob@bob.test")).status == 201
    refused = await invite(ann, "cid@cid.test")
    assert_problem(refused, 429, "quota_exceeded", limit=1, budget="company_mailed_invitations_per_day")
