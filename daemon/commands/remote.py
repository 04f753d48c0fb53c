"""Shared by the commands that call the service: address, stored token, errors, completion."""

from __future__ import annotations

import asyncio
import inspect
import json
import stat
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar, get_args

import typer
from pydantic import BaseModel
from rich.console import RenderableType
from typer.models import OptionInfo

from daemon.client import AwaitsApproval, Patience, Penstock, Problem, Unreachable
from daemon.commands import display
from daemon.commands.base import AsJson, error_exit, message_of, print_result
from daemon.runtime import exit_codes
from daemon.runtime.durable_files import make_folder, write_beside
from daemon.runtime.terminal import clean
from daemon.settings import Remote

OTHERS = stat.S_IRWXG | stat.S_IRWXO


class TokensRefused(Exception):
    """The token file cannot be used; the text says why."""


def stored_tokens(path: Path) -> dict[str, str]:
    try:
        if path.stat().st_mode & OTHERS:
            raise TokensRefused(f"{path} can be read by others: chmod 600 {path}, and log in again.")
        kept = json.loads(path.read_bytes())
        return {str(url): str(token) for url, token in kept.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise TokensRefused(f"{path} is not a valid token file ({error}): remove it, and log in again.") from error


def keep_token(path: Path, url: str, token: str | None) -> None:
    """Store a token for an address, or delete it with None; only the owner can read the file."""
    tokens = {**stored_tokens(path), url: token}
    known = {address: one for address, one in tokens.items() if one is not None}
    try:
        make_folder(path.parent)
        write_beside(path, json.dumps(known, indent=2).encode(), 0o600).replace(path)
    except OSError as error:
        raise TokensRefused(f"{path} cannot be written: {error}.") from error


T = TypeVar("T")
P = ParamSpec("P")
Shown = TypeVar("Shown", bound=BaseModel | Sequence[BaseModel])
Url = Annotated[
    str | None,
    typer.Option("--url", help="Address of the service; default: PENSTOCK_URL, or this machine at PENSTOCK_PORT."),
]


def read_token(file: str) -> str:
    """The token in a file, or on standard input: arguments can be seen by every user."""
    try:
        text = sys.stdin.readline() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise typer.BadParameter(message_of(error)) from None
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
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
LISTED_MAX = 10_000
# Somebody waits at a terminal, and would rather be told.
PATIENCE = Patience(tries_max=4, total_s=15.0)
LOG_IN = "log in with penstock login, or set PENSTOCK_TOKEN"


class NotFound(Exception):
    """Nothing has the name that was given, or more than one thing has; the message says which."""


def address(url: str | None) -> str:
    """The address from the flag, the variable, or the default on this host."""
    return (url or Remote().url).rstrip("/")


@dataclass(frozen=True, slots=True)
class Shell:
    """Which service a command calls, with which token, and whether it prints JSON."""

    as_json: bool
    url: str | None
    token: str | None = None
    flags: Mapping[str, str] = field(default_factory=dict)
    """The options of the command by the names of their values."""

    @property
    def address(self) -> str:
        return address(self.url)

    def perform(self, work: Callable[[Penstock], Awaitable[T]]) -> T:
        """What the service answers to a piece of work; exits with a message where it refuses."""

        async def within() -> T:
            async with _client(self.url, self.token, PATIENCE) as api:
                return await work(api)

        with answered(self.address, self.flags):
            return asyncio.run(within())

    def show(self, found: Shown, render: Callable[[Shown], RenderableType]) -> None:
        """Print what was found, for people or as JSON."""
        if self.as_json:
            display.print_json(found)
        else:
            display.show(render(found))

    def say(self, document: Mapping[str, Any], sentence: str) -> None:
        """Print what was done, as a sentence or as JSON."""
        print_result(document, sentence, as_json=self.as_json)


_OPTIONS = {"as_json": (AsJson, False), "url": (Url, None), "token": (Token, None)}


def calling(function: Callable[Concatenate[Shell, P], None]) -> Callable[..., None]:
    """A command that calls the service: its options, then `--json`, `--url` and `--token-file`."""

    @wraps(function)
    def command(*args: Any, as_json: bool, url: str | None, token: str | None, **options: Any) -> None:
        function(Shell(as_json, url, token, flags), *args, **options)

    _, *own = inspect.signature(function, eval_str=True).parameters.values()
    flags = {one.name: flag for one in own if (flag := _flag_of(one)) is not None}
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for name, (annotation, default) in _OPTIONS.items()
    ]
    command.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]  # typer reads it
    command.__annotations__ = {one.name: one.annotation for one in (*own, *shared)}
    return command


