"""The guard at the gate: which targets are refused, in whatever form they are written."""

from __future__ import annotations

import re
import socket

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from daemon.connectors.egress import (
    BadUrl,
    EgressGuard,
    EgressRefused,
    GuardedResolver,
    UrlPolicy,
    origin,
    parse_hosts,
    parse_networks,
    parse_ports,
    parse_url,
    same_origin,
)


def words(text: str) -> list[str]:
    return text.split()


REFUSED = words("""
    127.0.0.1 127.255.255.254 ::1 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 fc00::1 fdff::1
    169.254.0.1 169.254.169.254 169.254.170.2 fe80::1 fe80::1%1 fec0::1 168.63.129.16 100.100.100.200
    192.0.0.192 fd00:ec2::254 fd20:ce::254 100.64.0.1 100.127.255.255 0.0.0.0 0.1.2.3 :: 255.255.255.255
    240.0.0.1 224.0.0.1 239.255.255.255 ff02::1 ff0e::1 198.18.0.1 198.19.255.255 2001:2::1 192.0.2.1
    198.51.100.1 203.0.113.1 2001:db8::1 3fff::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1
    ::ffff:0:127.0.0.1 ::127.0.0.1 ::8.8.8.8 ::7f00:1 64:ff9b::127.0.0.1 64:ff9b::808:808 64:ff9b:1::1
    64:ff9b:1:ffff::8.8.8.8 2002:7f00:1:: 2002:808:808::1 192.88.99.1 2001::1
    2001:0:4136:e378:8000:63bf:3fff:fdd2 192.0.0.1 2001:10::1 2001:20::1 5f00::1 100::1 4000::1 8000::1
    200::1
""")
PUBLIC = words("""
    8.8.8.8 1.1.1.1 93.184.216.34 172.32.0.1 100.128.0.1 2606:4700::1111 2a00:1450:4001::1
    2001:4860::8888
""")


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_off_the_public_internet_is_refused(address: str) -> None:
    with pytest.raises(EgressRefused, match="may not be called from here"):
        EgressGuard().check(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_may_be_called(address: str) -> None:
    EgressGuard().check(address)


@pytest.mark.parametrize("address", ["", "localhost", "127.1", "0177.0.0.1", "2130706433", "0x7f000001"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(EgressRefused):
        EgressGuard(parse_networks("0.0.0.0/0, ::/0")).check(address)


def test_an_allowed_network_opens_itself_and_nothing_else() -> None:
    guard = EgressGuard(parse_networks("127.0.0.0/8, ::1/128"))
    guard.check("127.0.0.1")
    guard.check("::1")
    for address in ("10.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"):
        with pytest.raises(EgressRefused):
            guard.check(address)


def test_an_embedded_address_opens_with_its_own_ipv6_network() -> None:
    EgressGuard(parse_networks("::ffff:0:0/96")).check("::ffff:127.0.0.1")


METADATA_FORMS = [
    "169.254.169.254",
    "fd00:ec2::254",
    "100.100.100.200",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "::169.254.169.254",
    "2001:0:4136:e378:8000:63bf:5601:5601",
]


@pytest.mark.parametrize("address", METADATA_FORMS)
def test_the_metadata_address_opens_only_by_its_own_name(address: str) -> None:
    with pytest.raises(EgressRefused, match="metadata"):
        EgressGuard(parse_networks("0.0.0.0/0, ::/0, 169.254.0.0/16, fd00::/8")).check(address)
    EgressGuard(parse_networks(address)).check(address)


def test_networks_are_read_from_a_list() -> None:
    assert [str(network) for network in parse_networks(" 127.0.0.0/8, ::1/128,,10.0.0.1 ")] == [
        "127.0.0.0/8",
        "::1/128",
        "10.0.0.1/32",
    ]
    assert parse_networks("") == ()


@pytest.mark.parametrize("text", ["localhost", "10.0.0.1/8", "10.0.0.0/33", "1.2.3"])
def test_what_is_no_network_is_named_in_the_error(text: str) -> None:
    with pytest.raises(ValueError, match=f"{text} is no network"):
        parse_networks(f"127.0.0.0/8, {text}")


REFUSED_URLS = words("""
    http://127.0.0.1/ https://127.0.0.1:8443/x http://[::1]/ http://[::ffff:127.0.0.1]/
    http://[::ffff:7f00:1]/ http://10.0.0.1 http://169.254.169.254/latest/meta-data
    http://[fd00:ec2::254]/ http://0.0.0.0/ http://[::]/ http://[64:ff9b::7f00:1]/
    http://[2002:7f00:1::]/ http://127\u30020\u30020\u30021/ http://\u2460\u2461\u2466.0.0.1/
    HTTP://127.0.0.1/
""")
BAD_URLS = words("""
    ftp://example.com/ file:///etc/passwd gopher://127.0.0.1/ //example.com/ example.com
    javascript:alert(1) http: http:///x http://user@example.com/ http://user:pass@example.com/
    http://@example.com/ http://example.com@127.0.0.1/ http://example.com/#part http://example.com/#
    http://example.com:0/ http://example.com:99999/ http://example.com:x/ http://2130706433/
    http://127.1/ http://0177.0.0.1/ http://0x7f.0.0.1/ http://0x7f000001/ http://127.0.0.1./
    http://example.0x7f/ http://1.2.3/ http://example.com\\@127.0.0.1/ http://%31%32%37.0.0.1/
    http://[fe80::1%25eth0]/ http://[::1/ http://exam{ple.com/ http://[v1.x]/ http://a]b/ http:////x/ http:/x/
""")


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_a_url_that_names_a_refused_address_is_refused(url: str) -> None:
    with pytest.raises(EgressRefused):
        EgressGuard().check_url(url)


@pytest.mark.parametrize("url", [*BAD_URLS, "", "http://example.com/a b", "http://example.com/\r\nX: y", "http://a b/"])
def test_a_url_that_can_never_be_called_is_refused(url: str) -> None:
    with pytest.raises(BadUrl):
        EgressGuard(parse_networks("0.0.0.0/0, ::/0")).check_url(url)


@pytest.mark.parametrize("url", ["https://example.com/a%2fb?q=%20c&d=1", "http://EXAMPLE.com:8080//x/../y?z"])
def test_an_ascii_url_stays_as_it_was_written(url: str) -> None:
    assert str(EgressGuard().check_url(url)) == url


def test_a_url_beyond_ascii_is_written_in_ascii() -> None:
    assert str(parse_url("http://b\u00fccher.example/stra\u00dfe")) == "http://xn--bcher-kva.example/stra%C3%9Fe"


SAME = [
    ("http://example.com", "http://EXAMPLE.com:80/path?x"),
    ("HTTPS://example.com/", "https://example.com:443"),
    ("http://b\u00fccher.example/", "http://xn--bcher-kva.example/"),
    ("http://b\u00dccher.example/", "http://XN--BCHER-KVA.example/"),
    ("http://[::1]/", "http://[0:0:0:0:0:0:0:1]:80/"),
]
OTHER = [
    ("http://example.com", "https://example.com"),
    ("http://example.com", "http://example.com:8080"),
    ("http://example.com", "http://example.org"),
    ("http://example.com", "http://example.com."),
    ("nonsense", "nonsense"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_origins_compare_equal_however_written(one: str, other: str) -> None:
    assert same_origin(one, other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_different_origins_never_compare_equal(one: str, other: str) -> None:
    assert not same_origin(one, other)


def test_an_origin_has_its_port_filled_in() -> None:
    assert origin("https://Example.com/x") == ("https", "example.com", 443)


class Stub(AbstractResolver):
    """A resolver that answers from a table."""

    def __init__(self, names: dict[str, list[str]]) -> None:
        self.names = names

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in self.names[host]
        ]

    async def close(self) -> None:
        pass


NAMES = {
    "public.test": ["8.8.8.8", "2606:4700::1111"],
    "private.test": ["10.0.0.1"],
    "mixed.test": ["8.8.8.8", "127.0.0.1"],
    "mapped.test": ["8.8.8.8", "::ffff:127.0.0.1"],
    "empty.test": [],
}


def test_hosts_are_read_from_a_list() -> None:
    assert parse_hosts(" api.Example.com., *.example.org,, b\u00fccher.example,10.0.0.1 , [::1]") == (
        "api.example.com",
        "*.example.org",
        "xn--bcher-kva.example",
        "10.0.0.1",
        "::1",
    )
    assert parse_hosts("") == ()


@pytest.mark.parametrize("text", [*words("* *. a.*.com a*.com a:80 http://a a/b a?b u@a ::1"), "a b"])
def test_what_is_no_host_is_named_in_the_error(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)} is no host name"):
        parse_hosts(f"example.com, {text}")


HOSTS = parse_hosts("api.example.com, *.example.org, b\u00fccher.example, 8.8.8.8, 10.0.0.1, [2606:4700::1111]")


@pytest.mark.parametrize(
    "url",
    words("""
        http://api.example.com/x https://API.EXAMPLE.COM:8443 http://api.example.com./ http://a.example.org
        http://a.b.example.org/ http://b\u00fccher.example/ http://XN--BCHER-KVA.example/ http://8.8.8.8/
        http://[2606:4700:0:0::1111]/
    """),
)
def test_a_host_on_the_list_may_be_called(url: str) -> None:
    EgressGuard(hosts=HOSTS).check_url(url)


@pytest.mark.parametrize(
    "url",
    words("""
        http://example.com/ http://www.api.example.com/ http://api.example.com.evil.test/ http://example.org/
        http://evilexample.org/ http://example.org.evil.test/ http://8.8.4.4/ http://1.1.1.1/ http://localhost/
        http://[2606:4700::1112]/ http://127.0.0.1/
    """),
)
def test_a_host_that_is_not_on_the_list_is_refused(url: str) -> None:
    with pytest.raises(EgressRefused, match="is not among the hosts that may be called from here"):
        EgressGuard(parse_networks("127.0.0.0/8"), HOSTS).check_url(url)


def test_a_listed_address_has_to_be_allowed_all_the_same() -> None:
    with pytest.raises(EgressRefused, match="a private address"):
        EgressGuard(hosts=HOSTS).check_url("http://10.0.0.1/")


async def test_a_name_that_is_not_on_the_list_is_not_resolved() -> None:
    class Never(Stub):
        async def resolve(self, *_: object, **__: object) -> list[ResolveResult]:
            raise AssertionError("resolved")

    with pytest.raises(EgressRefused, match="is not among the hosts"):
        await GuardedResolver(EgressGuard(hosts=HOSTS), Never({})).resolve("public.test", 80)


async def test_a_name_whose_addresses_are_all_public_resolves() -> None:
    found = await GuardedResolver(EgressGuard(), Stub(NAMES)).resolve("public.test", 80)
    assert [one["host"] for one in found] == NAMES["public.test"]


@pytest.mark.parametrize("name", ["private.test", "mixed.test", "mapped.test", "empty.test", "unknown.test"])
async def test_a_name_with_any_refused_address_or_none_is_refused(name: str) -> None:
    with pytest.raises(EgressRefused) as refused:
        await GuardedResolver(EgressGuard(), Stub(NAMES)).resolve(name, 80)
    assert "10.0.0.1" not in str(refused.value)
    assert "127.0.0.1" not in str(refused.value)


async def test_a_name_inside_and_a_name_that_nobody_has_are_refused_in_the_same_words() -> None:
    said: set[str] = set()
    for name in ("private.test", "empty.test", "unknown.test"):
        with pytest.raises(EgressRefused) as refused:
            await GuardedResolver(EgressGuard(), Stub(NAMES)).resolve(name, 80)
        said.add(str(refused.value).removeprefix(name))
    assert said == {" does not resolve to an address that may be called from here."}


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost"])
def test_before_a_test_only_names_of_the_loopback_are_judged_without_a_look_up(host: str) -> None:
    assert UrlPolicy(EgressGuard()).refusal(f"http://{host}/") is not None
    assert UrlPolicy(EgressGuard(parse_networks("127.0.0.0/8"))).refusal(f"http://{host}:8080/") is None
    assert UrlPolicy(EgressGuard()).refusal("http://private.test/") is None


def test_a_port_beside_those_of_the_web_is_refused_unless_the_operator_adds_it() -> None:
    for port in (22, 25, 8080):
        for url in (f"http://8.8.8.8:{port}/", f"https://[2606:4700::1111]:{port}/"):
            with pytest.raises(EgressRefused, match=f"^Port {port} may not be called from here.$"):
                EgressGuard().check_url(url)
            EgressGuard(ports=parse_ports(f"443, {port}")).check_url(url)
    EgressGuard().check_url("http://8.8.8.8/")
    EgressGuard().check_url("https://8.8.8.8/")


def test_in_an_allowed_network_any_port_may_be_called() -> None:
    EgressGuard(parse_networks("127.0.0.0/8")).check_url("http://127.0.0.1:8080/")
    with pytest.raises(EgressRefused, match="Port 8080"):
        EgressGuard(parse_networks("127.0.0.0/8")).check_url("http://8.8.8.8:8080/")


def test_a_socket_is_made_only_for_an_allowed_port() -> None:
    with pytest.raises(EgressRefused, match="Port 25 "):
        EgressGuard().socket((socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("8.8.8.8", 25)))


@pytest.mark.parametrize("text", ["http", "0", "65536", "-1", "80-90", "\u0661"])
def test_what_is_no_port_is_named_in_the_error(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text} is no port"):
        parse_ports(f"80, {text}")


def test_a_socket_is_made_only_for_an_allowed_address() -> None:
    guard = EgressGuard(parse_networks("127.0.0.0/8"))
    guard.socket((socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 80))).close()
    with pytest.raises(EgressRefused):
        guard.socket((socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("::1", 80, 0, 0)))
