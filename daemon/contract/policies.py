"""What a company asks of its people, and second factors."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from daemon.contract.accounts import Code
from daemon.contract.base import Request, Response, example

DAYS_MAX = 36_500
TEMPLATES_MAX = 200
Role = Literal["viewer", "member", "manager", "admin", "owner"]


class PolicyChange(Request):
    """Members of a policy to change; those that are left out stay as they are."""

    model_config = example({"second_factor_from": "manager"})

    archive_after_days: int | None = Field(None, ge=1, le=DAYS_MAX, description="Days after its end; null for never.")
    second_factor_from: Role | None = None
    solo: bool = True
    passwords: bool = Field(True, description="False keeps them out where a provider vouches for the address.")  # noqa: FBT003
    templates: list[str] = Field(
        default_factory=list, max_length=TEMPLATES_MAX, description="Verticals of templates that the company can start."
    )


class Policy(Response):
    """What a company asks of its people.

    People of the role `second_factor_from` and of those above it need a second factor. With `solo`
    the only person of a company decides alone. Runs are archived `archive_after_days` after their
    end. `templates` are those that the company has chosen for itself; the page shows them first,
    and every other one can be started, too. Without `passwords` members whose address is of a
    domain that single sign-on maps to the company sign in by that alone.
    """

    model_config = example(
        {
            "archive_after_days": 365,
            "second_factor_from": "manager",
            "solo": True,
            "passwords": True,
            "templates": ["refund"],
        }
    )

    archive_after_days: int | None = None
    second_factor_from: Role | None = None
    solo: bool = True
    passwords: bool = True
    templates: tuple[str, ...] = ()


class SecondFactorRequest(Request):
    """The password of who enrols a second factor."""

    model_config = example({"password": "correct horse"})

    password: str = Field(max_length=1_000)


class SecondFactor(Response):
    """A secret for an app that makes codes; it counts once a code of it is confirmed."""

    model_config = example(
        {
            "secret": "JBSWY3DPEHPK3PXP",
            "uri": "otpauth://totp/Penstock:ada%40example.test?secret=JBSWY3DPEHPK3PXP&issuer=Penstock",
        }
    )

    secret: str = Field(repr=False)
    uri: str = Field(repr=False)


class SecondFactorCode(Request):
    """A code of a second factor."""

    model_config = example({"code": "123456"})

    code: Code


class RecoveryCodes(Response):
    """Codes that each stand in once for one of the app."""

    model_config = example({"recovery_codes": ["QXVN-MCT4-7Y2K-PLAD"]})

    recovery_codes: list[str] = Field(repr=False)


class SecondFactorRemoval(Request):
    """The password, and a code of the second factor."""

    model_config = example({"password": "correct horse", "code": "123456"})

    password: str = Field(max_length=1_000)
    code: Code
