"""A place outside, which is offered each new checkpoint of the service and never gives one back."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import structlog

from actors.ports import StoreFailed
from daemon.model.audit_events import SERVICE
from daemon.model.evidence import StoredCheckpoint
from daemon.runtime.durable_files import sync_folder
from daemon.stores.store import Store

OFFERED_S = 1.0
FILE = "checkpoints.jsonl"
Post = Callable[[str, dict[str, Any]], Awaitable[str | None]]
"""Sends JSON to a URL; returns why it was not taken, or None."""
_log = structlog.get_logger("penstock")


class Witness:
    """Offers the newest checkpoint of the service, which covers all companies, once a second."""

    def __init__(self, url: str, store: Store, post: Post) -> None:
        """`url` takes checkpoints by POST, or is a folder: `file:///mnt/witness`."""
        self._url = url
        self._store = store
        self._post = post
        self._offered: StoredCheckpoint | None = None
        self._refusal: str | None = None

    async def run_once(self) -> None:
        try:
            newest = await self._store.checkpoints(SERVICE, None, 1)
        except StoreFailed:
            return
        if newest and newest[0] != self._offered:
            refusal = await self._offer(newest[0].document())
            self._turned(refusal)
            if refusal is None:
                self._offered = newest[0]

    async def _offer(self, document: dict[str, Any]) -> str | None:
        if not self._url.startswith("file:"):
            return await self._post(self._url, document)
        try:
            await asyncio.to_thread(_append, Path(unquote(urlsplit(self._url).path)), document)
        except OSError as error:
            return str(error)
        return None

    def _turned(self, refusal: str | None) -> None:
        """Log when the witness takes no more, and when it does again."""
        if refusal is not None and self._refusal is None:
            _log.warning("witness_failed", reason=refusal, hint="it is offered the newest checkpoint each second")
        elif refusal is None and self._refusal is not None:
            _log.info("witness_recovered")
        self._refusal = refusal


def _append(folder: Path, document: dict[str, Any]) -> None:
    path = folder / FILE
    created = not path.exists()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, json.dumps(document).encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if created:
        sync_folder(folder)
