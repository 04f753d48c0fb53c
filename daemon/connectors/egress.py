"""The egress guard: which addresses calls may reach, and how their names are looked up.

The guard checks the address of every connection. aiohttp does not ask the resolver for address
literals, so the rule is enforced when the socket is created; resolver and URL check refuse
earlier, with a better message.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

import structlog
from aiohttp import TCPConnector, ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from actors.context import LOG_CONTEXT
from actors.core.calls import Connector

if TYPE_CHECKING:
    from aiohappyeyeballs import AddrInfoType


T = TypeVar("T")
PORT_MAX = 65_535
URLS_KEPT = 512
_NEVER_IN_A_URL = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}]")


class BadUrl(ValueError):
    """The text is no URL that may be called; the message says why."""


@lru_cache(maxsize=URLS_KEPT)
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


@lru_cache(maxsize=URLS_KEPT)
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


THREADS_MAX = 64
SHARE_MAX = 8


class DnsResolver(AbstractResolver):
    """The system's resolver in a thread pool of which a company gets a limited share.

    A lookup cannot be cancelled: it holds its thread until the system gives up. The default pool of
    the event loop is too small for that.
    """

    def __init__(
        self,
        threads_max: int = THREADS_MAX,
        share_max: int = SHARE_MAX,
        look_up: Callable[..., list[Any]] | None = None,
    ) -> None:
        self._pool = ThreadPoolExecutor(threads_max, "lookup")
        self._share_max = share_max
        self._look_up = look_up or socket.getaddrinfo
        self._shares: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=int(address[1]),
                family=kind,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, _, proto, _, address in await self._found(host, port, family)
            if kind in {socket.AF_INET, socket.AF_INET6}
        ]

    async def close(self) -> None:
        """Start no more lookups; those in progress end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _found(self, host: str, port: int, family: socket.AddressFamily) -> list[Any]:
        share = self._shares.setdefault(
            str(LOG_CONTEXT.get().get("company_id", "")), asyncio.Semaphore(self._share_max)
        )
        await share.acquire()
        loop = asyncio.get_running_loop()

        def give_back(_: Future[Any]) -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
                loop.call_soon_threadsafe(share.release)

        try:
            work = self._pool.submit(self._look_up, host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)
        except RuntimeError:
            share.release()
            raise OSError("no names are looked up any more") from None
        work.add_done_callback(give_back)
        return await asyncio.wrap_future(work)


Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # AWS, Azure, Google, Oracle, DigitalOcean
        "169.254.170.2",  # AWS: tasks
        "169.254.170.23",  # AWS: pods
        "168.63.129.16",  # Azure: the host
        "100.100.100.200",  # Alibaba
        "192.0.0.192",  # Oracle
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS: pods
        "fd20:ce::254",  # Google
    )
)

# From the deny list of Stripe's Smokescreen and IANA's registries; the first match names it.
_DENIED = (
    ("a loopback", "127.0.0.0/8 ::1/128"),
    ("a private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7"),
    ("a link-local", "169.254.0.0/16 fe80::/10"),
    ("a site-local", "fec0::/10"),
    ("a carrier's inner", "100.64.0.0/10"),
    ("an unspecified", "0.0.0.0/8 ::/128"),
    ("a broadcast", "255.255.255.255/32"),
    ("a multicast", "224.0.0.0/4 ff00::/8"),
    ("a benchmark", "198.18.0.0/15 2001:2::/48"),
    ("a documentation", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20"),
    ("an IPv4-mapped", "::ffff:0:0/96 ::ffff:0:0:0/96"),
    ("an IPv4-compatible", "::/96"),
    ("a NAT64", "64:ff9b::/96 64:ff9b:1::/48"),
    ("a 6to4", "2002::/16 192.88.99.0/24"),
    ("a Teredo", "2001::/32"),
    ("a reserved", "192.0.0.0/24 240.0.0.0/4 2001::/23 5f00::/16"),
)
DENIED = tuple((kind, ip_network(text)) for kind, texts in _DENIED for text in texts.split())
GLOBAL_UNICAST = IPv6Network("2000::/3")
CARRIES_IPV4 = tuple(
    IPv6Network(text) for text in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48")
)
PORTS = frozenset({80, 443})
_LOOKS_NUMERIC = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)\.?", re.IGNORECASE)
_log = structlog.get_logger()


