"""Single sign-on of `penstock login`: a browser on this machine brings the code (RFC 8252)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import typer
from aiohttp import web
from yarl import URL

from daemon.client import Penstock, Problem, Session
from daemon.commands.base import echo

VERIFIER_BYTES = 32
WAIT_S = 300.0
LOOPBACK = "127.0.0.1"
BROUGHT_MAX = 16
Brought: TypeAlias = asyncio.Queue[tuple[str, str]]
"""Codes and errors that browsers have come back with."""
REASONS = {
    "no_company": "your address belongs to no company here, and nobody has invited it",
    "email_not_verified": "the provider has not verified your address",
    "sign_in": "the provider refused it, or it took too long",
}


class SignOnFailed(Exception):
    """Nobody was signed in; the text says why."""


async def signed_on(api: Penstock, where: str, port: int) -> Session:
    """A session by single sign-on; SignOnFailed when no browser brings a code in time."""
    verifier, brought = secrets.token_urlsafe(VERIFIER_BYTES), Brought(BROUGHT_MAX)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    try:
        async with _listening(brought, port) as taken, asyncio.timeout(WAIT_S):
            begin = str(URL(where).join(URL("/auth/sso/start")).update_query(cli=str(taken), challenge=challenge))
            echo(f"Sign in with a browser on this machine:\n{begin}", err=True)
            _open(begin)
            return await _swapped(api, brought, verifier)
    except TimeoutError:
        raise SignOnFailed(f"Nobody signed in within {WAIT_S / 60:.0f} minutes.") from None
    except OSError as error:
        raise SignOnFailed(f"Nothing can listen on {LOOPBACK}:{port}: {error.strerror}.") from None


async def _swapped(api: Penstock, brought: Brought, verifier: str) -> Session:
    """The session of the code that is of this log-in; others are passed over."""
    while True:
        code, error = await brought.get()
        if error:
            raise SignOnFailed(f"The sign-in failed: {REASONS.get(error, 'the service refused it')}.")
        try:
            return await api.sign_on(code, verifier)
        except Problem as problem:
            if problem.code != "forbidden":
                raise


@asynccontextmanager
async def _listening(brought: Brought, port: int) -> AsyncIterator[int]:
    """A server for the browser of this machine alone; its port."""

    async def take(request: web.Request) -> web.Response:
        with suppress(asyncio.QueueFull):
            brought.put_nowait((request.query.get("code", ""), request.query.get("error", "")))
        return web.Response(text="You can close this tab. The terminal says how it went.")

    app = web.Application()
    app.router.add_get("/", take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, port).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def _open(address: str) -> None:
    """Open the browser of somebody who sits at this machine."""
    seen = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if seen and sys.stderr.isatty():
        typer.launch(address)
