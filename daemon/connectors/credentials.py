"""Credentials of calls: header, client certificate, and the masking of secrets in responses."""

from __future__ import annotations

import json
import os
import re
import ssl
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

from actors.core.calls import MASK, Connector
from actors.core.canonical import canonical

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def credentials(connector: Connector, secret: str | None) -> dict[str, str]:
    """The header that carries the secret, or the access token bought with it.

    ValueError if it has control characters.
    """
    if secret is None:
        return {}
    if connector.auth_type != "mtls" and _CONTROL.search(secret):
        raise ValueError("The secret holds a control character and fits into no header.")
    match connector.auth_type:
        case "none" | "mtls":
            return {}
        case "bearer" | "oauth2":
            return {"Authorization": f"Bearer {secret}"}
        case "basic":
            return {"Authorization": f"Basic {b64encode(secret.encode()).decode()}"}
        case "header":
            return {connector.auth_header or "Authorization": secret}


def secrets_of(connector: Connector, secret: str | None) -> tuple[str, ...]:
    """The strings to mask: the secret, and the password alone of `user:password`.

    A private key is never sent, so that no response can hold it.
    """
    if not secret or connector.auth_type == "mtls":
        return ()
    _, colon, password = secret.partition(":")
    return (secret, password) if connector.auth_type == "basic" and colon else (secret,)


EXCERPT_CHARS_MAX = 500
SECRET_CHARS_MIN = 4
FRAGMENT_CHARS_MIN = 8


class Masker:
    """Masks secrets in clear, base64, URL-encoded, hex or JSON-escaped form, in linear time.

    Secrets of fewer than four characters are not masked: they would mask half of every response.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        kept = [secret for secret in secrets if len(secret) >= SECRET_CHARS_MIN]
        self._exact = {form for secret in kept for form in _exact_forms(secret)}
        self._loose = {form.lower() for secret in kept for form in _loose_forms(secret)}
        self._chars_min = min(map(len, self._exact | self._loose), default=0)

    def mask(self, text: str) -> str:
        if not self._exact or len(text) < self._chars_min:
            return text
        # Each character becomes one in lower case, so that places are the same in both; of all
        # characters this one alone would become two.
        lower = text.replace("\u0130", "i").lower()
        spans = [span for form in self._exact for span in _spans(form, text)]
        spans += [span for form in self._loose for span in _spans(form, lower)]
        return _masked(text, sorted(spans)) if spans else text

    def value(self, value: Any) -> Any:
        if not self._exact:
            return value
        match value:
            case str():
                return self.mask(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {self.mask(name): self.value(item) for name, item in value.items()}
            case _:
                return value


class StreamMasker:
    """Masks the secrets of a connector in bytes as they come; what may begin one is kept back.

    The end of an event, an empty line, ends every secret.
    """

    def __init__(self, connector: Connector, secret: str | None) -> None:
        kept = [one for one in secrets_of(connector, secret) if len(one) >= SECRET_CHARS_MIN]
        self._exact = {form.encode() for one in kept for form in _exact_forms(one)}
        self._loose = {form.lower().encode() for one in kept for form in _loose_forms(one)}
        self._before = max(map(len, self._exact | self._loose), default=1) - 1
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What can be handed on by now."""
        if not self._exact:
            return chunk
        self._held += chunk
        return self._cut(0 if self._held.endswith((b"\n\n", b"\r\n\r\n")) else self._before)

    def flush(self) -> bytes:
        """What was kept back, at the end."""
        return self._cut(0)

    def _cut(self, back: int) -> bytes:
        held, end = self._held, max(0, len(self._held) - back)
        lower = held.lower()
        spans = [span for form in self._exact for span in _byte_spans(form, held)]
        spans += [span for form in self._loose for span in _byte_spans(form, lower)]
        parts: list[bytes] = []
        done = 0
        for start, stop in sorted(spans):
            if start >= end:
                break
            if start >= done:
                parts += (held[done:start], MASK.encode())
            done = max(done, stop)
        end = max(end, done)
        self._held = held[end:]
        return b"".join((*parts, held[done:end]))


def _byte_spans(form: bytes, held: bytes) -> Iterator[tuple[int, int]]:
    at = held.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = held.find(form, at + len(form))


def _spans(form: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form)
        at = text.find(form, at + len(form))


