"""Budgets: what one company or one network may use, so that others find what they need."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "PENSTOCK_"
TOO_MANY, FULL = "429 `quota_exceeded`", "507 `quota_exceeded`"
LIMITED, WAITS = "429 `rate_limited`", "waits"
UNMAILED = "`mailed: false`"
Count = Annotated[int, Field(ge=1)]


def _budget(default: int, beyond: str, counted: str) -> Any:
    return Field(default, description=counted, json_schema_extra={"beyond": beyond})


class Budgets(BaseSettings):
    """The one table of budgets. A name begins with whom the budget is for, and is a setting's."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    company_requests_max: Count = _budget(10_000, TOO_MANY, "requests of one company that wait for their turn")
    company_streams_max: Count = _budget(2_000, TOO_MANY, "live streams of one company")
    company_body_bytes_max: Count = _budget(
        33_554_432, TOO_MANY, "bytes of one company's request bodies that arrive or are worked on, with large values"
    )
    network_body_bytes_max: Count = _budget(
        8_388_608, TOO_MANY, "bytes of request bodies without a token that arrive from one network"
    )
    company_response_bytes_max: Count = _budget(
        67_108_864, TOO_MANY, "bytes of large answers that one company has asked for and not read yet"
    )
    company_runs_max: Count = _budget(1_000_000, FULL, "runs of one company, whatever their status")
    company_stored_bytes_max: Count = _budget(
        21_474_836_480, FULL, "bytes of the histories of one company's runs and of its log; refuses only what is new"
    )
    company_connectors_max: Count = _budget(1_000, FULL, "connectors of one company")
    company_webhooks_max: Count = _budget(20, FULL, "webhooks of one company")
    company_notifications_max: Count = _budget(1_000, FULL, "notifications of one company's members and groups")
    company_members_max: Count = _budget(10_000, FULL, "members of one company, with those invited")
    company_groups_max: Count = _budget(500, FULL, "groups of one company")
    company_delegations_max: Count = _budget(1_000, FULL, "delegations of one company that have not ended")
    company_templates_max: Count = _budget(200, FULL, "drafts of templates of one company")
    company_template_bytes_max: Count = _budget(
        256 * 1024 * 1024, FULL, "characters of drafts and versions of templates of one company"
    )
    company_api_keys_max: Count = _budget(100, FULL, "API keys of one company")
    company_calls_per_minute_max: Count = _budget(120_000, WAITS, "connector calls of one company in a minute")
    company_tests_per_minute_max: Count = _budget(
        60, TOO_MANY, "tests of connectors, webhooks and notifications of one company in a minute"
    )
    company_mailed_invitations_per_day_max: Count = _budget(
        500, TOO_MANY, "invitations of one company that are mailed in a day"
    )
    new_company_mailed_invitations_per_day_max: Count = _budget(
        20, TOO_MANY, "invitations of a company in its first week that are mailed in a day"
    )
    mailed_invitations_per_day_max: Count = _budget(
        20_000, UNMAILED, "invitations of all companies that are mailed in a day"
    )
    address_mailed_invitations_per_day_max: Count = _budget(
        2, UNMAILED, "invitations that are mailed in a day to an address that has not accepted one since"
    )
    company_drafts_per_minute_max: Count = _budget(
        10, TOO_MANY, "drafts of one company in a minute that a language model is asked for"
    )
    network_connections_max: Count = _budget(
        2_500, TOO_MANY, "connections from one network, at most a quarter of all; not from this machine or a proxy"
    )
    network_registrations_per_minute_max: Count = _budget(60, LIMITED, "registrations from one network in a minute")
    network_registrations_per_day_max: Count = _budget(1_000, LIMITED, "registrations from one network in a day")
    network_failed_logins_per_minute_max: Count = _budget(30, LIMITED, "wrong passwords from one network in a minute")
    network_forgotten_passwords_per_hour_max: Count = _budget(
        60, LIMITED, "links for a new password that one network asks for in an hour"
    )
    account_forgotten_passwords_per_hour_max: Count = _budget(
        5, LIMITED, "links for a new password that are asked for one address in an hour"
    )
    account_failed_logins_per_minute_max: Count = _budget(
        5, LIMITED, "wrong passwords for one account from one network in a minute"
    )


class BudgetExceeded(Exception):
    """A company has used up what it may store."""

    def __init__(self, budget: str, limit: int, detail: str) -> None:
        super().__init__(detail)
        self.budget = budget
        self.limit = limit


class Row(NamedTuple):
    """A budget, what happens beyond it, and what is counted."""

    name: str
    default: int
    beyond: str
    counted: str

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper()


def table() -> list[Row]:
    return [_row(name, field) for name, field in Budgets.model_fields.items()]


def _row(name: str, field: Any) -> Row:
    return Row(name, field.default, field.json_schema_extra["beyond"], field.description)


class Usage(NamedTuple):
    """The runs of a company, and the bytes of their histories and of its own log."""

    runs: int = 0
    stored_bytes: int = 0
