"""Checks URLs before connectors are tested and webhooks are stored."""

from __future__ import annotations

from daemon.connectors.egress import EgressGuard, EgressRefused
from daemon.connectors.origin import BadUrl

LOOPBACK = ("127.0.0.1", "::1")


class UrlPolicy:
    """What a URL tells without a look-up; the guard checks its addresses again at each call."""

    def __init__(self, guard: EgressGuard) -> None:
        self._guard = guard

    def mistake(self, text: str) -> str | None:
        """Why a URL can never be called; None when it depends on this installation."""
        try:
            self._guard.check_url(text)
        except BadUrl as bad:
            return str(bad)
        except EgressRefused:
            return None
        return None

    def refusal(self, text: str) -> str | None:
        """Why a URL must not be called from here; None when only a look-up of its host can tell."""
        try:
            url = self._guard.check_url(text)
            host = (url.raw_host or "").lower().removesuffix(".")
            if host == "localhost" or host.endswith(".localhost"):
                self._check_loopback(url.port or 0)
        except (BadUrl, EgressRefused) as refused:
            return str(refused)
        return None

    def _check_loopback(self, port: int) -> None:
        """Raise the refusal of both loopback addresses; none if one of them may be called."""
        refusals: list[EgressRefused] = []
        for address in LOOPBACK:
            try:
                self._guard.check(address, port)
            except EgressRefused as refused:
                refusals.append(refused)
        if len(refusals) == len(LOOPBACK):
            raise refusals[0]
