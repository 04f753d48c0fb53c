"""Calls by which a client shows a certificate, to a server that asks for one."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from daemon.connectors.auth.certificates import BadCertificate, client_context
from daemon.connectors.test_call import Samples
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


async def test_a_stored_text_that_is_no_certificate_sends_nothing(house: House) -> None:
    trial = house.connect(secret="nonsense", auth_type="mtls", base_url="https://127.0.0.1:1", method="GET")
    answer = await house.dispatcher.test_connector("co", trial, samples=Samples(send=True))
    assert (answer["sent"], answer["error"]) == (False, "The body or the secret cannot be sent as it stands.")
