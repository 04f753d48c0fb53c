"""People and groups are told of gates and runs that concern them, by mail, Slack, Teams and
webhooks.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from actors.core.canonical import canonical
from daemon.settings import Settings
from tests.post_office import PostOffice
from tests.web.people import colleague, company, delegate, give, member_id
from tests.web.support import PASSWORD, PATIENCE_S, Answer, FarSide, House, Person, assert_invalid, assert_problem
from tests.web.test_case_clocks import at_once, now
from tests.web.test_gate_policies import FORM, signs
from tests.web.test_own_templates import publish
from tests.webhooks.conftest import Got, verified

PAGE = "https://penstock.test"
ALL = ["gate_opened", "gate_reminded", "gate_escalated", "gate_blocked", "gate_decided", "run_failed"]


@pytest.fixture
def settings(settings: Settings, office: PostOffice) -> Settings:
    return settings.model_copy(update=office.settings)


async def told(person: Person, kind: str, **said: Any) -> Any:
    """A new notification."""
    answer = await person.post("/notifications/", {"kind": kind, "events": ALL, **said})
    assert answer.status == 201, answer.raw
    return answer.json


async def settled(person: Person, one: Any, number: int = 1) -> list[Any]:
    """The deliveries, as soon as so many are settled."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await person.get(f"/notifications/{one['id']}/deliveries?limit=200")).json
            if sum(each["status"] != "pending" for each in found) >= number:
                return list(found)


def mailed(office: PostOffice) -> list[list[str]]:
    """Who got mail, apart from invitations."""
    mails = [one for one in office.received if not str(one.message["Subject"]).startswith("Invitation")]
    return [one.recipients for one in mails]


async def group(ann: Person, name: str, *people: Person) -> None:
    members = [await member_id(one) for one in people]
    assert (await ann.put(f"{company(ann)}/groups/{name}", {"members": members})).status == 200


async def test_slack_is_told_of_a_gate_with_a_link_to_its_page(ann: Person, far: FarSide) -> None:
    one = await told(ann, "slack", url=f"{far.url}/services/T0/B0/secret", events=["gate_opened"])
    run = await ann.start("line", {"amount": 5})
    (delivery,) = await settled(ann, one)
    assert (delivery["type"], delivery["status"], delivery["run_id"]) == ("gate_opened", "delivered", run["id"])
    (seen,) = far.seen
    link = f"{PAGE}/#/runs/{run['id']}/gates/signoff"
    assert (seen.method, seen.target) == ("POST", "/services/T0/B0/secret")
    assert seen.body["text"] == "Decision needed: The sign-off"
    (section,) = seen.body["blocks"]
    expected = f"*Decision needed: The sign-off*\nProcess: A line\nRisk: high\n<{link}|Open the gate>"
    assert section == {"type": "section", "text": {"type": "mrkdwn", "text": expected, "verbatim": True}}
    assert "webhook-signature" not in seen.headers


async def test_teams_is_told_by_a_card_whose_texts_are_no_markdown(ann: Person, far: FarSide) -> None:
    far.status = 202
    one = await told(ann, "teams", url=f"{far.url}/workflows/secret")
    key = {"vertical": "line", "inputs": {"amount": 5}, "business_key": "[click](https://evil.test) <x>"}
    run = (await ann.post("/process-runs/", key)).json
    await settled(ann, one)
    (attachment,) = far.seen[0].body["attachments"]
    assert (far.seen[0].body["type"], attachment["contentType"]) == (
        "message",
        "application/vnd.microsoft.card.adaptive",
    )
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    link = f"{PAGE}/#/runs/{run['id']}/gates/signoff"
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open the gate", "url": link}]
    (item,) = card["body"]
    headline, facts = item["items"]
    assert {headline["type"], facts["type"]} == {"RichTextBlock"}
    assert headline["inlines"][0]["text"] == "Decision needed: The sign-off"
    assert "Business key: [click](https:/ /evil. test) <x>" in facts["inlines"][0]["text"]


