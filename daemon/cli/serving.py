"""`penstock serve`, and the demo that serves for as long as it takes."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import structlog
import typer

from actors.ports import StoreFailed
from daemon import demo as demonstration
from daemon.app import serve as serve_until_stopped
from daemon.commands.base import DataDir, error_exit, settings_of, without_password
from daemon.keys.keyring import KeyFileRefused
from daemon.model import SchemaMismatch
from daemon.observability import logs
from daemon.settings import unknown_variables
from daemon.templates.loading import TemplateRefused

try:
    from uvloop import new_event_loop
except ImportError:  # the extra `speed` is not installed
    from asyncio import new_event_loop  # type: ignore[assignment]


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
    logs.configure(settings.log_level)
    for name, meant in unknown_variables().items():
        structlog.get_logger("penstock").warning("unknown_setting", variable=name, meant=meant)
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            _leave(runner.run(serve_until_stopped(settings, _announce)))
    except (StoreFailed, SchemaMismatch, TemplateRefused, KeyFileRefused, OSError, ValueError) as error:
        raise error_exit(error) from None


def demo() -> None:
    """Start a temporary service on a free port, and drive a process from start to end."""
    raise typer.Exit(demonstration.run())


def _leave(code: int) -> NoReturn:
    """Exit without waiting for threads: a DNS lookup cannot be cancelled, and may take long."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _announce(address: str) -> None:
    sys.stdout.write(f"{demonstration.READY}{address}\n")
    sys.stdout.flush()