class EgressRefused(OSError):
    """The target is refused; an OSError, which aiohttp takes as the failure of one address."""


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parse a list like `127.0.0.0/8, ::1/128`; ValueError names what is invalid."""
    networks: list[Network] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        try:
            networks.append(ip_network(item))
        except ValueError as error:
            raise ValueError(f"{item} is no network such as 10.1.0.0/16 or ::1/128: {error}.") from None
    return tuple(networks)


def parse_ports(text: str) -> frozenset[int]:
    """Parse a list like `80, 443`; ValueError names what is invalid."""
    items = [*filter(None, (part.strip() for part in text.split(",")))]
    for item in items:
        if not (item.isascii() and item.isdecimal() and 0 < int(item) <= PORT_MAX):
            raise ValueError(f"{item} is no port from 1 to {PORT_MAX}.")
    return frozenset(map(int, items))


def parse_hosts(text: str) -> tuple[str, ...]:
    """Parse a list like `api.example.com, *.example.org`; ValueError names what is invalid."""
    hosts: list[str] = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        wild = "*." if item.startswith("*.") else ""
        try:
            url = parse_url(f"http://{item.removeprefix(wild)}/")
        except BadUrl:
            url = None
        if url is None or url.explicit_port is not None or not set(item.removeprefix(wild)).isdisjoint("/?*"):
            raise ValueError(f"{item} is no host name such as api.example.com or *.example.com.")
        hosts.append(wild + _plain(url))
    return tuple(hosts)


class EgressGuard:
    """Refuses addresses outside the public internet, except those that the operator allows."""

    def __init__(
        self, allowed: Sequence[Network] = (), hosts: Sequence[str] = (), ports: frozenset[int] = PORTS
    ) -> None:
        """A metadata address is allowed only as a /32 or /128.

        With `hosts`, every other host is refused, whatever its addresses. `ports` are those of the
        public internet; in an allowed network any port may be called.
        """
        self._allowed = tuple(allowed)
        self._ports = ports
        self._hosts = frozenset(host for host in hosts if not host.startswith("*."))
        self._domains = tuple(host.removeprefix("*") for host in hosts if host.startswith("*."))

    def check(self, address: str, port: int = 443) -> None:
        """Raise EgressRefused unless the address may be called at that port."""
        if (kind := self._refused(address)) is not None:
            raise EgressRefused(f"{address} is {kind}, which may not be called from here.")
        if port not in self._ports and not self._opened(address):
            raise EgressRefused(f"Port {port} may not be called from here.")

    def check_name(self, name: str, addresses: Sequence[str]) -> None:
        """Raise EgressRefused unless there are addresses, and all are allowed.

        One sentence for both: whoever may call nothing inside learns no names from there, either.
        """
        kinds = [kind for address in addresses if (kind := self._refused(address)) is not None]
        if kinds or not addresses:
            _log.debug("name_refused", host=name, reason=kinds[0] if kinds else "no address")
            raise EgressRefused(f"{name} does not resolve to an address that may be called from here.")

    def check_host(self, host: str) -> None:
        """Raise EgressRefused when there is a list of hosts without this one."""
        plain = host.lower().removesuffix(".")
        if (self._hosts or self._domains) and plain not in self._hosts and not plain.endswith(self._domains):
            raise EgressRefused(f"{plain} is not among the hosts that may be called from here.")

    def check_url(self, text: str) -> URL:
        """Parse the URL; BadUrl if invalid, EgressRefused if its host or address is refused."""
        url = parse_url(text)
        host = url.raw_host or ""
        literal = is_address(host)
        if not literal and _LOOKS_NUMERIC.fullmatch(host):
            raise BadUrl(f"{host} is no plain IPv4 address.")
        self.check_host(_plain(url))
        if literal:
            self.check(host, url.port or 0)
        return url

    def opens(self, host: str) -> bool:
        """Whether the operator has opened an address, or listed the hosts that are called."""
        if is_address(host):
            return bool(self._opened(host))
        if host == "localhost" or host.endswith(".localhost"):
            return any(self._opened(one) for one in LOOPBACK)
        return bool(self._hosts or self._domains)

    def socket(self, info: AddrInfoType) -> socket.socket:
        """Create the socket for an address that is about to be connected to."""
        family, kind, proto, _, address = info
        self.check(str(address[0]), int(address[1]))
        return socket.socket(family, kind, proto)

    def _refused(self, address: str) -> str | None:
        try:
            one = _parsed(address)
        except ValueError:
            return "no IP address"
        opened = self._opened(address)
        if one in METADATA or not METADATA.isdisjoint(_carried(one)):
            return None if any(network.num_addresses == 1 for network in opened) else "a metadata address"
        if opened:
            return None
        kind = next((kind for kind, network in DENIED if one in network), None)
        if kind is None and one.version == 6 and one not in GLOBAL_UNICAST:  # noqa: PLR2004 - IPv6
            kind = "a reserved"
        return None if kind is None else f"{kind} address"

    def _opened(self, address: str) -> list[Network]:
        one = _parsed(address)
        return [network for network in self._allowed if one in network]


def egress_guard(networks: str, hosts: str, ports: str) -> EgressGuard:
    """The guard of the operator's lists; ValueError names the setting, and what is invalid."""
    return EgressGuard(
        _set("EGRESS_ALLOW", parse_networks, networks),
        _set("EGRESS_HOSTS", parse_hosts, hosts),
        _set("EGRESS_PORTS", parse_ports, ports),
    )


