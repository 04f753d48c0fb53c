"""`penstock register`, `login` and `logout`."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from daemon.client import Penstock, Problem, Session
from daemon.commands import tokens
from daemon.commands.base import AsJson, echo, error_exit
from daemon.commands.people.sign_on import SignOnFailed, signed_on
from daemon.commands.remote import Shell, Url, answered, calling
from daemon.runtime import exit_codes
from daemon.settings import Remote

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
            tokens.keep(Remote().tokens_file, shell.address, None)
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
        tokens.keep(Remote().tokens_file, shell.address, session.token)
    if shell.as_json:
        echo(session.model_dump_json(exclude={"token"}, indent=2))
        return
    until = session.expires_at.strftime("%Y-%m-%d %H:%M UTC")
    echo(f"logged in at {shell.address} as {session.user.email} of {session.company.name}, until {until}")


def token_of_invitation(text: str) -> str:
    """The token of an invitation, which is the last part of its link."""
    return text.strip().rpartition("/")[2]
