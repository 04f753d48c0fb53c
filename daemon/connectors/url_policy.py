"""Checks URLs before connectors and webhooks are stored."""

from __future__ import annotations

import asyncio
import socket

from aiohttp.abc import AbstractResolver

from daemon.connectors.egress import EgressGuard, EgressRefused, is_address
from daemon.connectors.origin import BadUrl

RESOLVE_S = 5.0


class UrlPolicy:
    """Checks the URL of a connector before it is stored; the guard checks again at each call."""

    def __init__(self, guard: EgressGuard, resolver: AbstractResolver, resolve_s: float = RESOLVE_S) -> None:
        self._guard = guard
        self._resolver = resolver
        self._resolve_s = resolve_s

    def mistake(self, text: str) -> str | None:
        """Why a URL can never be called; None when it depends on this installation."""
        try:
            self._guard.check_url(text)
        except BadUrl as bad:
            return str(bad)
        except EgressRefused:
            return None
        return None

    async def refusal(self, text: str) -> str | None:
        """Why a URL must not be called; None when it may, or when its host is not found in time."""
        try:
            url = self._guard.check_url(text)
            host = url.raw_host or ""
            if not is_address(host):
                async with asyncio.timeout(self._resolve_s):
                    found = await self._resolver.resolve(host, url.port or 0, socket.AF_UNSPEC)
                self._guard.check_name(host, [one["host"] for one in found])
        except (BadUrl, EgressRefused) as refused:
            return str(refused)
        except (OSError, UnicodeError):
            return None
        return None
