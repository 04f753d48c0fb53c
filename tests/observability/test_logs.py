"""The log: one JSON object a line, or lines for people; with ids, and without secrets."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from typing import Any

import pytest

from actors.context import LOG_CONTEXT, set_log_context
from daemon.observability.logs import add_log_context, masked

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl"
SAYS = """
import asyncio, logging, sys, warnings, structlog
from aiohttp.http_exceptions import BadHttpMessage
from daemon.observability import logs
from actors.context import set_log_context
logs.configure(*sys.argv[1:] or ["info"])
log = structlog.get_logger("penstock")
log.debug("unheard")
log.info("said", number=1, auth_token="s3cr3t-canary", text="Authorization: Bearer s3cr3t-canary")
try:
    raise ValueError("token=s3cr3t-canary")
except ValueError:
    log.exception("broke")
logging.getLogger("aiohttp.server").error("of a library: %s", "password=s3cr3t-canary")
logging.getLogger("aiohttp.server").info("too quiet")
try:
    raise BadHttpMessage("no HTTP")
except BadHttpMessage:
    logging.getLogger("aiohttp.server").exception("a caller's fault")
warnings.warn("about s3cr3t: no")
async def work():
    set_log_context(company_id="acme", run_id="run-1")
    await asyncio.create_task(tell())
async def tell():
    log.info("inside", step_id="a")
asyncio.run(work())
log.info("outside")
"""


def line_of(**given: Any) -> Any:
    return masked(None, "info", dict(given))


@pytest.mark.parametrize(
    "name",
    [
        "token",
        "auth_token",
        "Authorization",
        "password",
        "password_hash",
        "client_secret",
        "secrets",
        "key",
        "api_key",
        "x-api-key",
        "private_key",
        "sealed_secret",
        "Set-Cookie",
        "credential",
    ],
)
def test_what_a_name_tells_to_be_secret_is_masked(name: str) -> None:
    assert line_of(**{name: "canary"}) == {name: "***"}
    assert line_of(headers={"inner": [{name: "canary"}]}) == {"headers": {"inner": [{name: "***"}]}}
    assert line_of(**{name: 7, "n": 7}) == {name: "***", "n": 7}


@pytest.mark.parametrize("name", ["token_id", "key_id", "token_ttl_s", "keys", "tokens_max", "auth_token_set", "path"])
def test_what_a_name_only_touches_is_shown(name: str) -> None:
    assert line_of(**{name: "abc"}) == {name: "abc"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.def-123", "Authorization: Bearer ***"),
        ("{'authorization': 'Basic dXNlcjpwdw=='}", "{'authorization': ***}"),
        ("GET /x?token=abc123&page=2", "GET /x?token=***&page=2"),
        ('{"auth_token": "a \\" b", "n": 1}', '{"auth_token": ***, "n": 1}'),
        ('"secret": "cut off', '"secret": ***'),
        ("password: hunter22", "password: ***"),
        (f"it was {TOKEN}!", "it was ***!"),
        ("no answer from https://ann:pw@api.test/x", "no answer from https://***@api.test/x"),
        ("The bearer token does not count.", "The bearer token does not count."),
        ("a gate of tier high waits", "a gate of tier high waits"),
    ],
)
def test_a_secret_in_text_is_masked(text: str, shown: str) -> None:
    assert line_of(text=text) == {"text": shown}
    assert line_of(inner=[text]) == {"inner": [shown]}
    assert line_of(inner={text: 1}) == {"inner": {shown: 1}}


@pytest.mark.parametrize(
    "word",
    [
        "Authorization",
        "authorisation",
        "COOKIE",
        "credential",
        "dsn",
        "passphrase",
        "password",
        "passwd",
        "password_hash",
        "secret",
        "token",
        "api_key",
        "data-key",
        "private_key",
        "signing_key",
        "vaultkey",
    ],
)
def test_what_follows_the_name_of_a_secret_in_text_is_masked(word: str) -> None:
    assert line_of(text=f"sent my_{word}=canary on") == {"text": f"sent my_{word}=*** on"}


def test_objects_are_masked_in_their_own_words() -> None:
    assert line_of(error=ValueError("token=abc")) == {"error": "ValueError('token=***')"}
    assert line_of(raw=b"Bearer abcdefgh") == {"raw": "b'Bearer ***'"}


def test_a_line_has_the_ids_of_what_it_is_about_unless_it_gives_its_own() -> None:
    before = LOG_CONTEXT.set({})
    try:
        set_log_context(company_id="acme", run_id="run-1")
        assert add_log_context(None, "info", {"event": "x", "run_id": "run-2"}) == {
            "event": "x",
            "company_id": "acme",
            "run_id": "run-2",
        }
        set_log_context(request_id="r")
        assert add_log_context(None, "info", {"event": "x"}) == {"event": "x", "request_id": "r"}
    finally:
        LOG_CONTEXT.reset(before)


def test_every_line_for_machines_is_one_json_object_and_shows_no_secret() -> None:
    said = subprocess.run([sys.executable, "-c", SAYS], capture_output=True, text=True, check=True, timeout=30)
    lines = [json.loads(line) for line in said.stderr.splitlines()]
    assert [line["event"].splitlines()[0] for line in lines if line["level"] != "warning"] == [
        "said",
        "broke",
        "of a library: password=***",
        "inside",
        "outside",
    ]
    (warning,) = (line for line in lines if line["level"] == "warning")
    assert warning["logger"] == "py.warnings"
    assert "canary" not in said.stderr
    assert lines[0]["auth_token"] == "***"
    assert lines[1]["exception"].startswith("Traceback")
    assert lines[1]["exception"].splitlines()[-1] == "ValueError"
    inside, outside = lines[-2:]
    assert (inside["company_id"], inside["run_id"], inside["step_id"]) == ("acme", "run-1", "a")
    assert "run_id" not in outside
    assert all({"timestamp", "level", "event"} <= set(line) for line in lines)


def test_bytes_that_are_no_http_fill_the_log_only_where_everything_is_wanted() -> None:
    program = (sys.executable, "-c", SAYS, "debug")
    said = subprocess.run(program, capture_output=True, text=True, check=True, timeout=30)
    events = [json.loads(line)["event"] for line in said.stderr.splitlines()]
    assert {"unheard", "a caller's fault"} <= set(events)
    assert "too quiet" not in events


def test_on_a_terminal_the_log_is_for_people_and_shows_no_secret_either() -> None:
    ours, theirs = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", SAYS], stderr=theirs, check=True, timeout=30)
        said = os.read(ours, 100_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "said" in said
    assert "number" in said
    assert not any(line.startswith("{") for line in said.splitlines())
    assert "ValueError" in said
    assert "canary" not in said