def _masked(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with one mask for each group of places that overlap."""
    parts: list[str] = []
    end = 0
    for start, stop in spans:
        if start >= end:
            parts += (text[end:start], MASK)
        end = max(end, stop)
    return "".join((*parts, text[end:]))


def excerpt(body: Any, secrets: Iterable[str]) -> str | None:
    """The beginning of a response with secrets masked; None when it is empty."""
    if body is None or body == "":
        return None
    masker = Masker(secrets)
    text = masker.mask(body) if isinstance(body, str) else canonical(masker.value(body))
    return text if len(text) <= EXCERPT_CHARS_MAX else text[: EXCERPT_CHARS_MAX - 1] + "…"


def _exact_forms(secret: str) -> Iterator[str]:
    raw = secret.encode()
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(raw).decode()
        yield encode(raw).decode().rstrip("=")
        for before in range(3):
            inner = _inside_base64(encode(b"\0" * before + raw).decode(), before)
            if len(inner) >= FRAGMENT_CHARS_MIN:
                yield inner


def _inside_base64(encoded: str, before: int) -> str:
    """The part of the base64 text that stays the same after `before` unknown bytes."""
    digits = encoded.rstrip("=")
    return digits[before + 1 if before else 0 : len(digits) - (1 if len(digits) % 4 else 0)]


def _loose_forms(secret: str) -> Iterator[str]:
    yield secret.encode().hex()
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)


CONTEXTS_MAX = 64
CERTIFICATES_MAX = 5
BLOCKS_MAX = CERTIFICATES_MAX + 3
CERTIFICATE_CHARS_MAX = 12_000
KEY_CHARS_MAX = 3_600
"""An RSA key of 4,096 bits has some 3,300 characters in PEM."""
RSA_BITS_MAX = 4_096
EXPONENT_BITS_MAX = 64
LARGE = f"has a private key that is larger than RSA with {RSA_BITS_MAX:,} bits"
CURVES = frozenset({"secp256r1", "secp384r1", "secp521r1"})
NO_PAIR = "is no PEM text of a certificate and its private key, without a password"
PROOF = b"this key belongs to this certificate"

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,40})-----[^-]*-----END \1-----")
_Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


class BadCertificate(ValueError):
    """The text is no certificate with its private key; the message says why."""


@lru_cache(maxsize=CONTEXTS_MAX)
def client_context(pem: str) -> ssl.SSLContext:
    """The TLS settings of a client with this certificate and key, which need no password.

    Not for the event loop: it signs once with the key, whose size is looked at before anything is
    computed with it. The library reads keys from files alone: this one is in memory, and has no
    name.
    """
    _check_pair(pem)
    context = ssl.create_default_context()
    file = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    try:
        os.write(file, pem.encode())
        context.load_cert_chain(f"/proc/self/fd/{file}", password=_no_password)
    except (ssl.SSLError, ValueError):
        raise BadCertificate(NO_PAIR) from None
    finally:
        os.close(file)
    return context


def _check_pair(pem: str) -> None:
    """BadCertificate unless a key of usual size works, and belongs to the first certificate."""
    blocks = list(_blocks(pem))
    certificates = [text for label, text in blocks if label == "CERTIFICATE"]
    keys = [text for label, text in blocks if label.endswith("PRIVATE KEY")]
    if not certificates or len(keys) != 1:
        raise BadCertificate(NO_PAIR)
    if len(certificates) > CERTIFICATES_MAX or max(map(len, certificates)) > CERTIFICATE_CHARS_MAX:
        raise BadCertificate(
            f"has at most {CERTIFICATES_MAX} certificates, each with at most {CERTIFICATE_CHARS_MAX} characters"
        )
    if len(keys[0]) > KEY_CHARS_MAX:
        raise BadCertificate(LARGE)
    try:
        # Nothing is computed with the numbers of a key before their sizes are known.
        key = load_pem_private_key(keys[0].encode(), None, unsafe_skip_rsa_key_validation=True)
        public = load_pem_x509_certificate(certificates[0].encode()).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadCertificate(NO_PAIR) from None
    usual = _usual(key)
    if public != usual.public_key() or not _signs(usual):
        raise BadCertificate(f"{NO_PAIR}: the key does not belong to the certificate")


def _blocks(pem: str) -> Iterator[tuple[str, str]]:
    if pem.count("-----BEGIN ") > BLOCKS_MAX:
        raise BadCertificate(f"has at most {CERTIFICATES_MAX} certificates and one private key")
    return ((found[1], found[0]) for found in _BLOCK.finditer(pem))


def _usual(key: object) -> _Key:
    """The key; BadCertificate for one of another kind or size than servers use."""
    match key:
        case rsa.RSAPrivateKey():
            if key.key_size > RSA_BITS_MAX:
                raise BadCertificate(LARGE)
            if not _fits_together(key.private_numbers()):
                raise BadCertificate("has an RSA key whose numbers do not belong together")
        case ec.EllipticCurvePrivateKey():
            if key.curve.name not in CURVES:
                raise BadCertificate(f"has a key on {key.curve.name}: usual are {', '.join(sorted(CURVES))}")
        case ed25519.Ed25519PrivateKey():
            pass
        case _:
            raise BadCertificate("has a private key of an unusual kind: usual are RSA, EC and Ed25519")
    return key


def _fits_together(key: rsa.RSAPrivateNumbers) -> bool:
    """Whether these are the numbers of one key; that its primes are none shows when it signs."""
    n, e = key.public_numbers.n, key.public_numbers.e
    if not (e % 2 and 1 < e.bit_length() <= EXPONENT_BITS_MAX and key.p > 1 and key.q > 1 and 0 < key.d < n):
        return False
    return (
        key.p * key.q == n
        and key.d * e % (key.p - 1) == 1
        and key.d * e % (key.q - 1) == 1
        and key.dmp1 == key.d % (key.p - 1)
        and key.dmq1 == key.d % (key.q - 1)
        and key.iqmp * key.q % key.p == 1
    )


def _signs(key: _Key) -> bool:
    """Whether a signature by the key is one to its public half."""
    try:
        match key:
            case rsa.RSAPrivateKey():
                key.public_key().verify(
                    key.sign(PROOF, padding.PKCS1v15(), SHA256()), PROOF, padding.PKCS1v15(), SHA256()
                )
            case ec.EllipticCurvePrivateKey():
                key.public_key().verify(key.sign(PROOF, ec.ECDSA(SHA256())), PROOF, ec.ECDSA(SHA256()))
            case _:
                key.public_key().verify(key.sign(PROOF), PROOF)
    except (InvalidSignature, ValueError):
        return False
    return True


def _no_password() -> str:
    raise ValueError("a key with a password")
