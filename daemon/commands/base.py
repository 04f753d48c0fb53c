"""Shared by the commands: settings, output, errors."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from pydantic import ValidationError
from rich.console import Console

from actors.ports import StoreFailed
from daemon.keys.commit_keys import CommitKeys, open_commit_keys
from daemon.keys.keyring import KeyFileRefused, KeyRing
from daemon.model import FolderInUse
from daemon.runtime import exit_codes
from daemon.runtime.terminal import clean_lines
from daemon.settings import Settings, renamed_variables
from daemon.stores.sqlite.connection import DATABASE

# OSError numbers caused by the disk, not by the settings.
OF_THE_DISK = frozenset({errno.EIO, errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EFBIG, errno.ENXIO, errno.ESTALE})

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder of the database and the keys.")]

_err = Console(stderr=True, soft_wrap=True)


def settings_of(**flags: Any) -> Settings:
    """The settings: flags first, then the environment, then the defaults."""
    for old, new in (renamed := renamed_variables()).items():
        _err.print(f"penstock: {old} is now {new}", markup=False, highlight=False)
    if renamed:
        raise typer.Exit(exit_codes.CONFIG)
    try:
        return Settings(**without_none(**flags))
    except ValidationError as error:
        for sentence in mistakes(error):
            _err.print(f"penstock: {sentence}", markup=False, highlight=False)
        raise typer.Exit(exit_codes.CONFIG) from None


def without_password(url: str | None) -> str | None:
    """A database URL from an argument, which every user of the machine can see."""
    if url is not None and urlsplit(url).password:
        raise error_exit(
            "a password does not belong on the command line: set PENSTOCK_DATABASE_URL instead", exit_codes.CONFIG
        )
    return url


def without_none(**flags: Any) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def mistakes(error: ValidationError) -> list[str]:
    """A sentence for each invalid setting, without its value."""
    found = error.errors(include_url=False, include_input=False)
    names = ("".join(f"PENSTOCK_{str(name).upper()}: " for name in one["loc"]) for one in found)
    return [f"{name}{one['msg'].removeprefix('Value error, ')}" for name, one in zip(names, found, strict=True)]


def echo(text: str, *, err: bool = False) -> None:
    """Print lines, with control characters of others escaped."""
    typer.echo(clean_lines(text), err=err)


def commit_keys_of(settings: Settings) -> CommitKeys:
    """The keys of commits of a stopped service; KeyFileRefused where there is no database."""
    database = settings.data_dir / DATABASE
    if settings.database_url is None and not database.exists():
        raise KeyFileRefused(f"{database} does not exist, so the needed keys are unknown")
    return open_commit_keys(settings)


def print_result(document: Mapping[str, Any], sentence: str, *, as_json: bool) -> None:
    echo(json.dumps(document, indent=2, ensure_ascii=False) if as_json else sentence)


def ring_document(path: Path, ring: KeyRing) -> dict[str, Any]:
    return {"file": str(path), "current": ring.current, "keys": list(ring.keys)}


def error_exit(error: Exception | str, code: int | None = None) -> typer.Exit:
    """Print the error; returns the exit with `code`, or with that of disk or settings errors."""
    _err.print(f"penstock: {clean_lines(message_of(error))}", markup=False, highlight=False)
    if code is None:
        code = exit_codes.STORE_FAILED if _of_the_store(error) else exit_codes.CONFIG
    return typer.Exit(code)


def message_of(error: Exception | str) -> str:
    """The message of an error; for a file, its name and the reason."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _of_the_store(error: BaseException | str | None) -> bool:
    """Whether the disk or the database is the cause, so that a retry may succeed."""
    match error:
        case FolderInUse():
            return False
        case StoreFailed():
            return True
        case OSError(errno=int(number)):
            return number in OF_THE_DISK
        case KeyFileRefused():
            return _of_the_store(error.__cause__)
        case _:
            return False
