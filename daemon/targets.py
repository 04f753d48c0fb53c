"""Targets: whether a connector may be tried at an address, asked before the call so that the caller can be told."""

from __future__ import annotations

import socket
from ipaddress import ip_address

from aiohttp import ThreadedResolver

from daemon.connectors.egress import EgressGuard, EgressRefused
from daemon.connectors.origin import BadUrl


class Targets:
    """Asks the guard about a URL and what its host resolves to; the guard at the connection has the last word."""

    def __init__(self, guard: EgressGuard) -> None:
        """Ask this guard."""
        self._guard = guard

    async def refusal(self, text: str) -> str | None:
        """Why a URL may not be called; None when it may, or when its host cannot be found."""
        try:
            url = self._guard.check_url(text)
            host = url.raw_host or ""
            if not _is_address(host):
                self._guard.check_name(host, await _addresses(host, url.port or 0))
        except (BadUrl, EgressRefused) as refused:
            return str(refused)
        except (OSError, UnicodeError):
            return None
        return None


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def _addresses(host: str, port: int) -> list[str]:
    resolver = ThreadedResolver()
    try:
        return [found["host"] for found in await resolver.resolve(host, port, socket.AF_UNSPEC)]
    finally:
        await resolver.close()
