"""Shared by the commands that call the service: address, token, errors, completion."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from daemon.client import Patience, Penstock, Problem, Unreachable
from daemon.commands import tokens
from daemon.commands.base import error_exit, said
from daemon.runtime import exit_codes
from daemon.settings import Remote

T = TypeVar("T")
Url = Annotated[
    str | None,
    typer.Option("--url", help="Address of the service; default: PENSTOCK_URL, or this machine at PENSTOCK_PORT."),
]


def read_token(file: str) -> str:
    """The token in a file, or on standard input: arguments can be seen by every user."""
    try:
        text = sys.stdin.readline() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise typer.BadParameter(said(error)) from None
    return text.strip()


Token = Annotated[
    str | None,
    typer.Option(
        "--token-file",
        parser=read_token,
        metavar="FILE",
        help="File of a token, - for standard input; default: PENSTOCK_TOKEN or the last login.",
    ),
]
# Somebody waits at a terminal, and would rather be told.
PATIENCE = Patience(tries_max=4, total_s=15.0)
LOG_IN = "log in with penstock login, or set PENSTOCK_TOKEN"


class NotFound(Exception):
    """Nothing has the name that was given, or more than one thing has; the message says which."""


def address(url: str | None) -> str:
    """The address from the flag, the variable, or the default on this host."""
    return (url or Remote().url).rstrip("/")


def perform(
    url: str | None, token: str | None, work: Callable[[Penstock], Awaitable[T]], patience: Patience = PATIENCE
) -> T:

    async def within() -> T:
        async with _client(url, token, patience) as api:
            return await work(api)

    with answered(address(url)):
        return asyncio.run(within())


@contextmanager
def answered(where: str) -> Iterator[None]:
    """Turn errors of the service into a message and an exit code."""
    try:
        yield
    except Problem as problem:
        if problem.code == "not_authenticated":
            raise error_exit(
                f"{where} refused the request as not authenticated: {LOG_IN}.", exit_codes.NOT_AUTHENTICATED
            ) from None
        code = exit_codes.NOT_AUTHENTICATED if problem.code == "invalid_credentials" else exit_codes.REFUSED
        code = exit_codes.UNREACHABLE if problem.code == "no_problem_document" else code
        raise error_exit(_told(problem), code) from None
    except NotFound as error:
        raise error_exit(error, exit_codes.REFUSED) from None
    except Unreachable as error:
        raise error_exit(f"{error} PENSTOCK_URL or --url say where it is.", exit_codes.UNREACHABLE) from None
    except (tokens.TokensRefused, ValueError) as error:
        raise error_exit(error, exit_codes.CONFIG) from None


async def taken(found: AsyncIterator[T], limit: int) -> list[T]:
    first: list[T] = []
    async for one in found:
        first.append(one)
        if len(first) >= limit:
            break
    return first


def complete_run(ctx: typer.Context, incomplete: str) -> list[str]:
    runs = _quietly(ctx, lambda api: taken(api.run_rows(limit=200), 200))
    names = [name for run in runs for name in (run.id, run.business_key) if name is not None]
    return [name for name in names if name.startswith(incomplete)]


def complete_vertical(ctx: typer.Context, incomplete: str) -> list[str]:
    found = _quietly(ctx, lambda api: taken(api.templates(), 1_000))
    return [one.vertical for one in found if one.vertical.startswith(incomplete)]


def complete_webhook(ctx: typer.Context, incomplete: str) -> list[str]:
    found = _quietly(ctx, lambda api: taken(api.webhooks(), 1_000))
    return [one.id for one in found if one.id.startswith(incomplete)]


def complete_notification(ctx: typer.Context, incomplete: str) -> list[str]:
    found = _quietly(ctx, lambda api: taken(api.notifications(), 1_000))
    return [one.id for one in found if one.id.startswith(incomplete)]


def complete_connector(ctx: typer.Context, incomplete: str) -> list[str]:
    found = _quietly(ctx, lambda api: taken(api.connectors(), 1_000))
    return [one.tool_id for one in found if one.tool_id.startswith(incomplete)]


def _client(url: str | None, token: str | None, patience: Patience) -> Penstock:
    remote, where = Remote(), address(url)
    known = token or remote.penstock_token or tokens.read(remote.tokens_file).get(where, "")
    return Penstock(where, known, patience=patience)


def _quietly(ctx: typer.Context, work: Callable[[Penstock], Awaitable[list[T]]]) -> list[T]:
    """Values for shell completion; none if the service does not answer at once."""

    async def within() -> list[T]:
        async with _client(ctx.params.get("url"), ctx.params.get("token"), Patience(tries_max=1)) as api:
            return await work(api)

    try:
        return asyncio.run(asyncio.wait_for(within(), 2.0))
    except (Problem, Unreachable, tokens.TokensRefused, ValueError, TimeoutError):
        return []


def _told(problem: Problem) -> str:
    """The sentence of a refusal; of several findings all, a line each."""
    found = problem.more.get("errors") or ()
    lines = [f"{one['pointer']}: {one['detail']}" for one in found]
    return problem.detail if len(lines) < 2 else "\n".join(("Not valid:", *lines))  # noqa: PLR2004