def _set(name: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as wrong:
        raise ValueError(f"PENSTOCK_{name}: {wrong}") from None


class GuardedResolver(AbstractResolver):
    """Refuses a name if one of its addresses is refused."""

    def __init__(self, guard: EgressGuard, inner: AbstractResolver | None = None) -> None:
        self._guard = guard
        self._inner = inner or ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self._guard.check_host(host)
        try:
            found = await self._inner.resolve(host, port, family)
        except (OSError, UnicodeError):
            found = []
        self._guard.check_name(host, [one["host"] for one in found])
        return found

    async def close(self) -> None:
        await self._inner.close()


def guarded_connector(
    guard: EgressGuard, resolver: AbstractResolver | None = None, kept_s: float | None = None
) -> TCPConnector:
    """A connector whose connections pass the guard, and are reused within `kept_s` alone.

    The server may close a kept connection at any time, and a call lost on it would have an unknown
    outcome.
    """
    life: dict[str, Any] = {"force_close": True} if kept_s is None else {"keepalive_timeout": kept_s}
    return TCPConnector(resolver=GuardedResolver(guard, resolver), socket_factory=guard.socket, limit=0, **life)


@lru_cache(maxsize=1_024)
def _parsed(address: str) -> Address:
    return ip_address(address.partition("%")[0])


@lru_cache(maxsize=1_024)
def is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _plain(url: URL) -> str:
    """The host of a URL in a form in which equal names compare equal."""
    return (URL(str(url)).raw_host or "").lower().removesuffix(".")


def _carried(address: Address) -> tuple[IPv4Address, ...]:
    if isinstance(address, IPv4Address):
        return ()
    if address.teredo is not None:
        return address.teredo
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if any(address in network for network in CARRIES_IPV4):
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()


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

    def takes_plain(self, text: str) -> bool:
        """Whether a URL that may be called may be without TLS: its host is one that was opened."""
        url = self._guard.check_url(text)
        return self._guard.opens((url.raw_host or "").lower().removesuffix("."))

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