async def test_what_slack_reads_as_a_link_or_a_mention_is_escaped(ann: Person, far: FarSide) -> None:
    one = await told(ann, "slack", url=far.url)
    key = {"vertical": "line", "inputs": {"amount": 5}, "business_key": "<!channel> & <https://evil.test|here>"}
    await ann.post("/process-runs/", key)
    await settled(ann, one)
    text = far.seen[0].body["blocks"][0]["text"]["text"]
    assert "Business key: &lt;!channel&gt; &amp; &lt;https:/ /evil. test|here&gt;" in text
    assert "<!channel>" not in far.seen[0].body["text"] + text


async def test_a_webhook_gets_a_signed_notification_without_inputs(ann: Person, far: FarSide) -> None:
    one = await told(ann, "webhook", url=far.url)
    run = await ann.start("line", {"amount": 5})
    await settled(ann, one)
    (seen,) = far.seen
    (notice,) = seen.body["data"]["notifications"]
    assert (seen.body["type"], notice["type"], notice["run_id"]) == ("notification", "gate_opened", run["id"])
    assert (notice["gate"], notice["label"], notice["tier"]) == ("signoff", "The sign-off", "high")
    assert notice["url"] == f"{PAGE}/#/runs/{run['id']}/gates/signoff"
    assert "inputs" not in notice
    headers = {name.lower(): value for name, value in seen.headers.items()}
    assert verified(one["secret"], Got("/", headers, canonical(seen.body).encode()))


async def test_people_read_a_business_key_to_its_end_and_programs_get_it_as_it_is(
    ann: Person, office: PostOffice, far: FarSide
) -> None:
    key = f"INV.A-{'7' * 193}1"
    mailed, hooked = await told(ann, "email"), await told(ann, "webhook", url=far.url)
    await ann.post("/process-runs/", {"vertical": "line", "inputs": {"amount": 5}, "business_key": key})
    received = await office.mail_to(ann.email)
    await settled(ann, mailed)
    await settled(ann, hooked)
    assert f"Business key: {key.replace('.', '. ')}" in received.text.splitlines()
    assert far.seen[0].body["data"]["notifications"][0]["business_key"] == key


async def test_mail_goes_to_the_address_of_the_member_with_an_id_of_its_own(ann: Person, office: PostOffice) -> None:
    one = await told(ann, "email")
    run = await ann.start("line", {"amount": 5})
    received = await office.mail_to(ann.email)
    (delivery,) = await settled(ann, one)
    assert received.message["Subject"] == "Decision needed: The sign-off"
    assert f"Open the gate: {PAGE}/#/runs/{run['id']}/gates/signoff" in received.text
    assert received.message["Message-ID"] == f"<{delivery['id']}@penstock.test>"
    assert (delivery["status_code"], delivery["status"]) == (250, "delivered")


async def test_a_mail_that_is_refused_for_good_is_not_tried_again_but_one_deferred_is(
    ann: Person, office: PostOffice
) -> None:
    office.answers = ["550 no such user", "451 later"]
    one = await told(ann, "email")
    await ann.start("line", {"amount": 5})
    (first,) = await settled(ann, one)
    assert (first["status"], first["error"]) == ("failed", "The mail server answered 550: no such user")
    await ann.start("line", {"amount": 6})
    async with asyncio.timeout(PATIENCE_S):
        found = [first]
        while len(found) < 2 or not found[0]["attempts"]:
            found = (await ann.get(f"/notifications/{one['id']}/deliveries")).json
    assert (found[0]["status"], found[0]["error"]) == ("pending", "The mail server answered 451: later")
    assert found[0]["next_attempt_at"] is not None


async def test_a_mail_for_a_domain_of_another_script_goes_to_its_a_label(
    house: House, ann: Person, office: PostOffice
) -> None:
    office.utf8 = False
    zoe = Person(house, (await registered(house, "zoe@m\u00fcller.test")).json)
    await told(zoe, "email")
    await zoe.start("line", {"amount": 5})
    assert (await office.mail_to("zoe@xn--mller-kva.test")).message["To"] == "zoe@xn--mller-kva.test"


async def test_an_address_that_the_server_cannot_take_is_refused_for_good(house: House, office: PostOffice) -> None:
    office.utf8 = False
    zoe = Person(house, (await registered(house, "zo\u00eb@example.test")).json)
    one = await told(zoe, "email")
    await zoe.start("line", {"amount": 5})
    (delivery,) = await settled(zoe, one)
    assert (delivery["status"], delivery["attempts"]) == ("failed", 1)
    assert "SMTPUTF8" in delivery["error"]


