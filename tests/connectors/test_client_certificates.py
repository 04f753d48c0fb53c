"""Calls by which a client shows a certificate, to a server that asks for one."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from ipaddress import ip_address
from math import gcd
from pathlib import Path
from random import Random

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from daemon.connectors.credentials import BadCertificate, client_context
from daemon.connectors.service import Samples
from tests.connectors.conftest import NOW, House


def made(name: str, closed: KeySerializationEncryption | None = None) -> tuple[str, str]:
    """A certificate that signs itself, and its key."""
    key = generate_private_key(SECP256R1())
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder(own, own, key.public_key(), 1, NOW, NOW + timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, closed or NoEncryption())
    return certificate.public_bytes(Encoding.PEM).decode(), private.decode()


@pytest.fixture
def client() -> str:
    return "".join(made("client"))


@pytest.fixture
def server(tmp_path: Path, client: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestServer]:
    """A server whose own certificate is trusted here, and that trusts one client."""
    certificate, key = made("server")
    (tmp_path / "server.pem").write_text(certificate + key)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", _who)
    yield TestServer(app, host="127.0.0.1", scheme="https")
    client_context.cache_clear()


async def _who(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    shown = request.transport.get_extra_info("peercert")
    return web.json_response({"who": dict(part[0] for part in shown["subject"])["commonName"]})


@asynccontextmanager
async def served(server: TestServer, tmp_path: Path, trusted: str) -> AsyncIterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=trusted)
    await server.start_server(ssl=context)
    try:
        yield str(server.make_url("/"))
    finally:
        await server.close()


async def test_the_client_shows_its_certificate(house: House, server: TestServer, tmp_path: Path, client: str) -> None:
    async with served(server, tmp_path, client) as url:
        trial = house.connect(secret=client, auth_type="mtls", base_url=url, method="GET")
        answer = await house.dispatcher.test_connector("co", trial)
        assert (answer["body"], answer["request"]["headers"]) == ({"who": "client"}, {})
        stranger = house.connect(secret="".join(made("stranger")), auth_type="mtls", base_url=url, method="GET")
        answer = await house.dispatcher.test_connector("co", stranger)
        assert (answer["ok"], answer["status_code"]) == (False, None)


@pytest.mark.parametrize("pem", ["", "nonsense", made("a")[0], made("a")[1], made("a")[0] + made("b")[1]])
def test_what_is_no_certificate_with_its_key_is_refused(pem: str) -> None:
    with pytest.raises(BadCertificate, match="is no PEM text"):
        client_context(pem)


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it() -> None:
    with pytest.raises(BadCertificate):
        client_context("".join(made("a", BestAvailableEncryption(b"secret"))))


def paired(key: PrivateKeyTypes, public: PublicKeyTypes | None = None) -> str:
    """A key, and a certificate of its public half (or another's) that somebody else signed."""
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a")])
    shown = public or key.public_key()
    certificate = x509.CertificateBuilder(own, own, shown, 1, NOW, NOW + timedelta(days=36_500))  # type: ignore[arg-type]
    signed = certificate.sign(generate_private_key(SECP256R1()), SHA256()).public_bytes(Encoding.PEM)
    return (signed + key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())).decode()


def forged(bits: int) -> rsa.RSAPrivateKey:
    """An RSA key of random numbers, which nobody has to look for primes for."""
    p, q = (Random(bits + n).getrandbits(bits // 2) | 3 << (bits // 2 - 2) | 1 for n in (0, 1))
    d = p * q >> 1 | 1
    numbers = rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1) | 1, d % (q - 1) | 1, p - 2, rsa.RSAPublicNumbers(65_537, p * q)
    )
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)


def composite() -> rsa.RSAPrivateKey:
    """An RSA key whose numbers belong together, but one of whose primes is none."""
    real = rsa.generate_private_key(65_537, 2048).private_numbers()
    p, q, e = real.p, (1 << 1023) + 1, 65_537
    while gcd(e, q - 1) > 1 or gcd(p, q) > 1:
        q += 2
    d = pow(e, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(e, p * q)
    numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), public)
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)


def broken() -> rsa.RSAPrivateKey:
    """An RSA key with one wrong number."""
    real = rsa.generate_private_key(65_537, 2048).private_numbers()
    numbers = rsa.RSAPrivateNumbers(real.p, real.q, real.d, real.dmp1 ^ 2, real.dmq1, real.iqmp, real.public_numbers)
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: paired(forged(16_384)), "larger than RSA with 4,096 bits"),
        (lambda: paired(forged(4_104)), "larger than RSA with 4,096 bits"),
        (lambda: paired(forged(4_096)), "do not belong together"),
        (lambda: paired(broken()), "do not belong together"),
        (lambda: paired(composite()), "does not belong to the certificate"),
        (lambda: paired(rsa.generate_private_key(65_537, 2048), forged(2048).public_key()), "does not belong"),
        (lambda: paired(ec.generate_private_key(ec.SECP256K1())), "on secp256k1"),
        (lambda: paired(ec.generate_private_key(ec.BrainpoolP512R1())), "on brainpoolP512r1"),
        (lambda: paired(dsa.generate_private_key(2048)), "of an unusual kind"),
        (lambda: made("a")[0] * 6 + "".join(made("a")), "at most 5 certificates"),
        (lambda: made("a")[0] + "-----BEGIN " * 1_000, "at most 5 certificates"),
    ],
)
def test_a_key_that_takes_long_or_does_not_check_is_refused(make: Callable[[], str], why: str) -> None:
    with pytest.raises(BadCertificate, match=why):
        client_context(make())


def test_a_large_key_is_refused_before_anything_is_signed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    signed: list[object] = []
    monkeypatch.setattr("daemon.connectors.credentials._signs", signed.append)
    for bits in (4_104, 8_192, 16_384):
        with pytest.raises(BadCertificate):
            client_context(paired(forged(bits)))
    assert signed == []


@pytest.mark.parametrize("bits", [2_048, 4_096])
def test_a_usual_rsa_key_is_taken(bits: int) -> None:
    client_context(paired(rsa.generate_private_key(65_537, bits)))


@pytest.mark.parametrize("curve", [ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1()])
def test_a_key_on_a_usual_curve_is_taken(curve: ec.EllipticCurve) -> None:
    client_context(paired(ec.generate_private_key(curve)))


def test_a_key_of_another_kind_than_the_certificate_is_refused() -> None:
    key, (certificate, _) = ed25519.Ed25519PrivateKey.generate(), made("a")
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with pytest.raises(BadCertificate, match="does not belong"):
        client_context(certificate + pem)


async def test_a_stored_text_that_is_no_certificate_sends_nothing(house: House) -> None:
    trial = house.connect(secret="nonsense", auth_type="mtls", base_url="https://127.0.0.1:1", method="GET")
    answer = await house.dispatcher.test_connector("co", trial, samples=Samples(send=True))
    assert (answer["sent"], answer["error"]) == (False, "The body or the secret cannot be sent as it stands.")
