"""The doctor asks the OpenID provider who it is, and tells both values where they differ."""

from __future__ import annotations

import asyncio
from typing import Any

from daemon.doctor.environment import Check, single_sign_on
from daemon.settings import Settings
from tests.openid_provider import CLIENT, OpenIdProvider


async def looked(issuer: str, **more: Any) -> Check:
    given: dict[str, Any] = {"egress_allow": "127.0.0.0/8", "egress_ports": f"{issuer.rstrip('/').rpartition(':')[2]}"}
    settings = Settings(
        oidc_issuer=issuer, oidc_client_id=CLIENT, public_url="http://127.0.0.1:8080", **{**given, **more}
    )
    (check,) = await asyncio.to_thread(lambda: list(single_sign_on(settings)))
    return check


def test_without_a_provider_there_is_nothing_to_check() -> None:
    assert list(single_sign_on(Settings())) == []


async def test_a_provider_that_fits_is_well() -> None:
    async with OpenIdProvider() as provider:
        assert (await looked(provider.url)).state == "ok"


async def test_an_issuer_with_a_slash_too_many_is_told_with_both_values() -> None:
    async with OpenIdProvider() as provider:
        check, url = await looked(provider.url + "/"), provider.url
    assert check.state == "problem"
    assert f"calls itself {url}, and PENSTOCK_OIDC_ISSUER is {url}/" in check.text


async def test_a_provider_that_the_egress_rules_refuse_is_told_as_that() -> None:
    async with OpenIdProvider() as provider:
        check = await looked(provider.url, egress_allow="")
    assert check.state == "problem"
    assert "may not be called" in check.text


async def test_a_provider_that_is_down_is_told_as_that() -> None:
    async with OpenIdProvider() as provider:
        provider.down = True
        check = await looked(provider.url)
    assert (check.state, "503" in check.text) == ("problem", True)
