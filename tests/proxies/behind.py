"""A real nginx or HAProxy with the configuration of docs/guides/install.md, in front of a
service, or with that of scaling.md in front of three.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import shutil
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.bench.servers import free_port
from tests.web.test_connections import PATIENCE_S, Line

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
GUIDE = (GUIDES / "install.md").read_text(encoding="utf-8")
SEVERAL = (GUIDES / "scaling.md").read_text(encoding="utf-8")
NAME = "penstock.example.org"
FILES = "/usr/sbin:/usr/local/sbin"
HURRIED_S = 1
MAIN = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/penstock.conf;
}}
"""


def program(name: str) -> str | None:
    """Where a proxy's program is; those of the system are often not on the path of a user."""
    return shutil.which(name) or shutil.which(name, path=FILES)


def guided(language: str, guide: str = GUIDE) -> str:
    """The configuration that a guide gives in this language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", guide, re.DOTALL)
    return str(found)


def with_daemons(text: str, ports: Sequence[int]) -> str:
    """The configuration with these daemons: one as install.md says, three as scaling.md does."""
    if len(ports) == 1:
        return changed(text, upstream=("127.0.0.1:8080", f"127.0.0.1:{ports[0]}"))
    if "proxy_pass" in text:
        text = re.sub(r"upstream penstock \{.*?\n\}\n", guided("nginx-upstream", SEVERAL), text, flags=re.DOTALL)
        text = changed(text, next=("        proxy_next_upstream off;\n", guided("nginx-next", SEVERAL)))
    else:
        text = text.partition("backend penstock\n    server")[0] + guided("haproxy-backend", SEVERAL)
        used = "    default_backend penstock\n"
        text = changed(text, use=(used, guided("haproxy-use", SEVERAL) + used))
    for n, port in enumerate(ports, 11):
        assert f"10.0.0.{n}:8080" in text
        text = text.replace(f"10.0.0.{n}:8080", f"127.0.0.1:{port}")
    return text


def changed(text: str, **changes: tuple[str, str]) -> str:
    """The configuration with what differs on this machine; each change has to be found in it
    once.
    """
    for what, (old, new) in changes.items():
        assert text.count(old) == 1, what
        text = text.replace(old, new)
    return text


def certified(folder: Path) -> tuple[Path, Path, Path]:
    """A certificate of its own, its key, and both in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    paths = folder / "cert.pem", folder / "key.pem", folder / "both.pem"
    for path, content in zip(paths, (pem, private, pem + private), strict=True):
        path.write_bytes(content)
    return paths


@dataclass
class Proxy:
    """A proxy that runs, and connections to it."""

    name: str
    port: int
    trust: ssl.SSLContext
    lines: list[Line] = field(default_factory=list)

    async def line(self, first: bytes = b"", address: str = "127.0.0.1") -> Line:
        """A connection by TLS from an address of this machine."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self.trust, server_hostname=NAME, local_addr=(address, 0)
        )
        writer.write(first)
        self.lines.append(Line(reader, writer))
        return self.lines[-1]

    async def close(self) -> None:
        """End all connections."""
        for line in self.lines:
            line.writer.transport.abort()
            with suppress(ConnectionError):
                await line.writer.wait_closed()


def nginx(folder: Path, port: int, *daemons: int) -> list[str]:
    """Write the files of nginx; returns its command."""
    certificate, key, _ = certified(folder)
    own = changed(
        with_daemons(guided("nginx"), daemons),
        port=("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        certificate=("/etc/ssl/penstock.pem", str(certificate)),
        key=("/etc/ssl/private/penstock.key", str(key)),
        body_timeout=("client_body_timeout 10s", f"client_body_timeout {HURRIED_S}s"),
    )
    (folder / "penstock.conf").write_text(own, encoding="utf-8")
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder), encoding="utf-8")
    return ["nginx", "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]


def haproxy(folder: Path, port: int, *daemons: int) -> list[str]:
    """Write the file of HAProxy; returns its command."""
    *_, both = certified(folder)
    own = changed(
        with_daemons(guided("haproxy"), daemons),
        bind=("bind :443", f"bind 127.0.0.1:{port}"),
        certificate=("/etc/ssl/private/penstock.pem", str(both)),
        request_timeout=("timeout http-request 10s", f"timeout http-request {HURRIED_S}s"),
    )
    (folder / "haproxy.cfg").write_text(own, encoding="utf-8")
    return ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]


PROXIES: dict[str, Callable[..., list[str]]] = {"nginx": nginx, "haproxy": haproxy}


@asynccontextmanager
async def behind(name: str, folder: Path, *daemons: int) -> AsyncIterator[Proxy]:
    """Run a proxy in front of those ports, on a free port of its own."""
    port = free_port()
    command = PROXIES[name](folder, port, *daemons)
    where = program(name)
    assert where is not None
    with (folder / "said").open("wb") as said:
        process = await asyncio.create_subprocess_exec(where, *command[1:], stdout=said, stderr=said)
    try:
        await _listens(port, process, folder)
        proxy = Proxy(name, port, ssl.create_default_context(cafile=folder / "cert.pem"))
        yield proxy
        await proxy.close()
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _listens(port: int, process: asyncio.subprocess.Process, folder: Path) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            assert process.returncode is None, (folder / "said").read_text(encoding="utf-8")
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.01)
                continue
            writer.close()
            return