async def registered(house: House, email: str) -> Answer:
    body = {"email": email, "password": PASSWORD, "company_name": "Another"}
    return await house.send("POST", "/auth/register", body)


@pytest.mark.parametrize("kind", ["slack", "teams"])
async def test_what_a_chat_refuses_is_not_sent_again(ann: Person, far: FarSide, kind: str) -> None:
    far.status = 404
    one = await told(ann, kind, url=far.url)
    await ann.start("line", {"amount": 5})
    (delivery,) = await settled(ann, one)
    assert (delivery["status"], delivery["status_code"], delivery["attempts"]) == ("failed", 404, 1)


async def test_only_those_who_may_decide_are_told_of_a_gate(ann: Person, far: FarSide) -> None:
    bob, carl = await colleague(ann, "bob", "manager"), await colleague(ann, "carl", "member")
    await group(ann, "finance", bob, carl)
    hers = await told(ann, "webhook", url=f"{far.url}/ann", events=["gate_opened"])
    his = await told(bob, "webhook", url=f"{far.url}/bob", events=["gate_opened"])
    carls = await told(carl, "webhook", url=f"{far.url}/carl", events=["gate_opened"])
    await ann.start("signatures")  # four eyes keep its starter from deciding, the role carl
    await settled(bob, his)
    await ann.start("line", {"amount": 5})
    await settled(ann, hers)
    await settled(bob, his, 2)
    assert sorted(seen.target for seen in far.seen) == ["/ann", "/bob", "/bob"]
    assert (await carl.get(f"/notifications/{carls['id']}/deliveries")).json == []


async def test_a_delegate_is_told_of_what_may_be_decided_for_the_giver(ann: Person, far: FarSide) -> None:
    bob, carl = await colleague(ann, "bob", "manager"), await colleague(ann, "carl", "viewer")
    await group(ann, "finance", bob)
    one = await told(carl, "webhook", url=far.url, events=["gate_opened"])
    assert (await delegate(bob, carl)).status == 201
    await ann.start("signatures")
    (delivery,) = await settled(carl, one)
    assert delivery["status"] == "delivered"


async def test_a_groups_channel_is_told_if_any_member_may_decide_and_mail_goes_to_each_who_may(
    ann: Person, far: FarSide, office: PostOffice
) -> None:
    bob, carl = await colleague(ann, "bob", "manager"), await colleague(ann, "carl", "member")
    await group(ann, "desk", bob, carl)
    await group(ann, "readers", carl)
    channel = await told(ann, "slack", url=f"{far.url}/desk", group="desk", events=["gate_opened"])
    mail = await told(ann, "email", group="desk", events=["gate_opened"])
    await told(ann, "slack", url=f"{far.url}/readers", group="readers", events=["gate_opened"])
    await ann.start("line", {"amount": 5})
    await settled(ann, channel)
    (delivery,) = await settled(ann, mail)
    assert delivery["recipient"] == await member_id(bob)
    assert [seen.target for seen in far.seen] == ["/desk"]
    assert mailed(office) == [[bob.email]]


async def test_reminder_escalation_and_decision_are_told_in_turn(ann: Person, far: FarSide) -> None:
    one = await told(ann, "webhook", url=far.url)
    await ann.start("clock")
    found = await settled(ann, one, 4)
    kinds = [each["type"] for each in reversed(found)]
    assert sorted(kinds[:3]) == ["gate_escalated", "gate_opened", "gate_reminded"]
    assert kinds[3] == "gate_decided"
    decided = next(
        seen.body["data"]["notifications"][0]
        for seen in far.seen
        if seen.body["data"]["notifications"][0]["type"] == "gate_decided"
    )
    assert (decided["decision"], decided["headline"]) == ("denied", "Decided: Look at it: denied")
    assert "/gates/" not in decided["url"]


async def test_others_are_told_of_a_decision_and_not_who_made_it(ann: Person, far: FarSide) -> None:
    bob = await colleague(ann, "bob", "manager")
    await told(ann, "webhook", url=f"{far.url}/ann", events=["gate_decided"])
    his = await told(bob, "webhook", url=f"{far.url}/bob", events=["gate_decided"])
    run = await ann.start("line", {"amount": 5})
    await ann.resume(run, "signoff")
    await settled(bob, his)
    assert [seen.target for seen in far.seen] == ["/bob"]
    assert far.seen[0].body["data"]["notifications"][0]["by"] == ann.email


