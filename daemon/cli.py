"""The command line."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import structlog
import typer

from actors.ports import StoreFailed
from daemon import __version__
from daemon import demo as demonstration
from daemon.commands import audit, connectors, gates, keys, retention, sessions, templates
from daemon.commands.backup import backup, restore
from daemon.commands.base import AsJson, DataDir, echo, error_exit, print_result, settings_of, without_password
from daemon.commands.doctor import doctor
from daemon.commands.migrate import migrate
from daemon.commands.people import members as people
from daemon.commands.people import session
from daemon.commands.people.api_keys import api_keys
from daemon.commands.people.autonomy import autonomy
from daemon.commands.people.calendar import calendar
from daemon.commands.people.companies import companies
from daemon.commands.people.delegations import delegations
from daemon.commands.people.groups import groups
from daemon.commands.sending.notifications import notifications
from daemon.commands.sending.webhooks import webhooks
from daemon.keys.keyring import KeyFileRefused
from daemon.mcp.command import mcp
from daemon.model import SchemaMismatch
from daemon.observability import logs
from daemon.settings import unknown_variables
from daemon.templates.loading import TemplateRefused

try:
    from uvloop import new_event_loop
except ImportError:  # the extra `speed` is not installed
    from asyncio import new_event_loop  # type: ignore[assignment]


def _print_version(asked: bool) -> None:
    if asked:
        echo(__version__)
        raise typer.Exit


app = typer.Typer(
    name="penstock",
    help="Governed processes: what is safe flows, everything else waits at a gate for a human.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def main(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Governed processes: what is safe flows, everything else waits at a gate for a human."""


app.add_typer(keys.tokens, name="keys")
app.add_typer(keys.secrets, name="secrets")
app.add_typer(keys.commits, name="commits")
app.command()(backup)
app.command()(restore)
app.command()(doctor)
app.command()(migrate)
app.command()(mcp)
app.command()(audit.verify)
app.add_typer(audit.audit, name="audit")
app.command("register")(session.register_company)
app.command()(session.login)
app.command()(session.logout)
app.command()(people.whoami)
app.add_typer(people.members, name="members")
app.add_typer(groups, name="groups")
app.add_typer(autonomy, name="autonomy")
app.add_typer(calendar, name="calendar")
app.add_typer(delegations, name="delegations")
app.add_typer(companies, name="companies")
app.add_typer(sessions.sessions, name="sessions")
app.add_typer(retention.commands, name="runs")
app.command()(gates.inbox)
app.add_typer(gates.gates, name="gates")
app.add_typer(templates.templates, name="templates")
app.add_typer(connectors.connectors, name="connectors")
app.add_typer(webhooks, name="webhooks")
app.add_typer(notifications, name="notifications")
app.add_typer(api_keys, name="api-keys")


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 picks a free port.")] = None,
    data_dir: DataDir = None,
    database_url: Annotated[
        str | None,
        typer.Option(
            callback=without_password,
            help="A PostgreSQL database that daemons share, instead of SQLite; without its password.",
        ),
    ] = None,
    templates_dir: Annotated[Path | None, typer.Option(help="Folder with more templates.")] = None,
    trusted_proxies: Annotated[
        str | None, typer.Option(help="Networks of proxies whose X-Forwarded-For or Forwarded header is trusted.")
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
) -> None:
    """Serve in the foreground until SIGTERM, then drain. Each flag has a PENSTOCK_ variable."""
    settings = settings_of(
        host=host,
        port=port,
        data_dir=data_dir,
        database_url=database_url,
        templates_dir=templates_dir,
        trusted_proxies=trusted_proxies,
        log_level=log_level,
    )
    from daemon.app import serve as serve_until_stopped  # noqa: PLC0415 - takes 0.4 s, and no other command needs it

    logs.configure(settings.log_level)
    for name, meant in unknown_variables().items():
        structlog.get_logger("penstock").warning("unknown_setting", variable=name, meant=meant)
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            _leave(runner.run(serve_until_stopped(settings, _announce)))
    except (StoreFailed, SchemaMismatch, TemplateRefused, KeyFileRefused, OSError, ValueError) as error:
        raise error_exit(error) from None


@app.command()
def demo() -> None:
    """Start a temporary service on a free port, and drive a process from start to end."""
    raise typer.Exit(demonstration.run())


@app.command()
def version(as_json: AsJson = False) -> None:
    """Print the version."""
    print_result({"version": __version__}, __version__, as_json=as_json)


def _leave(code: int) -> NoReturn:
    """Exit without waiting for threads: a DNS lookup cannot be cancelled, and may take long."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _announce(address: str) -> None:
    sys.stdout.write(f"{demonstration.READY}{address}\n")
    sys.stdout.flush()
