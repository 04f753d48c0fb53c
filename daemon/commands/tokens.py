"""Stored login tokens, by the address of their service."""

from __future__ import annotations

import json
import os
import secrets
import stat
from pathlib import Path

from daemon.runtime.durable_files import make_folder

OTHERS = stat.S_IRWXG | stat.S_IRWXO


class TokensRefused(Exception):
    """The token file cannot be used; the text says why."""


def read(path: Path) -> dict[str, str]:
    try:
        if path.stat().st_mode & OTHERS:
            raise TokensRefused(f"{path} can be read by others: chmod 600 {path}, and log in again.")
        kept = json.loads(path.read_bytes())
        return {str(url): str(token) for url, token in kept.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise TokensRefused(f"{path} is not a valid token file ({error}): remove it, and log in again.") from error


def keep(path: Path, url: str, token: str | None) -> None:
    """Store a token for an address, or delete it with None; only the owner can read the file."""
    tokens = {**read(path), url: token}
    try:
        make_folder(path.parent)
        beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({address: one for address, one in tokens.items() if one is not None}, file, indent=2)
        beside.replace(path)
    except OSError as error:
        raise TokensRefused(f"{path} cannot be written: {error}.") from error
