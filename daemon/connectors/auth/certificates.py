"""The certificate by which a client shows who it is, and its key, as one PEM text."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterator
from functools import lru_cache

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate

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