async def test_a_decision_in_the_place_of_another_is_told_with_both_names(
    ann: Person, far: FarSide, office: PostOffice
) -> None:
    bob, cyd = await colleague(ann, "bob", "manager"), await colleague(ann, "cyd", "manager")
    await told(ann, "email", events=["gate_decided"])
    hooked = await told(ann, "webhook", url=far.url, events=["gate_decided"])
    await delegate(bob, cyd)
    run = await ann.start("line", {"amount": 5})
    verdict = {"gate": "signoff", "decision": "approved", "on_behalf_of": await member_id(bob)}
    assert (await cyd.post(f"/process-runs/{run['id']}/resume", verdict)).status == 200
    await settled(ann, hooked)
    notice = far.seen[0].body["data"]["notifications"][0]
    assert (notice["by"], notice["on_behalf_of"]) == (cyd.email, bob.email)
    assert f"Decided by: {cyd.email} for {bob.email}" in (await office.mail_to(ann.email)).text.splitlines()


async def test_whoever_was_one_of_several_to_decide_is_told_of_a_failed_run(ann: Person, far: FarSide) -> None:
    bob, cyd = await colleague(ann, "bob", "manager"), await colleague(ann, "cyd", "manager")
    await group(ann, "finance", bob, cyd)
    await ann.connect("payment", "http://127.0.0.1:9")
    his = await told(bob, "webhook", url=f"{far.url}/bob", events=["run_failed"])
    hers = await told(cyd, "webhook", url=f"{far.url}/cyd", events=["run_failed"])
    run = await ann.start("signatures")
    for person in (bob, cyd):
        await signs(person, run, form=FORM)
    await settled(bob, his)
    await settled(cyd, hers)
    assert sorted(seen.target for seen in far.seen) == ["/bob", "/cyd"]


async def test_who_started_or_administers_is_told_of_a_failed_run(ann: Person, far: FarSide) -> None:
    bob, carl = await colleague(ann, "bob", "member"), await colleague(ann, "carl", "manager")
    owner = await told(ann, "webhook", url=f"{far.url}/ann", events=["run_failed"])
    starter = await told(bob, "webhook", url=f"{far.url}/bob", events=["run_failed"])
    await told(carl, "webhook", url=f"{far.url}/carl", events=["run_failed"])
    await ann.connect("lookup", "http://127.0.0.1:9")
    run = await bob.start("line", {"amount": 5})
    assert run["status"] == "failed"
    await settled(ann, owner)
    await settled(bob, starter)
    assert sorted(seen.target for seen in far.seen) == ["/ann", "/bob"]
    notice = far.seen[0].body["data"]["notifications"][0]
    assert (notice["headline"], notice["error"]) == ("Run failed at Look it up", run["error"]["code"])


async def test_admins_are_told_of_a_gate_that_too_few_can_pass(ann: Person, far: FarSide) -> None:
    await colleague(ann, "bob", "manager")
    await group(ann, "finance", ann)
    one = await told(ann, "webhook", url=far.url, events=["gate_blocked"])
    await ann.start("signatures")
    await settled(ann, one)
    notice = far.seen[0].body["data"]["notifications"][0]
    assert notice["headline"] == "Blocked: too few people can decide at Two signatures"


async def test_other_processes_are_not_told_of_where_some_are_named(ann: Person, far: FarSide) -> None:
    one = await told(ann, "webhook", url=far.url, verticals=["fork"], events=["gate_opened"])
    wide = await told(ann, "webhook", url=f"{far.url}/wide", events=["gate_opened"])
    await ann.start("line", {"amount": 5})
    await settled(ann, wide)
    assert [seen.target for seen in far.seen] == ["/wide"]
    assert (await ann.get(f"/notifications/{one['id']}/deliveries")).json == []


