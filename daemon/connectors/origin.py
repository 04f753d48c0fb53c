"""URL parsing for connectors, and the origin a secret belongs to."""

from __future__ import annotations

import re

from yarl import URL

from actors.core.calls import Connector

PORT_MAX = 65_535
_NEVER_IN_A_URL = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}]")


class BadUrl(ValueError):
    """The text is no URL that may be called; the message says why."""


def parse_url(text: str) -> URL:
    """Parse a URL, unchanged when it is ASCII; BadUrl when it must never be called."""
    if _NEVER_IN_A_URL.search(text):
        raise BadUrl("The URL holds a character that a URL may not hold.")
    try:
        plain = URL(text)
        url = URL(text, encoded=True) if text.isascii() else plain
        host, port = url.raw_host, url.port
    except ValueError:
        raise BadUrl("The text is no URL.") from None
    if url.scheme not in ("http", "https"):
        raise BadUrl("Only http and https URLs can be called.")
    if not host or "%" in host:
        raise BadUrl("The URL names no host, or one with an escape or a zone in it.")
    if "[" in url.raw_authority and ":" not in host:
        raise BadUrl("The host in brackets is no IPv6 address.")
    if port is None or not 0 < port <= PORT_MAX:
        raise BadUrl("The port of the URL is no port.")
    if "@" in url.raw_authority:
        raise BadUrl("The URL names a user; credentials belong into the secret.")
    if "#" in text:
        raise BadUrl("The URL has a fragment, which is never sent.")
    return url


def origin(text: str) -> tuple[str, str, int]:
    """Scheme, host and port in a form in which equal origins compare equal; BadUrl when invalid."""
    url = parse_url(text)
    plain = url if not text.isascii() else URL(text)
    return plain.scheme, (plain.raw_host or "").lower(), plain.port or 0


def same_recipient(one: Connector, other: Connector) -> bool:
    """Whether the secrets of both go to the same place, in the same form, for the same tokens."""
    keys = (one.auth_type == "mtls") == (other.auth_type == "mtls")
    return keys and _client(one) == _client(other) and same_origin(one.base_url, other.base_url)


def _client(one: Connector) -> tuple[str | None, ...]:
    """What a client secret is used for; a token may do more with another scope."""
    return one.token_url, one.client_id, one.scope, one.audience


def same_origin(one: str, other: str) -> bool:
    """Whether two URLs have the same scheme, host and port; an invalid URL has no origin."""
    try:
        return origin(one) == origin(other)
    except BadUrl:
        return False
