"""Checks of the OpenID provider: whether it answers, and fits the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from daemon.connectors.egress import egress_guard
from daemon.doctor.checks import Check, ok, problem
from daemon.settings import Settings
from daemon.sso.provider import Client, Provider, ProviderUnavailable, ProviderUnfit, insecure, open_session

NAME = "single sign-on"


def single_sign_on(settings: Settings) -> Iterator[Check]:
    """Read what the provider says of itself, if there is one."""
    if not settings.oidc_issuer:
        return
    if (reason := insecure(settings.oidc_issuer)) is not None:
        yield problem(NAME, f"{settings.oidc_issuer}: {reason}", "correct PENSTOCK_OIDC_ISSUER")
        return
    yield asyncio.run(_reached(settings))


async def _reached(settings: Settings) -> Check:
    client = Client(settings.oidc_issuer, settings.oidc_client_id, "", "")
    guard = egress_guard(settings.egress_allow, settings.egress_hosts, settings.egress_ports)
    async with open_session(guard) as session:
        try:
            metadata = await Provider(client, session).metadata()
        except ProviderUnfit as unfit:
            return problem(NAME, f"the provider does not fit: {unfit}", "correct the PENSTOCK_OIDC_ settings")
        except ProviderUnavailable as unavailable:
            hint = "see that it is up, and that this machine may call it"
            return problem(NAME, f"{settings.oidc_issuer}: {unavailable}", hint)
    return ok(NAME, f"{metadata.issuer} is there and signs by {', '.join(sorted(metadata.algorithms))}")
