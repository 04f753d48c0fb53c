"""Single sign-on of `penstock login`: a browser on this machine brings the code (RFC 8252)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TypeAlias

import typer
from yarl import URL

from daemon.client import Penstock, Problem, Session
from daemon.commands.base import echo
from daemon.contract.accounts import number_of

VERIFIER_BYTES = 32
WAIT_S = 300.0
REQUEST_S = 10.0
LOOPBACK = "127.0.0.1"
BROUGHT_MAX = 16
Brought: TypeAlias = asyncio.Queue[tuple[str, str]]
"""Codes and errors that browsers have come back with."""
REASONS = {
    "no_company": "your address belongs to no company here, and nobody has invited it",
    "email_not_verified": "the provider has not verified your address",
    "log_in_needed": "your account has to sign in with its password once; the browser asks for it",
    "sign_in": "the provider refused it, or it took too long",
}


class SignOnFailed(Exception):
    """Nobody was signed in; the text says why."""


async def signed_on(api: Penstock, where: str, port: int, *, open_browser: bool) -> Session:
    """A session by single sign-on; SignOnFailed when no browser brings a code in time."""
    verifier, brought = secrets.token_urlsafe(VERIFIER_BYTES), Brought(BROUGHT_MAX)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    try:
        with _listening(brought, port) as taken:
            begin = str(URL(where).join(URL("/auth/sso/start")).update_query(cli=str(taken), challenge=challenge))
            echo(f"Sign in with a browser on this machine:\n{begin}", err=True)
            echo(f"Go on there only if it shows the number {number_of(challenge)}.", err=True)
            if open_browser:
                typer.launch(begin)
            async with asyncio.timeout(WAIT_S):
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


@contextmanager
def _listening(brought: Brought, port: int) -> Iterator[int]:
    """A server for the browser of this machine alone; its port."""
    loop = asyncio.get_running_loop()

    class Back(BaseHTTPRequestHandler):
        timeout = REQUEST_S

        def do_GET(self) -> None:
            query = URL(self.path, encoded=True).query
            loop.call_soon_threadsafe(_put, brought, (query.get("code", ""), query.get("error", "")))
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.end_headers()
            self.wfile.write(b"You can close this tab. The terminal says how it went.\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """The code is in the address: it is not printed."""

    with ThreadingHTTPServer((LOOPBACK, port), Back) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


def _put(brought: Brought, one: tuple[str, str]) -> None:
    with suppress(asyncio.QueueFull):
        brought.put_nowait(one)
