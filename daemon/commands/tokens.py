"""Stored login tokens, by the address of their service."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from daemon.runtime.durable_files import make_folder, write_beside

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
    known = {address: one for address, one in tokens.items() if one is not None}
    try:
        make_folder(path.parent)
        write_beside(path, json.dumps(known, indent=2).encode(), 0o600).replace(path)
    except OSError as error:
        raise TokensRefused(f"{path} cannot be written: {error}.") from error