async def test_nobody_is_told_after_leaving_or_losing_the_right(ann: Person, far: FarSide, house: House) -> None:
    company_id = ann.session["company"]["id"]
    bob, carl = await colleague(ann, "bob", "manager"), await colleague(ann, "carl", "manager")
    await told(bob, "webhook", url=f"{far.url}/bob", events=["gate_opened"])
    await told(carl, "webhook", url=f"{far.url}/carl", events=["gate_opened"])
    hers = await told(ann, "webhook", url=f"{far.url}/ann", events=["gate_opened"])
    gone = await member_id(bob)
    assert (await ann.delete(f"{company(ann)}/members/{gone}")).status == 204
    left = await house.services.store.notifications_of(company_id)
    assert gone not in {one.terms.member_id for one in left if one.terms is not None}
    assert (await give(ann, carl, "member")).status == 200
    await ann.start("line", {"amount": 5})
    await settled(ann, hers)
    assert [seen.target for seen in far.seen] == ["/ann"]


async def test_a_notification_is_read_changed_paused_and_forgotten(ann: Person, far: FarSide) -> None:
    one = await told(ann, "slack", url=f"{far.url}/first", description="#approvals")
    shown = (await ann.get(f"/notifications/{one['id']}")).json
    assert shown == {name: value for name, value in one.items() if name != "secret"}
    assert (shown["url"], shown["member_id"]) == (f"{far.url}/…", await member_id(ann))
    assert (await ann.get("/notifications/")).json == [shown]
    paused = {"kind": "slack", "events": ["gate_opened"], "enabled": False}
    changed = (await ann.put(f"/notifications/{one['id']}", paused)).json
    assert (changed["enabled"], changed["events"], changed["description"]) == (False, ["gate_opened"], None)
    await ann.start("line", {"amount": 5})
    quiet = {"from": "00:00", "to": "23:59", "timezone": "Europe/Vienna"}
    again = {**paused, "enabled": True, "url": f"{far.url}/second"}
    assert (await ann.put(f"/notifications/{one['id']}", {**again, "quiet_hours": quiet})).json["quiet_hours"] == quiet
    assert (await ann.put(f"/notifications/{one['id']}", again)).json["quiet_hours"] is None
    await ann.start("line", {"amount": 6})
    await settled(ann, one)
    assert far.seen[-1].target == "/second"
    assert (await ann.delete(f"/notifications/{one['id']}")).status == 204
    for gone in (await ann.get(f"/notifications/{one['id']}"), await ann.delete(f"/notifications/{one['id']}")):
        assert_problem(gone, 404, "not_found")


@pytest.mark.sqlite
async def test_the_url_and_the_secret_are_kept_sealed_and_never_shown(
    ann: Person, far: FarSide, house: House, caplog: pytest.LogCaptureFixture
) -> None:
    far.status = 500
    body = {"kind": "webhook", "events": ALL, "url": f"{far.url}/T0/very-secret"}
    one = (await ann.post("/notifications/", body, Idempotency_Key="once")).json
    await ann.start("line", {"amount": 5})
    tested = (await ann.post(f"/notifications/{one['id']}/test")).json
    assert (tested["ok"], tested["status_code"]) == (False, 500)
    paths = ("/notifications/", f"/notifications/{one['id']}/deliveries", "/audit/export", "/webhooks/")
    answers = [(await ann.get(path)).raw.decode() for path in paths]
    await house.close()
    with closing(sqlite3.connect(house.settings.data_dir / "penstock.db")) as db:
        answers.append("\n".join(db.iterdump()))
    await house.open()
    assert one["id"] in answers[-1]
    for text in (*answers, caplog.text):
        assert "very-secret" not in text
        assert b"very-secret".hex() not in text.lower()
        assert one["secret"].removeprefix("whsec_") not in text


