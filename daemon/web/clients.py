"""Client addresses behind proxies: X-Forwarded-For and Forwarded (RFC 7239) of trusted proxies."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from aiohttp import web
from multidict import MultiMapping

from daemon.observability.logs import ThrottledLog

Address = IPv4Address | IPv6Address
PREFIX_BITS = 64
KEPT = 4_096
# An address with or without a port: 192.0.2.1, 192.0.2.1:80, [2001:db8::1]:80, 2001:db8::1.
_NODE = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::[0-9]{1,5})?|(?P<bare>[0-9A-Fa-f:.]+)")
# To its closing quote, or to the end: a search for the closing one would begin at every quote.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*("?)')
_ESCAPED = re.compile(r"\\(.)")


class Clients:
    """Finds the address of a client in front of trusted proxies: networks between commas."""

    def __init__(self, trusted: str) -> None:
        self._trusted = [ip_network(item) for item in filter(None, map(str.strip, trusted.split(",")))]
        self._log = ThrottledLog("proxy_not_trusted")

    def address(self, request: web.Request) -> str:
        return self.find_address(request.remote or "", request.headers)

    def prefix(self, request: web.Request) -> str:
        """The network that a client can choose its addresses from."""
        return prefix_of(self.address(request))

    def is_near(self, address: str) -> bool:
        """Whether an address is this machine's, or a trusted proxy's: many clients may share it."""
        peer = _parsed(address)
        return peer is None or peer.is_loopback or self._is_trusted(peer)

    def find_address(self, remote: str, headers: MultiMapping[str]) -> str:
        """The right-most address that is no trusted proxy's; the peer's where there is none.

        Where the headers lead to different addresses, the proxy wrote only one: neither counts.
        """
        peer = _parsed(remote)
        if peer is None or not self._is_trusted(peer):
            if not self._trusted and peer is not None and peer.is_private and not headers.keys().isdisjoint(_HEADERS):
                self._log.warn(address=remote, hint="name the proxy in PENSTOCK_TRUSTED_PROXIES")
            return remote
        lists = [hops_of(",".join(headers.getall(name, ()))) for name, hops_of in _HEADERS.items()]
        told = {self._walk(peer, hops) for hops in lists if hops}
        return str(told.pop()) if len(told) == 1 else str(peer)

    def _walk(self, peer: Address, hops: list[str]) -> Address:
        seen = peer
        for hop in reversed(hops):
            address = _parsed(hop)
            if address is None or not self._is_trusted(seen):
                break
            seen = address
        return seen

    def _is_trusted(self, address: Address) -> bool:
        return any(address in network for network in self._trusted)


CLIENTS = web.AppKey("clients", Clients)


@lru_cache(KEPT)
def prefix_of(address: str) -> str:
    """The /64 of an IPv6 address, which one client has whole; an IPv4 address as it is."""
    parsed = _parsed(address)
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, PREFIX_BITS), strict=False))
    return address if parsed is None else str(parsed)


def _forwarded_for(text: str) -> list[str]:
    return [hop.strip() for hop in text.split(",")] if text else []


def _forwarded(text: str) -> list[str]:
    """The `for` of each hop; an empty one for a hop that names none, or more than one."""
    if not all(quoted[1] for quoted in _QUOTED.finditer(text)):
        return [""]  # a quote that is not closed: nobody knows where a hop begins
    return [_for_of(hop) for hop in _split(text, ",")] if text else []


def _for_of(hop: str) -> str:
    pairs = [pair.partition("=") for pair in _split(hop, ";")]
    named = [value.strip() for name, _, value in pairs if name.strip().lower() == "for"]
    if len(named) != 1:
        return ""
    return _ESCAPED.sub(r"\1", named[0][1:-1]) if _QUOTED.fullmatch(named[0]) else named[0]


def _split(text: str, separator: str) -> list[str]:
    """The pieces between separators that stand outside of quotes."""
    bare = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)
    ends = [at for at, character in enumerate(bare) if character == separator]
    return [text[begin:end] for begin, end in zip([0, *(at + 1 for at in ends)], [*ends, len(text)], strict=True)]


_HEADERS = {"X-Forwarded-For": _forwarded_for, "Forwarded": _forwarded}


def _parsed(text: str) -> Address | None:
    """The address that a hop names; None for `unknown`, a hidden name, or anything that is none."""
    node = _NODE.fullmatch(text.strip())
    if node is None:
        return None
    try:
        return _address(node["six"] or node["four"] or node["bare"])
    except ValueError:
        return None


@lru_cache(KEPT)
def _address(text: str) -> Address:
    """The address, IPv4 where IPv6 only carries it; ValueError where it is none."""
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


CLIENTS = web.AppKey("clients", Clients)
