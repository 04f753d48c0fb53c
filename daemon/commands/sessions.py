"""`penstock sessions`: end what somebody's log-ins began."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from actors.ports import StoreFailed
from daemon.commands.base import AsJson, DataDir, commit_keys_of, error_exit, print_result, settings_of
from daemon.identity.second_factors import ChangeOrigin, end_second_factor
from daemon.identity.sessions import COMMAND, OPERATOR, Lifetimes, end_all
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyFileRefused
from daemon.model import SchemaMismatch
from daemon.runtime import exit_codes
from daemon.runtime.background import Background
from daemon.runtime.clock import utc_now
from daemon.runtime.durable_files import as_owner
from daemon.settings import Settings
from daemon.stores.factory import open_store

sessions = typer.Typer(help="The sessions of users.", no_args_is_help=True)


@sessions.callback()
def group() -> None:
    """The sessions of users."""


@sessions.command("end")
def end(
    email: Annotated[str, typer.Option(help="E-mail address of the account.")],
    second_factor: Annotated[bool, typer.Option("--second-factor", help="Remove the second factor, too.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """End all sessions of a user. With SQLite the service must be stopped."""
    settings = settings_of(data_dir=data_dir)
    try:
        keys = commit_keys_of(settings)
        with as_owner(settings.data_dir):
            ended = asyncio.run(_end(settings, keys, email, second_factor))
    except (StoreFailed, SchemaMismatch, KeyFileRefused, OSError) as error:
        raise error_exit(error) from None
    if not ended:
        raise error_exit(f"{email} has no account", exit_codes.REFUSED)
    print_result({"email": email, "ended": True}, f"all sessions of {email} have ended", as_json=as_json)


async def _end(settings: Settings, keys: CommitKeys, email: str, second_factor: bool) -> bool:
    stop, background = _nothing, Background(stop=_nothing)
    async with open_store(settings, keys=keys, on_failed=stop, metrics=None, background=background) as (store, _):
        account = await store.account_by_email(email)
        if account is not None and second_factor:
            await end_second_factor(store, account.user, "reset", ChangeOrigin(OPERATOR, COMMAND), utc_now)
        return await end_all(store, email, Lifetimes.from_settings(settings), utc_now)


def _nothing() -> None:
    """A store that fails raises here; there is no service to stop."""