async def test_the_same_key_makes_one_notification_and_is_answered_alike(
    ann: Person, far: FarSide, house: House
) -> None:
    body = {"kind": "webhook", "events": ["gate_opened"], "url": far.url}
    first = await ann.post("/notifications/", body, Idempotency_Key="once")
    await house.restart()
    again = await ann.post("/notifications/", body, Idempotency_Key="once")
    assert (again.status, again.raw, again.headers["Idempotency-Replayed"]) == (201, first.raw, "true")
    assert again.headers["Location"] == f"/notifications/{first.json['id']}"
    assert len((await ann.get("/notifications/")).json) == 1


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/kind", "/events"]),
        ({"kind": "pigeon", "events": ["run_ended"], "digest": "PT2H"}, ["/kind", "/events/0", "/digest"]),
        ({"kind": "slack", "events": []}, ["/events"]),
        (
            {
                "kind": "slack",
                "group": "nobodies",
                "events": ALL,
                "verticals": ["line", "none"],
                "quiet_hours": {"from": "08:00", "to": "08:00"},
            },
            ["/url", "/group", "/verticals/1", "/quiet_hours/to"],
        ),
        ({"kind": "slack", "events": ALL, "url": "http://10.0.0.1/"}, ["/url"]),
        ({"kind": "email", "events": ALL, "url": "https://hooks.test/"}, ["/url"]),
        ({"kind": "email", "events": ALL, "quiet_hours": {"from": "8", "to": "25:00"}}, None),
        (
            {"kind": "email", "events": ALL, "quiet_hours": {"from": "08:00", "to": "09:00", "timezone": "Nowhere"}},
            ["/quiet_hours/timezone"],
        ),
        ({"kind": "email", "events": ALL, "member_id": "x"}, ["/member_id"]),
    ],
)
async def test_all_that_is_wrong_with_a_notification_is_said_at_once(
    ann: Person, body: Any, pointers: list[str] | None
) -> None:
    assert_invalid(await ann.post("/notifications/", body), *(pointers or ["/quiet_hours/from", "/quiet_hours/to"]))
    assert (await ann.get("/notifications/")).json == []


async def test_kind_and_group_stay_as_they_are(ann: Person, far: FarSide) -> None:
    await group(ann, "desk", ann)
    one = await told(ann, "slack", url=far.url)
    changed = await ann.put(f"/notifications/{one['id']}", {"kind": "teams", "group": "desk", "events": ALL})
    assert_invalid(changed, "/kind", "/group")


async def test_those_of_groups_are_for_admins_and_ones_own_for_oneself(ann: Person, far: FarSide) -> None:
    bob, carl = await colleague(ann, "bob", "manager"), await colleague(ann, "carl", "admin")
    await group(ann, "desk", bob)
    body = {"kind": "slack", "events": ALL, "url": far.url, "group": "desk"}
    refused = await bob.post("/notifications/", body)
    assert_problem(refused, 403, "forbidden", required="admin", reason="role")
    shared, his = await told(ann, "slack", url=far.url, group="desk"), await told(bob, "slack", url=far.url)
    seen = {
        person.email: [one["id"] for one in (await person.get("/notifications/")).json] for person in (ann, bob, carl)
    }
    assert seen == {ann.email: [shared["id"]], bob.email: [his["id"]], carl.email: [shared["id"]]}

    async def asked(person: Person, one: Any) -> set[int]:
        path = f"/notifications/{one['id']}"
        answers: list[Answer] = [
            await person.get(path),
            await person.put(path, {"kind": "slack", "events": ALL}),
            await person.post(f"{path}/test"),
            await person.get(f"{path}/deliveries"),
            await person.post(f"{path}/deliveries/msg_none/redeliver"),
            await person.delete(path),
        ]
        return {answer.status for answer in answers}

    assert await asked(ann, his) == await asked(bob, shared) == {404}
    assert (await bob.get(f"/webhooks/{his['id']}")).status == 404
    assert (await ann.delete(f"/webhooks/{shared['id']}")).status == 404
    assert (await ann.post(f"/webhooks/{shared['id']}/deliveries/msg_none/redeliver")).status == 404
    hook = (await ann.post("/webhooks/", {"url": far.url})).json
    assert await asked(ann, hook) == {404}


async def test_each_change_is_in_the_companys_log(ann: Person, far: FarSide) -> None:
    one = await told(ann, "slack", url=f"{far.url}/x", events=["gate_opened"])
    await ann.put(f"/notifications/{one['id']}", {"kind": "slack", "events": ALL})
    await ann.delete(f"/notifications/{one['id']}")
    export = (await ann.get("/audit/export")).raw
    lines = [line for line in export.splitlines() if b"notification_changed" in line]
    assert len(lines) == 3
    assert all(b'"action":"change_notification"' in line and one["id"].encode() in line for line in lines)


