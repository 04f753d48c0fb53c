"""Logout tokens: a session at the provider has ended (OpenID Back-Channel Logout 1.0)."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from daemon.sso.provider import Provider
from daemon.sso.verification import TokenRefused, checked

EVENT = "http://schemas.openid.net/event/backchannel-logout"
KIND = "logout+jwt"
AGE_MAX_S = 600
JTI_CHARS_MAX = 255


class LogoutToken(NamedTuple):
    """Whose sessions end: those of a subject, of a session of the provider, or both."""

    subject: str
    sid: str
    jti: str


async def logged_out(provider: Provider, token: str, now: datetime) -> LogoutToken:
    """What a logout token says; TokenRefused when it does not count."""
    header, claims, _ = await checked(provider, token, now, fetch=False)
    audiences = {claims.aud} if isinstance(claims.aud, str) else set(claims.aud)
    if header.kind != KIND:
        raise TokenRefused(f"its type is not {KIND}")
    if provider.client.client_id not in audiences:
        raise TokenRefused("it is for another audience")
    if not isinstance(claims.events, dict) or not isinstance(claims.events.get(EVENT), dict):
        raise TokenRefused("it tells of no such event")
    if claims.nonce is not None:
        raise TokenRefused("it has a nonce, as an ID token has")
    if not claims.iat > now.timestamp() - AGE_MAX_S:
        raise TokenRefused("it is old, or does not say when it was issued")
    if not 0 < len(claims.jti) <= JTI_CHARS_MAX:
        raise TokenRefused("it has no id of its own")
    if not (claims.sub or claims.sid):
        raise TokenRefused("it names neither a subject nor a session")
    return LogoutToken(claims.sub, claims.sid, claims.jti)
