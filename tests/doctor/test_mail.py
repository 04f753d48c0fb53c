"""The doctor tries the mail server: TLS and the password, too."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr

from daemon.doctor.environment import Check, mail
from daemon.settings import Settings
from tests.post_office import PASSWORD, USER, PostOffice


def settings(url: str, file: Path | None = None) -> Settings:
    sender, page = "penstock@penstock.test", "https://penstock.test"
    return Settings(smtp_url=SecretStr(url), smtp_password_file=file, mail_from=sender, public_url=page)


async def checks(settings: Settings) -> list[Check]:
    """The command has no event loop, so it is given in a thread."""
    return await asyncio.to_thread(lambda: [one for one in mail(settings) if one.name == "mail"])


@pytest.mark.parametrize("verified", [True, False])
async def test_a_python_that_does_not_look_at_its_headers_is_warned_of(
    verified: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.mail.mailer.HEADERS_VERIFIED", verified)
    async with PostOffice() as office:
        found = await asyncio.to_thread(lambda: list(mail(settings(office.url()))))
    assert [one.state for one in found if one.name == "python"] == ([] if verified else ["warning"])


def test_without_a_mail_server_there_is_nothing_to_check() -> None:
    assert list(mail(Settings())) == []


async def test_a_server_that_takes_mail_is_well_and_gets_none() -> None:
    async with PostOffice() as office:
        (found,) = await checks(settings(office.url()))
        assert (found.name, found.state) == ("mail", "ok")
        assert office.attempts == 0


async def test_a_server_without_tls_is_a_problem_unless_that_is_allowed() -> None:
    async with PostOffice() as office:
        (found,) = await checks(settings(office.url(query="")))
    assert found.state == "problem"
    assert found.text == f"127.0.0.1:{office.port} takes no mail from here: SMTPException"


async def test_a_server_that_is_not_there_is_a_problem() -> None:
    async with PostOffice() as office:
        url = office.url()
    (found,) = await checks(settings(url))
    assert found.state == "problem"
    assert "SMTPConnectError" in found.text


async def test_a_password_that_is_refused_is_a_problem_and_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("wrong horse")
    file.chmod(0o644)
    async with PostOffice(login_in_clear=True) as office:
        readable, refused = await checks(settings(office.url(user=f"{USER}@"), file))
        file.write_text(PASSWORD)
        file.chmod(0o600)
        (taken,) = await checks(settings(office.url(user=f"{USER}@"), file))
    assert (readable.state, refused.state, taken.state) == ("problem", "problem", "ok")
    assert refused.text.endswith("SMTPAuthenticationError (535)")
    assert taken.text.endswith("is there and takes the password")
    assert "wrong horse" not in str((readable, refused))


async def test_a_password_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    (found,) = await checks(settings(f"smtp://{USER}@127.0.0.1", tmp_path / "none"))
    assert (found.state, found.hint) == ("problem", "correct PENSTOCK_SMTP_PASSWORD_FILE")
