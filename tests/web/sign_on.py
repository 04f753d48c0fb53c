"""Browsers that sign in by an OpenID provider."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from pydantic import SecretStr
from yarl import URL

from tests.openid_provider import CLIENT, SECRET
from tests.web.support import Answer, House

PUBLIC = "http://127.0.0.1:8080"
BOB = {"sub": "bob-1", "email": "bob@example.test", "email_verified": True, "name": "Bob"}
PAGE = {"Penstock-Page": "1"}


@dataclass
class Browser:
    """A browser with cookies of its own; redirects are followed by hand."""

    house: House
    session: aiohttp.ClientSession

    async def get(self, url: str | URL, **headers: str) -> Answer:
        """The address here, also where it is the public one."""
        given = URL(url)
        if not given.absolute or str(given.origin()) == PUBLIC:
            given = self.house.opened[0].make_url("").join(URL(given.raw_path_qs, encoded=True))
        async with self.session.get(given, headers=headers, allow_redirects=False) as response:
            return await Answer.of(response)

    async def at_provider(self, start: str = "/auth/sso/start") -> str:
        """Where the provider sends the browser back to."""
        begun = await self.get(start)
        assert begun.status == 302, begun.raw
        back = await self.get(begun.headers["Location"])
        return back.headers["Location"]

    async def log_in(self, start: str = "/auth/sso/start", **headers: str) -> Answer:
        return await self.get(await self.at_provider(start), **headers)

    async def submit(self, page: Answer, **fields: str) -> Answer:
        """Send the form of a page with what it holds and what a person writes into it."""
        text = page.raw.decode()
        action = re.findall(r'<form method="post" action="([^"]+)"', text)[0]
        held = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]+)"', text))
        url = self.house.opened[0].make_url(action)
        headers = {"Origin": str(url.origin()), "Accept": "text/html"}
        async with self.session.post(url, data=held | fields, headers=headers, allow_redirects=False) as response:
            return await Answer.of(response)

    async def log_in_command(self, start: str) -> Answer:
        """As `log_in`, of a person who says that the command is theirs."""
        return await self.submit(await self.log_in(start))

    async def me(self) -> Any:
        answer = await self.get("/auth/me", **PAGE)
        assert answer.status == 200, answer.raw
        return answer.json


@asynccontextmanager
async def browsing(house: House) -> AsyncIterator[Browser]:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield Browser(house, session)


async def configured(house: House, issuer: str, company_id: str, **more: Any) -> None:
    """Open the service anew with single sign-on for people of example.test."""
    given = {
        "oidc_issuer": issuer,
        "oidc_client_id": CLIENT,
        "oidc_client_secret": SecretStr(SECRET),
        "oidc_domains": f"example.test={company_id}:manager",
        "oidc_id_tokens": True,
        "public_url": PUBLIC,
    }
    house.settings = house.settings.model_copy(update={**given, **more})
    await house.restart()
