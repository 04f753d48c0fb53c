"""`penstock doctor`."""

from __future__ import annotations

import json
import platform
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from daemon.commands.base import AsJson, DataDir, echo, mistakes, without_none
from daemon.doctor import environment
from daemon.doctor.database import contents
from daemon.doctor.environment import Check, State, mail, problem, single_sign_on, warning
from daemon.observability.logs import without_secrets
from daemon.runtime import exit_codes
from daemon.runtime.clock import utc_now
from daemon.settings import Settings

# The worst first.
FINDINGS: tuple[State, ...] = ("problem", "warning")


UNIT = Path("/etc/penstock/penstock.env")
"""The EnvironmentFile of the systemd unit."""
EnvironmentFile = Annotated[
    Path | None,
    typer.Option(help=f"File of variables that the service starts with, such as the unit's {UNIT}.", dir_okay=False),
]


def doctor(data_dir: DataDir = None, env_file: EnvironmentFile = None, as_json: AsJson = False) -> None:
    """Check settings, versions, data folder, keys and database, findings first. Changes nothing."""
    checks = list(environment.variables())
    settings: dict[str, Any] = {}
    try:
        effective = Settings(_env_file=env_file, **without_none(data_dir=data_dir))
    except ValidationError as error:
        checks += [problem("settings", sentence, "correct or remove it") for sentence in mistakes(error)]
    else:
        settings = without_secrets(effective.model_dump(mode="json"))
        checks += [*environment.versions(), *environment.folder(effective.data_dir)]
        if env_file is None and UNIT.exists():
            text = f"this looks at the variables of the shell, and the service is started with {UNIT}"
            checks.append(warning("settings", text, f"add --env-file {UNIT} and the --data-dir of the unit"))
        unread = [*environment.beside(effective)]
        checks += [
            *environment.keys(effective),
            *contents(effective, utc_now()),
            *unread,
            *mail(effective),
            *(() if any(one.name == "settings" for one in unread) else single_sign_on(effective)),
        ]
    checks.sort(key=lambda one: (*FINDINGS, "ok").index(one.state))
    well = not any(check.state == "problem" for check in checks)
    echo(_as_json(checks, settings, well=well) if as_json else _as_text(checks, settings))
    raise typer.Exit(0 if well else exit_codes.REFUSED)


def _as_text(checks: Sequence[Check], settings: dict[str, Any]) -> str:
    """What is wrong and what to do about it first, then what is well, then the settings."""
    counts = [
        f"{number} {state}{'' if number == 1 else 's'}" for state in FINDINGS if (number := _count(checks, state))
    ]
    head = f"{' and '.join(counts)}:" if counts else "Nothing is wrong."
    found = (f"{one.state:<8} {one.name}: {one.text}{f' → {one.hint}' if one.hint else ''}" for one in checks)
    values = (f"{'setting':<8} {name} = {value}" for name, value in settings.items())
    return "\n".join((head, *found, *values))


def _count(checks: Sequence[Check], state: State) -> int:
    return sum(one.state == state for one in checks)


def _as_json(checks: Sequence[Check], settings: dict[str, Any], *, well: bool) -> str:
    versions = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version, **environment.installed()}
    found = [{"name": one.name, "state": one.state, "text": one.text, "hint": one.hint} for one in checks]
    return json.dumps({"ok": well, "checks": found, "settings": settings, "versions": versions}, indent=2)
