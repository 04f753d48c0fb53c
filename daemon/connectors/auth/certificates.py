"""The certificate by which a client shows who it is, and its key, as one PEM text."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache

CONTEXTS_MAX = 64


class BadCertificate(ValueError):
    """The text is no certificate with its private key; the message says why."""


@lru_cache(maxsize=CONTEXTS_MAX)
def client_context(pem: str) -> ssl.SSLContext:
    """The TLS settings of a client with this certificate and key, which need no password.

    The library reads keys from files alone: this one is in memory, and has no name.
    """
    context = ssl.create_default_context()
    file = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    try:
        os.write(file, pem.encode())
        context.load_cert_chain(f"/proc/self/fd/{file}", password=_no_password)
    except (ssl.SSLError, ValueError):
        raise BadCertificate("is no PEM text of a certificate and its private key, without a password") from None
    finally:
        os.close(file)
    return context


def _no_password() -> str:
    raise ValueError("a key with a password")
