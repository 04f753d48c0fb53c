"""Mails go to a real SMTP server, again where it fails, and never in clear unless asked to."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiosmtplib import SMTPException
from structlog.testing import capture_logs

from daemon.mail.mailer import QUEUE_MAX, Mailer
from daemon.mail.server import parse_sender, parse_smtp_url
from daemon.mail.texts import NAME_CHARS_MAX, InvitationMail, Mail, invitation, password_reset, shown
from tests.post_office import PASSWORD, USER, PostOffice, certificate

SENDER = parse_sender("Penstock <penstock@penstock.test>")
MAIL = Mail("invitation", "c", "bea@acme.test", "Hello", "Good day.\n")
LOGIN = f"{USER}:{quote(PASSWORD)}@"
PATIENCE_S = 60.0
UNTIL = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)


def mailer(office: PostOffice, url: str = "", **how: Any) -> Mailer:
    return Mailer(parse_smtp_url(url or office.url()), SENDER, **how)


@asynccontextmanager
async def at_work(one: Mailer) -> AsyncIterator[Mailer]:
    async def work() -> None:
        while True:
            await one.work()

    task = asyncio.create_task(work())
    yield one
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    one.close()


async def test_a_mail_arrives_as_it_was_written() -> None:
    async with PostOffice() as office, at_work(mailer(office)) as sending:
        sending.post(MAIL)
        received = await office.mail_to("bea@acme.test")
    message = received.message
    assert (received.sender, message["From"]) == ("penstock@penstock.test", "Penstock <penstock@penstock.test>")
    assert (message["To"], message["Subject"]) == ("bea@acme.test", "Hello")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].endswith("@penstock.test>")
    assert message.get_content_type() == "text/plain"
    assert received.text.splitlines() == ["Good day."]


async def test_words_and_addresses_of_all_scripts_arrive() -> None:
    mail = MAIL._replace(to="zoë@bücher.test", subject="Grüße, 李", text="Grüße, 李 …\n")
    async with PostOffice() as office, at_work(mailer(office)) as sending:
        sending.post(mail)
        received = await office.mail_to("zoë@xn--bcher-kva.test")
    assert (received.message["Subject"], received.text.strip()) == (mail.subject, mail.text.strip())


@pytest.mark.parametrize(("scheme", "query"), [("smtp", ""), ("smtps", "")], ids=["starttls", "tls"])
async def test_the_password_goes_over_tls(tmp_path: Path, scheme: str, query: str) -> None:
    server, client = certificate(tmp_path)
    async with PostOffice(server, tls_at_once=scheme == "smtps", needs_login=True) as office:
        await mailer(office, office.url(scheme, LOGIN, query), tls=client).send(MAIL)
        assert len(office.received) == 1


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_a_certificate_that_is_not_trusted_gets_no_mail(tmp_path: Path, scheme: str) -> None:
    server, _ = certificate(tmp_path)
    async with PostOffice(server, tls_at_once=scheme == "smtps") as office:
        with pytest.raises((SMTPException, OSError)):
            await mailer(office, office.url(scheme, query="")).send(MAIL)
        assert office.attempts == 0


async def test_a_server_without_tls_gets_no_mail_unless_it_is_allowed_to() -> None:
    async with PostOffice() as office:
        with pytest.raises(SMTPException):
            await mailer(office, office.url(query="")).send(MAIL)
        assert office.attempts == 0
        await mailer(office, office.url(query="?starttls=auto")).send(MAIL)
        assert len(office.received) == 1


async def test_tls_is_taken_where_a_server_of_either_kind_offers_it(tmp_path: Path) -> None:
    server, client = certificate(tmp_path)
    async with PostOffice(server) as office:  # it takes no mail without STARTTLS
        await mailer(office, office.url(query="?starttls=auto"), tls=client).send(MAIL)
        assert len(office.received) == 1


async def test_a_wrong_password_is_tried_again_and_said(tmp_path: Path) -> None:
    server, client = certificate(tmp_path)
    async with PostOffice(server, needs_login=True) as office:
        sending = mailer(office, office.url("smtp", f"{USER}:wrong@", ""), tls=client, pauses_s=(0.0,))
        with capture_logs() as lines:
            sending.post(MAIL)
            await sending.work()
            await sending.work()
    assert [(one["event"], one["error"], one["code"]) for one in lines] == [
        ("mail_retried", "SMTPAuthenticationError", 535),
        ("mail_failed", "SMTPAuthenticationError", 535),
    ]
    assert "wrong" not in str(lines)
    assert "bea" not in str(lines)


async def test_a_mail_is_sent_again_until_the_server_takes_it() -> None:
    results: list[tuple[str, str]] = []
    sent = asyncio.Event()

    def count(kind: str, result: str) -> None:
        results.append((kind, result))
        if result == "sent":  # the client knows it later than the server
            sent.set()

    async with PostOffice(answers=["451 later", "421 later"]) as office:
        sending = mailer(office, pauses_s=(0.0, 0.0), count_result=count)
        async with at_work(sending):
            sending.post(MAIL)
            async with asyncio.timeout(PATIENCE_S):
                await sent.wait()
        assert office.attempts == 3
    assert results == [("invitation", "retried"), ("invitation", "retried"), ("invitation", "sent")]


async def test_a_server_that_is_not_there_is_tried_again_and_then_no_more() -> None:
    async with PostOffice() as office:
        sending = mailer(office, pauses_s=(0.0, 0.0))
    with capture_logs() as lines:
        sending.post(MAIL)
        for _ in range(3):
            await sending.work()
    assert [one["event"] for one in lines] == ["mail_retried", "mail_retried", "mail_failed"]
    assert not len(sending)


async def test_a_mail_that_is_refused_for_good_is_not_sent_again() -> None:
    async with PostOffice(answers=["550 no such user"]) as office:
        sending = mailer(office)
        with capture_logs() as lines:
            sending.post(MAIL)
            await sending.work()
    assert [(one["event"], one["code"]) for one in lines] == [("mail_failed", 550)]
    assert not len(sending)


async def test_a_mail_that_waits_for_its_next_try_holds_up_no_other() -> None:
    async with PostOffice(answers=["451 later"]) as office, at_work(mailer(office, pauses_s=(3_600.0,))) as sending:
        sending.post(MAIL)
        await office.until(lambda office: office.attempts == 1)
        sending.post(MAIL._replace(to="cid@acme.test"))
        await office.mail_to("cid@acme.test")
        async with asyncio.timeout(PATIENCE_S):
            while len(sending) > 1:  # noqa: ASYNC110 - the client knows it later than the server
                await asyncio.sleep(0)
        assert len(sending) == 1


async def test_a_bounded_number_waits() -> None:
    sending = Mailer(parse_smtp_url("smtp://127.0.0.1"), SENDER)
    for _ in range(QUEUE_MAX):
        sending.post(MAIL)
    with capture_logs() as lines:
        sending.post(MAIL)
    assert [(one["event"], one["error"]) for one in lines] == [("mail_failed", "queue_full")]
    assert len(sending) == QUEUE_MAX


async def test_what_waits_when_the_service_stops_is_said() -> None:
    sending = Mailer(parse_smtp_url("smtp://127.0.0.1"), SENDER)
    sending.post(MAIL)
    with capture_logs() as lines:
        sending.close()
    assert [(one["event"], one["error"]) for one in lines] == [("mail_failed", "stopped")]


@pytest.mark.parametrize(
    "address", ["a\r\nBcc:x@x.test", "a\nb@c.test", "a b@c.test", "a>,<b@c.test", '"a@c.test', "a,b@c.test", "@c.test"]
)
async def test_an_address_cannot_add_headers_or_recipients(address: str) -> None:
    async with PostOffice() as office:
        sending = mailer(office)
        with capture_logs() as lines:
            sending.post(MAIL._replace(to=address))
            await sending.work()
        for one in office.received:
            assert one.recipients == [address]
            assert set(one.message.keys()) <= KNOWN
    assert [one["event"] for one in lines] in (["mail_failed"], ["mail_sent"])


KNOWN = {
    *("From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version"),
    *("Content-Type", "Content-Transfer-Encoding", "X-Peer", "X-MailFrom", "X-RcptTo"),
}


async def test_the_name_of_a_company_cannot_add_headers_or_lines() -> None:
    name = "Acme\r\nBcc: eve@eve.test\r\n\r\nPay here\u2028now\x85" + "x" * 500
    mail = invitation(
        InvitationMail("bea@acme.test", "c", name, "Ann\nX: y", UNTIL), "https://penstock.test/#/invitations/t"
    )
    async with PostOffice() as office:
        await mailer(office).send(mail)
        received = office.received[0]
    assert set(received.message.keys()) <= KNOWN
    assert received.message["Subject"].startswith('Invitation to "Acme Bcc: eve@eve. test Pay here now xxx')
    assert received.text.splitlines()[0].startswith('Ann X: y invites you to join the company "Acme Bcc:')


HIDDEN = "text\r\nReply-To: pay@evil.test\r\nContent-Type: text/html\r\n\r\n<a href=//evil.test>Pay</a>"
ENCODED = [
    f"=?utf-8?b?{b64encode(HIDDEN.encode()).decode()}?=",
    f"=?utf-8?q?{''.join(f'={one:02X}' for one in HIDDEN.encode())}?=",
    f"a=?utf-8?b?{b64encode(HIDDEN.encode()).decode()}?==?utf-8?b?{b64encode(HIDDEN.encode()).decode()}?=",
]


@pytest.mark.parametrize("name", ENCODED)
async def test_an_encoded_word_adds_no_header_and_no_body(name: str) -> None:
    invited = InvitationMail("bea@acme.test", "c", name, name, UNTIL)
    mails = [invitation(invited, "https://penstock.test/#/invitations/t"), MAIL._replace(subject=name)]
    async with PostOffice() as office:
        for mail in mails:
            await mailer(office).send(mail)
        for received in office.received:
            assert set(received.message.keys()) <= KNOWN
            assert received.message.get_content_type() == "text/plain"
            assert "evil" not in str(received.message["Subject"])


@pytest.mark.parametrize("to", ["=?utf-8?q?x?=@b.test", f"{ENCODED[1]}@b.test"])
async def test_an_encoded_word_is_no_address(to: str) -> None:
    with pytest.raises(ValueError, match="no header can hold"):
        await Mailer(parse_smtp_url("smtp://127.0.0.1"), SENDER).send(MAIL._replace(to=to))


@pytest.mark.parametrize(
    "name",
    [
        "ACME Bank: verify now at https://evil.test/x",
        "www.evil.test",
        "pay@evil.test",
        "evil\u3002test",
        "http:///evil.test//a",
        "x\u202egnp.exe",
    ],
)
def test_no_program_makes_a_link_of_a_name(name: str) -> None:
    assert re.search(r"//|\S[.\u3002]\w|=\?|\u202e", shown(name)) is None


@pytest.mark.parametrize("name", ["Acme Inc.", "Version 1.5 of 3", "a/b = c?", "…and so on", "Müller & Söhne"])
def test_a_name_without_a_link_stays_as_it_is(name: str) -> None:
    assert shown(name) == name


async def test_a_mail_that_a_server_refuses_for_good_says_why_in_the_log() -> None:
    async with PostOffice(answers=["550 5.7.1 bea@acme.test is on a list"]) as office:
        sending = mailer(office)
        with capture_logs() as lines:
            sending.post(MAIL)
            await sending.work()
    (line,) = lines
    assert (line["event"], line["code"], line["tries"]) == ("mail_failed", 550, 1)
    assert line["cause"] == "The mail server answered 550: 5.7.1 … is on a list"


def test_a_long_name_is_cut_and_a_short_one_stays() -> None:
    assert shown("Acme  Health ") == "Acme Health"
    assert shown("x" * NAME_CHARS_MAX) == "x" * NAME_CHARS_MAX
    assert shown("x" * (NAME_CHARS_MAX + 1)) == "x" * (NAME_CHARS_MAX - 1) + "…"


def test_texts_hold_the_link_on_a_line_of_its_own_and_until_when_it_works() -> None:
    link = f"https://penstock.test/#/reset/{'t' * 43}"
    lines = password_reset("bea@acme.test", "c", UNTIL, link).text.splitlines()
    assert link in lines
    assert "It works once, until 2026-05-04 12:30 UTC." in lines[-1]