def _flag_of(parameter: inspect.Parameter) -> str | None:
    """The option that a parameter of a command is; None for an argument."""
    about = next((one for one in get_args(parameter.annotation) if isinstance(one, OptionInfo)), None)
    given = () if about is None else about.param_decls or (f"--{parameter.name.replace('_', '-')}",)
    return next((one.partition("/")[0] for one in given if one.startswith("--")), None)


@contextmanager
def answered(where: str, flags: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
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
        raise error_exit(_told(problem, flags), code) from None
    except (NotFound, AwaitsApproval) as error:
        raise error_exit(error, exit_codes.REFUSED) from None
    except Unreachable as error:
        raise error_exit(f"{error} PENSTOCK_URL or --url say where it is.", exit_codes.UNREACHABLE) from None
    except (TokensRefused, ValueError) as error:
        raise error_exit(error, exit_codes.CONFIG) from None


def confirm(yes: bool, question: str, otherwise: str) -> None:
    """Ask before something that cannot be taken back, unless that is answered; exits on a no."""
    if not yes and not typer.confirm(clean(question), err=True):
        raise error_exit(otherwise, exit_codes.REFUSED)


async def taken(found: AsyncIterator[T], limit: int = LISTED_MAX) -> list[T]:
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
    found = _quietly(ctx, lambda api: taken(api.templates()))
    return [one.vertical for one in found if one.vertical.startswith(incomplete)]


def complete_webhook(ctx: typer.Context, incomplete: str) -> list[str]:
    found = _quietly(ctx, lambda api: taken(api.webhooks()))
    return [one.id for one in found if one.id.startswith(incomplete)]


def complete_notification(ctx: typer.Context, incomplete: str) -> list[str]:
    found = _quietly(ctx, lambda api: taken(api.notifications()))
    return [one.id for one in found if one.id.startswith(incomplete)]


def complete_connector(ctx: typer.Context, incomplete: str) -> list[str]:
    found = _quietly(ctx, lambda api: taken(api.connectors()))
    return [one.tool_id for one in found if one.tool_id.startswith(incomplete)]


def _client(url: str | None, token: str | None, patience: Patience) -> Penstock:
    remote, where = Remote(), address(url)
    known = token or remote.penstock_token or stored_tokens(remote.tokens_file).get(where, "")
    return Penstock(where, known, patience=patience)


def _quietly(ctx: typer.Context, work: Callable[[Penstock], Awaitable[list[T]]]) -> list[T]:
    """Values for shell completion; none if the service does not answer at once."""

    async def within() -> list[T]:
        async with _client(ctx.params.get("url"), ctx.params.get("token"), Patience(tries_max=1)) as api:
            return await work(api)

    try:
        return asyncio.run(asyncio.wait_for(within(), 2.0))
    except (Problem, Unreachable, TokensRefused, ValueError, TimeoutError):
        return []


def _told(problem: Problem, flags: Mapping[str, str]) -> str:
    """The sentence of a refusal; of several findings all, each with its option."""
    found = problem.more.get("errors") or ()
    lines = [f"{one['pointer']}: {one['detail']}{_option(one['pointer'], flags)}" for one in found]
    if len(lines) > 1:
        return "\n".join(("Not valid:", *lines))
    return f"Not valid at {lines[0]}." if lines and problem.code == "invalid" else problem.detail


def _option(pointer: str, flags: Mapping[str, str]) -> str:
    """The option that gives the value at a pointer, in brackets; nothing where none does."""
    name = pointer.split("/")[1] if "/" in pointer else ""
    flag = flags.get(name) or flags.get(name.removesuffix("s")) or flags.get(name.removesuffix("_at"))
    return "" if flag is None else f" ({flag})"
