"""The header that carries a connector's secret, and the secrets that no response may hold."""

from __future__ import annotations

import re
from base64 import b64encode

from actors.core.calls import Connector

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
