"""`penstock register`, `login` and `logout`, by a password or by a browser (RFC 8252)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Annotated, TypeAlias

import typer
from yarl import URL

from daemon.client import Penstock, Problem, Session
from daemon.commands import remote
from daemon.commands.base import AsJson, echo, error_exit
from daemon.commands.remote import Shell, Url, answered, calling
from daemon.contract.accounts import number_of
from daemon.runtime import exit_codes
from daemon.settings import Remote

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


Email = Annotated[str, typer.Argument(help="E-mail address.")]
FromStdin = Annotated[bool, typer.Option("--password-stdin", help="Read password, and code, from standard input.")]


def register_company(
    email: Email,
    company_name: Annotated[str | None, typer.Argument(help="Name of the company; none with --invitation.")] = None,
    invitation: Annotated[str | None, typer.Option(help="Token or link of an invitation to join by.")] = None,
    password_stdin: FromStdin = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Register a company, or join one by an invitation, and store the token for later commands."""
    if (company_name is None) == (invitation is None):
        raise typer.BadParameter("Give the name of a company, or --invitation.")
    held = None if invitation is None else token_of_invitation(invitation)
    password = _password(password_stdin, again=True)

    async def enter(api: Penstock, code: str | None) -> Session:
        return await api.register(email, password, company_name, invitation=held, code=code)

    shell = Shell(as_json, url)
    keep_session(shell, shell.perform(_with_code(enter, password_stdin)))


def login(
    email: Annotated[str | None, typer.Argument(help="E-mail address; none with --sso.")] = None,
    password_stdin: FromStdin = False,
    sso: Annotated[bool, typer.Option("--sso", help="Sign in with a browser, by the company's provider.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="With --sso: where the browser comes back to.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open", help="With --sso: open the browser.")] = False,
    as_json: AsJson = False,
    url: Url = None,
) -> None:
    """Log in, and store the token for later commands in a file that only you can read."""
    if sso == (email is not None):
        raise typer.BadParameter("Give an e-mail address, or --sso.")
    shell = Shell(as_json, url)
    if email is not None:
        keep_session(shell, shell.perform(_by_password(email, password_stdin)))
        return
    try:
        session = shell.perform(lambda api: signed_on(api, shell.address, port, open_browser=open_browser))
    except SignOnFailed as failed:
        raise error_exit(failed, exit_codes.NOT_AUTHENTICATED) from None
    keep_session(shell, session)


def _by_password(email: str, password_stdin: bool) -> Callable[[Penstock], Awaitable[Session]]:
    password = _password(password_stdin, again=False)

    async def enter(api: Penstock, code: str | None) -> Session:
        return await api.login(email, password, code=code)

    return _with_code(enter, password_stdin)


def _with_code(
    enter: Callable[[Penstock, str | None], Awaitable[Session]], from_stdin: bool
) -> Callable[[Penstock], Awaitable[Session]]:
    """Enter, and again with a code where one is needed."""

    async def work(api: Penstock) -> Session:
        try:
            return await enter(api, None)
        except Problem as problem:
            if problem.more.get("second_factor") != "required":
                raise
        return await enter(api, _code(from_stdin))

    return work


@calling
def logout(shell: Shell) -> None:
    """Revoke and delete the token."""

    async def work(api: Penstock) -> bool:
        known = bool(api.token)
        if known:
            await api.logout()
        return known

    known = shell.perform(work)
    with answered(shell.address):
        if not shell.token and not Remote().penstock_token:
            remote.keep_token(Remote().tokens_file, shell.address, None)
    if shell.as_json:
        echo('{"logged_out": %s}' % ("true" if known else "false"))
    else:
        echo(f"logged out of {shell.address}" if known else f"not logged in at {shell.address}")


def _password(from_stdin: bool, *, again: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=again, err=True)
    return password


def _code(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().strip()
    code: str = typer.prompt("Code of the second factor", err=True)
    return code


def keep_session(shell: Shell, session: Session) -> None:
    with answered(shell.address):
        remote.keep_token(Remote().tokens_file, shell.address, session.token)
    if shell.as_json:
        echo(session.model_dump_json(exclude={"token"}, indent=2))
        return
    until = session.expires_at.strftime("%Y-%m-%d %H:%M UTC")
    echo(f"logged in at {shell.address} as {session.user.email} of {session.company.name}, until {until}")


def token_of_invitation(text: str) -> str:
    """The token of an invitation, which is the last part of its link."""
    return text.strip().rpartition("/")[2]