async def test_a_test_is_sent_at_once_and_says_how_it_went(ann: Person, far: FarSide, office: PostOffice) -> None:
    bob = await colleague(ann, "bob", "manager")
    await group(ann, "desk", bob)
    one = await told(ann, "slack", url=far.url, quiet_hours={"from": "00:00", "to": "23:59"})
    assert (await ann.post(f"/notifications/{one['id']}/test")).json["ok"] is True
    assert far.seen[0].body["text"].startswith("Decision needed: Test")
    mail = await told(ann, "email", group="desk")
    assert (await ann.post(f"/notifications/{mail['id']}/test")).json == {
        "ok": True,
        "status_code": 250,
        "latency_ms": pytest.approx(0, abs=10_000),
        "error": None,
    }
    assert mailed(office) == [[ann.email]]  # not the desk
    assert (await ann.get(f"/notifications/{one['id']}/deliveries")).json == []


async def test_a_delivery_is_sent_again_on_request_though_the_gate_is_closed(ann: Person, far: FarSide) -> None:
    one = await told(ann, "webhook", url=far.url, events=["gate_opened"])
    run = await ann.start("line", {"amount": 5})
    (delivery,) = await settled(ann, one)
    await ann.resume(run, "signoff")
    path = f"/notifications/{one['id']}/deliveries/{delivery['id']}/redeliver"
    answer = await ann.post(path, Idempotency_Key="again")
    assert (answer.status, answer.json["status"]) == (202, "pending")
    assert (await ann.post(path, Idempotency_Key="again")).raw == answer.raw
    (after,) = await settled(ann, one)
    assert (after["attempts"], after["status"]) == (2, "delivered")
    ids = [seen.headers["webhook-id"] for seen in far.seen]
    assert ids == [delivery["id"]] * 2


async def test_who_wants_no_more_is_disabled_and_a_change_enables_it(ann: Person, far: FarSide) -> None:
    one = await told(ann, "slack", url=far.url, events=["gate_opened"])
    far.status = 410
    await ann.start("line", {"amount": 5})
    await settled(ann, one)
    shown = (await ann.get(f"/notifications/{one['id']}")).json
    assert (shown["enabled"], shown["disabled_reason"]) == (False, "The receiver answered 410: it wants no more.")
    body = {"kind": "slack", "events": ["gate_opened"]}
    assert (await ann.put(f"/notifications/{one['id']}", body)).json["enabled"] is True
    export = (await ann.get("/audit/export")).raw
    assert export.count(b"notification_changed") >= 3


async def test_links_decide_nothing_when_they_are_opened(ann: Person, far: FarSide) -> None:
    one = await told(ann, "webhook", url=far.url, events=["gate_opened"])
    run = await ann.start("line", {"amount": 5})
    await settled(ann, one)
    url = far.seen[0].body["data"]["notifications"][0]["url"]
    path = re.sub(r"#.*", "", url.removeprefix(PAGE))  # what a browser asks for
    assert (await ann.get(path)).status == 200
    assert (await ann.run(run))["status"] == "parked"


@pytest.mark.one_daemon
async def test_a_company_has_a_bounded_number_of_notifications(ann: Person, house: House) -> None:
    house.services.notifications._most = 2
    for _ in range(2):
        await told(ann, "email")
    refused = await ann.post("/notifications/", {"kind": "email", "events": ALL})
    assert_problem(refused, 507, "quota_exceeded", budget="company_notifications")


async def test_people_are_told_of_a_warning_and_a_breach_of_a_clock(ann: Person, far: FarSide) -> None:
    one = await told(ann, "webhook", url=far.url, events=["clock_warned", "clock_breached"])
    await publish(ann, at_once(within="PT2S", warn=["PT1S"]))
    run = await ann.start("case", {"received_at": now()})
    await settled(ann, one, 2)
    notices = [one for seen in far.seen for one in seen.body["data"]["notifications"]]
    assert sorted((one["type"], one["headline"]) for one in notices) == [
        ("clock_breached", "Overdue: Decision and notice"),
        ("clock_warned", "Due soon: Decision and notice"),
    ]
    assert {(one["gate"], one["url"]) for one in notices} == {(None, f"{PAGE}/#/runs/{run['id']}")}
