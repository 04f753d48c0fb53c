"""The settings of mail: what they mean, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from daemon.mail.server import SmtpServer, parse_sender, parse_smtp_url
from daemon.settings import Settings, smtp_server

MAIL: dict[str, Any] = {"mail_from": "penstock@penstock.test", "public_url": "https://penstock.test"}
SECRET = "hunter22"


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.test", SmtpServer("mail.test", 587, "required")),
        ("smtp://mail.test:25/?starttls=none", SmtpServer("mail.test", 25, "none")),
        ("smtp://127.0.0.1?starttls=auto", SmtpServer("127.0.0.1", 587, "auto")),
        ("smtps://[::1]", SmtpServer("::1", 465, "implicit")),
        ("smtps://a%40b:p%3Aw@mail.test:4650", SmtpServer("mail.test", 4650, "implicit", "a@b", "p:w")),
    ],
)
def test_a_url_names_the_server_and_how_it_is_reached(url: str, server: SmtpServer) -> None:
    assert parse_smtp_url(url) == server


@pytest.mark.parametrize(
    "url",
    [
        "http://mail.test",
        "mail.test",
        "smtp://",
        "smtp://mail.test/path",
        "smtp://mail.test#x",
        f"smtp://user:{SECRET}/x@mail.test",
        f"smtp://:{SECRET}@mail.test",
        f"smtp://user:{SECRET}@mail.test?starttls=auto",
        f"smtp://user:{SECRET}@mail.test?starttls=maybe",
        f"smtp://user:{SECRET}@mail.test?tls=none",
        f"smtp://user:{SECRET}@mail.test?starttls=none&starttls=none",
        f"smtp://user:{SECRET}@mail.test?starttls",
        f"smtps://user:{SECRET}@mail.test?starttls=required",
        f"smtp://user:{SECRET}@[mail",
        f"smtp://user:{SECRET}@mail.test:99999",
    ],
)
def test_a_url_that_means_nothing_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match=r"^it |^with |^all ") as refused:
        parse_smtp_url(url)
    assert SECRET not in str(refused.value)


def test_the_password_is_in_no_text_of_a_server_or_of_settings() -> None:
    url = f"smtp://user:{SECRET}@mail.test"
    settings = Settings(smtp_url=SecretStr(url), **MAIL)
    assert SECRET not in repr(parse_smtp_url(url)) + repr(settings) + settings.model_dump_json()


@pytest.mark.parametrize("text", ["a@b.test", "Penstock <a@b.test>"])
def test_a_sender_has_an_address_and_may_have_a_name(text: str) -> None:
    assert parse_sender(text).addr_spec == "a@b.test"


@pytest.mark.parametrize(
    "text", ["Penstock", "a@b@c", "a b@c.test", "A <a@b.test>\r\nBcc: <c@d.test>", "ä@b.test", "-x@b.test"]
)
def test_a_sender_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="it is no address"):
        Settings(mail_from=text)


@pytest.mark.parametrize("left", ["mail_from", "public_url"])
def test_mail_needs_a_sender_and_the_address_of_the_page(left: str) -> None:
    given = {**MAIL, left: ""}
    with pytest.raises(ValidationError, match="needs PENSTOCK_MAIL_FROM and PENSTOCK_PUBLIC_URL"):
        Settings(smtp_url=SecretStr("smtp://mail.test"), **given)


@pytest.mark.parametrize(
    "text", ["penstock.test", "ftp://a.test", "https://", "https://u@a.test", "https://a.test/#x", "https://a.test:x"]
)
def test_an_address_of_the_page_that_no_link_can_begin_with_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="it is no address"):
        Settings(public_url=text)


def test_a_slash_at_the_end_of_the_pages_address_does_not_count() -> None:
    assert Settings(public_url="https://a.test/").public_url == "https://a.test"


@pytest.mark.parametrize("text", ["https://a.test/penstock", "https://a.test/penstock/", "https://a.test:8443/a/b"])
def test_an_address_below_the_root_of_a_host_is_refused_with_the_cause(text: str) -> None:
    with pytest.raises(ValidationError, match="works at the root of a host alone, not below /"):
        Settings(public_url=text)


def test_a_service_below_the_root_of_a_host_does_not_start(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PENSTOCK_DATA_DIR": str(tmp_path),
        "PENSTOCK_PUBLIC_URL": "https://host.test/penstock/",
    }
    command = [sys.executable, "-m", "daemon", "serve", "--port", "0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 78
    assert "give it a host of its own" in done.stderr + done.stdout


def test_the_password_may_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    file: dict[str, Any] = {"smtp_url": "smtp://user@mail.test", "smtp_password_file": tmp_path / "secret"}
    assert smtp_server(Settings(**file, **MAIL)) == SmtpServer("mail.test", 587, "required", "user", SECRET)


def test_the_file_of_the_password_may_be_a_credential_of_the_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "smtp.password").write_text(SECRET)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert Settings().smtp_password_file == tmp_path / "smtp.password"
