"""An OpenID provider of a test: real HTTP and real signatures, and it can be told to misbehave."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
import warnings
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from aiohttp import BasicAuth, web
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey

from tests.listening import Listener

CLIENT, SECRET = "penstock at example", "s3cret: of the client"


@dataclass
class Grant:
    """A code, and what was asked for with it."""

    query: dict[str, str]
    claims: dict[str, Any]


@dataclass
class Said:
    """What the next ID tokens say other than they should, and by which key and algorithm."""

    claims: dict[str, Any] = field(default_factory=dict)
    algorithm: str = "RS256"
    key: RSAKey | ECKey | OKPKey | OctKey | None = None
    header: dict[str, Any] = field(default_factory=dict)


class OpenIdProvider(Listener):
    """Logs anybody in as `claims` say; its key can be rotated."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[RSAKey | ECKey | OKPKey] = [new_key()]
        self.claims: dict[str, Any] = {}
        self.said = Said()
        self.issuer: str | None = None
        self.grants: dict[str, Grant] = {}
        self.keys_asked = 0
        self.down = False
        self.life_s: int | None = 300
        self.userinfo: dict[str, Any] | None = None
        self.listed: list[str] | None = None

    def rotate(self) -> None:
        self.keys = [new_key()]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if self.down:
            return web.Response(status=503)
        match request.path:
            case "/.well-known/openid-configuration":
                return web.json_response(self._metadata())
            case "/keys":
                self.keys_asked += 1
                return web.json_response(KeySet([*self.keys]).as_dict(private=False))
            case "/authorize":
                return self._authorize(request)
            case "/userinfo" if self.userinfo is not None:
                if request.headers.get("Authorization") != "Bearer opaque":
                    return web.Response(status=401)
                return web.json_response(self.userinfo)
            case "/token":
                return await self._token(request)
            case _:
                raise web.HTTPNotFound

    def token(self, **claims: Any) -> str:
        """A token for the service, signed as `said` has it."""
        now = int(time.time())
        given = {"iss": self.issuer or self.url, "aud": CLIENT, "iat": now, "exp": now + (self.life_s or 0)}
        said, key = self.said, self.said.key or self.keys[0]
        header = {"alg": said.algorithm, "kid": key.kid, **said.header}
        told = {**given, **self.claims, **claims, **said.claims}
        if self.life_s is None:
            del told["exp"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the name EdDSA is old, and what providers say
            return jwt.encode(header, told, key, [said.algorithm])

    def _metadata(self) -> dict[str, Any]:
        addresses = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
        if self.userinfo is not None:
            addresses["userinfo_endpoint"] = "/userinfo"
        listed = {} if self.listed is None else {"id_token_signing_alg_values_supported": self.listed}
        told = {"issuer": self.issuer or self.url, **listed}
        return {**told, **{name: self.url + path for name, path in addresses.items()}}

    def _authorize(self, request: web.Request) -> web.Response:
        query, code = dict(request.query), secrets.token_urlsafe()
        self.grants[code] = Grant(query, dict(self.claims))
        back = urlencode({"code": code, "state": query["state"], "session_state": "of the provider"})
        raise web.HTTPFound(f"{query['redirect_uri']}?{back}")

    async def _token(self, request: web.Request) -> web.Response:
        """One ID token for each code, as RFC 6749 and RFC 7636 have it."""
        form = await request.post()
        grant = self.grants.pop(str(form["code"]), None)
        credentials = BasicAuth.decode(request.headers["Authorization"])
        digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if credentials.login.replace("+", " ") != CLIENT or credentials.password != "s3cret%3A+of+the+client":
            return web.json_response({"error": "invalid_client"}, status=401)
        if grant is None or grant.query["code_challenge"] != challenge or grant.query["client_id"] != CLIENT:
            return web.json_response({"error": "invalid_grant"}, status=400)
        if grant.query["redirect_uri"] != form["redirect_uri"]:
            return web.json_response({"error": "invalid_grant"}, status=400)
        token = self.token(**grant.claims, nonce=grant.query["nonce"])
        return web.json_response({"access_token": "opaque", "token_type": "Bearer", "id_token": token})


def new_key() -> RSAKey:
    key = RSAKey.generate_key(2048, {"use": "sig"})
    key.ensure_kid()
    return key
