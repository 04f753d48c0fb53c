"""`penstock login --sso`: a command, a browser and a provider, each on its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from yarl import URL

from daemon.contract.accounts import number_of
from daemon.runtime import exit_codes
from tests.openid_provider import OpenIdProvider
from tests.web.operators import Operator
from tests.web.sign_on import BOB, Browser
from tests.web.support import Person

PATIENCE_S = 30.0


@dataclass
class Login:
    """A command that waits for a browser."""

    process: asyncio.subprocess.Process
    start: URL

    async def end(self) -> tuple[int | None, Any, str]:
        """Its exit code, what it says for machines, and what it says of an error."""
        async with asyncio.timeout(PATIENCE_S):
            out, err = await self.process.communicate()
        return self.process.returncode, json.loads(out) if out else None, err.decode()


@asynccontextmanager
async def logging_in(browser: Browser, home: Path) -> AsyncIterator[Login]:
    url = str(browser.house.opened[0].make_url("")).rstrip("/")
    env = {**os.environ, "PENSTOCK_URL": url, "PENSTOCK_TOKEN": "", "XDG_CONFIG_HOME": str(home)}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "daemon", "login", "--sso", "--json"),
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE_S):
            assert b"browser" in await process.stderr.readline()
            start = URL((await process.stderr.readline()).decode().strip(), encoded=True)
            assert number_of(start.query["challenge"]).encode() in await process.stderr.readline()
            yield Login(process, start)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def visit(location: str) -> str:
    """What the command shows to a browser that comes back."""
    async with aiohttp.ClientSession() as session, session.get(location) as response:
        return await response.text()


async def test_a_person_at_a_terminal_is_logged_in_by_their_browser(
    browser: Browser, ann: Person, tmp_path: Path
) -> None:
    async with logging_in(browser, tmp_path) as login:
        back = (await browser.log_in_command(str(login.start))).headers["Location"]
        assert "The terminal says" in await visit(back)
        code, said, _ = await login.end()
    assert (code, said["user"]["email"], said["company"]) == (0, BOB["email"], ann.session["company"])
    operator = Operator(str(login.start.origin()), tmp_path)
    assert (await operator.reads("whoami"))["user"]["email"] == BOB["email"]
    assert operator.kept.stat().st_mode & 0o777 == 0o600


async def test_a_code_of_another_log_in_changes_nothing(browser: Browser, tmp_path: Path) -> None:
    async with logging_in(browser, tmp_path / "one") as one, logging_in(browser, tmp_path / "two") as two:
        of_one, of_two = [
            URL((await browser.log_in_command(str(each.start))).headers["Location"]) for each in (one, two)
        ]
        await visit(str(of_two.with_query(of_one.query)))
        await visit(str(of_two.with_query(code="guessed")))
        await visit(str(of_two))
        assert (await two.end())[0] == 0
        assert one.process.returncode is None


async def test_a_log_in_that_failed_says_why(browser: Browser, provider: OpenIdProvider, tmp_path: Path) -> None:
    provider.claims |= {"email": "bob@elsewhere.test"}
    async with logging_in(browser, tmp_path) as login:
        await visit((await browser.log_in(str(login.start))).headers["Location"])
        code, said, error = await login.end()
    assert (code, said) == (exit_codes.NOT_AUTHENTICATED, None)
    assert "belongs to no company here" in error


async def test_an_address_and_single_sign_on_exclude_each_other(stranger: Operator) -> None:
    for words in ((), (BOB["email"], "--sso")):
        assert "Give an e-mail address, or --sso." in (await stranger.says("login", *words)).output
