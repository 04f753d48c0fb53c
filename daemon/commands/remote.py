"""What the commands over HTTP share: which service, as whom, and how they say what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

import typer

from daemon.client import Patience, Penstock, Problem, Unreachable
from daemon.commands import tokens
from daemon.commands.base import refused
from daemon.commands.display import clean
from daemon.runtime import exit_codes
from daemon.settings import Remote

T = TypeVar("T")
Url = Annotated[str | None, typer.Option("--url", help="Address of the service; else PENSTOCK_URL.")]
Token = Annotated[str | None, typer.Option("--token", help="Token; else PENSTOCK_TOKEN, or that of the last log-in.")]
# Somebody waits at a terminal, and would rather be told.
PATIENCE = Patience(tries_max=4, total_s=15.0)
LOG_IN = "log in with penstock login, or set PENSTOCK_TOKEN"


def address(url: str | None) -> str:
    """The address of the service: the flag, else the variable, else this machine."""
    return (url or Remote().penstock_url).rstrip("/")


def perform(
    url: str | None, token: str | None, work: Callable[[Penstock], Awaitable[T]], patience: Patience = PATIENCE
) -> T:
    """Do something with a service, as whoever the token stands for."""

    async def within() -> T:
        async with _client(url, token, patience) as api:
            return await work(api)

    with answered(address(url)):
        return asyncio.run(within())


@contextmanager
def answered(where: str) -> Iterator[None]:
    """Turn whatever goes wrong with the service at an address into a sentence and an exit code."""
    try:
        yield
    except Problem as problem:
        if problem.code == "not_authenticated":
            raise refused(
                ValueError(f"{where} does not know who you are: {LOG_IN}."), exit_codes.NOT_AUTHENTICATED
            ) from None
        code = exit_codes.NOT_AUTHENTICATED if problem.code == "invalid_credentials" else exit_codes.REFUSED
        code = exit_codes.UNREACHABLE if problem.code == "no_problem_document" else code
        raise refused(ValueError(clean(problem.detail)), code) from None
    except Unreachable as error:
        raise refused(error, exit_codes.UNREACHABLE) from None
    except (tokens.TokensRefused, ValueError) as error:
        raise refused(error, exit_codes.CONFIG) from None


async def taken(found: AsyncIterator[T], limit: int) -> list[T]:
    """The first entries of a list."""
    first: list[T] = []
    async for one in found:
        first.append(one)
        if len(first) >= limit:
            break
    return first


def complete_run(ctx: typer.Context, incomplete: str) -> list[str]:
    """The ids of the latest runs that begin like this."""
    runs = _quietly(ctx, lambda api: taken(api.runs(limit=200), 200))
    return [run.id for run in runs if run.id.startswith(incomplete)]


def complete_vertical(ctx: typer.Context, incomplete: str) -> list[str]:
    """The verticals that begin like this."""
    found = _quietly(ctx, lambda api: taken(api.templates(), 1_000))
    return [one.vertical for one in found if one.vertical.startswith(incomplete)]


def complete_webhook(ctx: typer.Context, incomplete: str) -> list[str]:
    """The ids of the webhooks that begin like this."""
    found = _quietly(ctx, lambda api: taken(api.webhooks(), 1_000))
    return [one.id for one in found if one.id.startswith(incomplete)]


def _client(url: str | None, token: str | None, patience: Patience) -> Penstock:
    remote, where = Remote(), address(url)
    known = token or remote.penstock_token or tokens.read(remote.tokens_file).get(where, "")
    return Penstock(where, known, patience=patience)


def _quietly(ctx: typer.Context, work: Callable[[Penstock], Awaitable[list[T]]]) -> list[T]:
    """What a completion needs; nothing when the service does not give it at once."""

    async def within() -> list[T]:
        async with _client(ctx.params.get("url"), ctx.params.get("token"), Patience(tries_max=1)) as api:
            return await work(api)

    try:
        return asyncio.run(asyncio.wait_for(within(), 2.0))
    except (Problem, Unreachable, tokens.TokensRefused, ValueError, TimeoutError):
        return []
