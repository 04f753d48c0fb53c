"""What a company sets: its calendar, its policy, and what is cleared without a human."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, StrictBool

from daemon.contract.base import Remark, Request, Response, example

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
HOLIDAYS_MAX = 1_000
WEEKEND_MAX = 6
YEAR_MIN, YEAR_MAX = 2000, 2100
COUNTRY = r"[A-Z]{2,3}"
SUBDIVISION = r"[A-Za-z0-9][A-Za-z0-9 -]{0,39}"
_DAY = r"\d{4}-\d{2}-\d{2}"


@cache
def time_zones() -> frozenset[str]:
    """The names of the time zones that every machine with this version knows."""
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


def _zone(value: str) -> str:
    if value not in time_zones():
        raise ValueError("is no time zone of the IANA database, such as Europe/Vienna")
    return value


def _day(value: str) -> str:
    with suppress(ValueError):
        if re.fullmatch(_DAY, value, re.ASCII):
            return date.fromisoformat(value).isoformat()
    raise ValueError("is no date such as 2026-12-25")


Zone = Annotated[str, Field(max_length=64, json_schema_extra={"pattern": "^[A-Za-z0-9_+/-]+$"}), AfterValidator(_zone)]
Day = Annotated[str, Field(json_schema_extra={"format": "date"}), AfterValidator(_day)]


class CalendarChange(Request):
    """Members of a calendar to change; those that are left out stay as they are."""

    model_config = example({"timezone": "Europe/Vienna", "holidays": ["2026-12-25", "2027-01-01"]})

    timezone: Zone = "UTC"
    weekend: list[Weekday] = Field(default=["saturday", "sunday"], max_length=WEEKEND_MAX)
    holidays: list[Day] = Field(default=[], max_length=HOLIDAYS_MAX)


class Calendar(Response):
    """The business days of a company: all but weekend and holidays, as days begin in its zone."""

    model_config = example(
        {"timezone": "Europe/Vienna", "weekend": ["saturday", "sunday"], "holidays": ["2026-12-25", "2027-01-01"]}
    )

    timezone: str
    weekend: list[str]
    holidays: list[str]


class Holiday(Response):
    """A holiday and its name, in English where that is known."""

    date: str
    name: str


class Holidays(Response):
    """The public holidays of a country, or of a part of one, in a year."""

    model_config = example(
        {
            "country": "AT",
            "subdivision": None,
            "year": 2027,
            "holidays": [{"date": "2027-01-01", "name": "New Year's Day"}],
        }
    )

    country: str
    subdivision: str | None
    year: int
    holidays: list[Holiday]


DAYS_MAX = 36_500
TEMPLATES_MAX = 200
Role = Literal["viewer", "member", "manager", "admin", "owner"]


READERS_MAX = 100
FunctionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,63}$")]
GroupName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]


class NamedReaders(Request):
    """Who reads the runs of a template beside those who may decide in them; each suffices."""

    functions: list[FunctionName] = Field(default_factory=list, max_length=READERS_MAX)
    groups: list[GroupName] = Field(default_factory=list, max_length=READERS_MAX)
    role: Role | None = None
    starter: bool = Field(False, description="Whether who started a run reads it.")  # noqa: FBT003


FUNCTION_ID = r"^[a-z][a-z0-9-]{0,63}$"
ChangeAct = Literal["publish_laxer", "go_live", "policy_off"]


class ChangeGates(Request):
    """Which acts another person approves: those who fill the function, or else an admin."""

    acts: list[ChangeAct] = Field(min_length=1, max_length=3)
    function: Annotated[str, Field(pattern=FUNCTION_ID)] | None = None


class ActionTerms(Request):
    """How long an agent has to tell the outcome of a call that it made; then it is in doubt."""

    outcome_within: Annotated[str, Field(max_length=40)] = "PT10M"


class PolicyChange(Request):
    """Members of a policy to change; those that are left out stay as they are."""

    model_config = example({"second_factor_from": "manager"})

    archive_after_days: int | None = Field(None, ge=1, le=DAYS_MAX, description="Days after its end; null for never.")
    second_factor_from: Role | None = None
    solo: bool = True
    functions: Literal["optional", "required"] = Field(
        "optional", description="Whether each function around a tool is bound before its connector goes live."
    )
    passwords: bool = Field(True, description="False keeps them out where a provider vouches for the address.")  # noqa: FBT003
    change_gates: ChangeGates | None = Field(
        None, description="Which changes wait for another person; null for none. A company of one waits for nobody."
    )
    templates: list[str] = Field(
        default_factory=list, max_length=TEMPLATES_MAX, description="Verticals of templates that the company can start."
    )
    readers: dict[str, NamedReaders] = Field(
        default_factory=dict,
        max_length=TEMPLATES_MAX,
        description="By vertical those who alone read its runs, beside those who may decide in them.",
    )
    actions: ActionTerms | None = Field(None, description="Terms for the actions of agents; null for the usual ones.")


class ReadersShown(Response):
    """Who reads the runs of a template beside those who may decide in them."""

    functions: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    role: Role | None = None
    starter: bool = False


class ChangeGateTerms(Response):
    """Which acts another person approves, and who: the function's people, or else an admin."""

    acts: tuple[ChangeAct, ...]
    function: str | None = None


class ActionTermsShown(Response):
    """How long an agent has to tell the outcome of a call that it made; then it is in doubt."""

    outcome_within: str = "PT10M"


class Policy(Response):
    """What a company asks of its people.

    People of the role `second_factor_from` and of those above it need a second factor. With `solo`
    the only person of a company decides alone. Runs are archived `archive_after_days` after their
    end. `templates` are those that the company has chosen for itself; the page shows them first,
    and every other one can be started, too. Without `passwords` members whose address is of a
    domain that single sign-on maps to the company sign in by that alone. Where `functions` are
    `required` no connector goes live while a function is unbound of a template that uses its tool.
    Of the verticals in `readers` those read runs whom it names, where the template lets them, and
    who may decide there. What `change_gates` names waits for another person's approval. `actions`
    are terms for the actions of agents.
    """

    model_config = example(
        {
            "archive_after_days": 365,
            "second_factor_from": "manager",
            "solo": True,
            "readers": {},
            "passwords": True,
            "functions": "optional",
            "change_gates": None,
            "actions": {"outcome_within": "PT10M"},
            "templates": ["refund"],
        }
    )

    archive_after_days: int | None = None
    second_factor_from: Role | None = None
    solo: bool = True
    passwords: bool = True
    functions: Literal["optional", "required"] = "optional"
    change_gates: ChangeGateTerms | None = None
    templates: tuple[str, ...] = ()
    readers: dict[str, ReadersShown] = Field(default_factory=dict)
    actions: ActionTermsShown = ActionTermsShown()


class GatedChange(Response):
    """What was asked for and waits for another person, or was decided.

    `digest` is of exactly what is done once it is approved, `asked` shows that without any secret.
    An open one expires. It is `stale` where what it stood on had changed when it was approved.
    `why_not` says why the caller may not decide an open one: they asked for it or made the key that
    did (`asked`), or others decide it (`not_entitled`). A rule for actions that was proposed
    (`action_rule`) is accepted by any admin.
    """

    model_config = example(
        {
            "id": "0199c1f0-0000-7000-8000-000000000021",
            "act": "policy_off",
            "what": "policy",
            "digest": "sha256:3f0a377ba0a4a460ecb616f6507ce0d8cfa3e704025d4fda3ed0c5ca05468728",
            "by": "ada@example.test",
            "by_kind": "person",
            "at": "2026-11-30T09:00:00Z",
            "expires_at": "2026-12-07T09:00:00Z",
            "asked": {"policy": {"solo": True}},
            "status": "open",
            "why_not": None,
            "decided_at": None,
            "decided_by": None,
            "comment": None,
        }
    )

    id: str
    act: ChangeAct | Literal["action_rule"]
    what: str
    digest: str
    by: str
    by_kind: Literal["person", "service", "agent"] = "person"
    at: datetime
    expires_at: datetime
    asked: dict[str, Any] = Field(default_factory=dict)
    status: Literal["open", "approved", "denied", "stale", "expired"] = "open"
    why_not: Literal["asked", "not_entitled"] | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None
    comment: str | None = None


class ChangeVerdict(Request):
    """A decision about a change, by the digest that was shown."""

    model_config = example(
        {
            "digest": "sha256:3f0a377ba0a4a460ecb616f6507ce0d8cfa3e704025d4fda3ed0c5ca05468728",
            "comment": "as agreed",
        }
    )

    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    comment: Remark | None = None


BOUND_TO_MAX = 1_000
_MEMBER = "0199c1f0-0000-7000-8000-000000000007"


class FunctionBinding(Request):
    """Who fills a function: the members of these groups, and these members by their ids."""

    groups: list[Annotated[str, Field(max_length=64)]] = Field(default_factory=list, max_length=BOUND_TO_MAX)
    members: list[Annotated[str, Field(max_length=64)]] = Field(default_factory=list, max_length=BOUND_TO_MAX)


class FunctionsChange(Request):
    """Functions to bind, by id; those that are left out stay as they are.

    One with empty lists is bound no more: then its role stands in.
    """

    model_config = ConfigDict(
        extra="allow", json_schema_extra={"examples": [{"medical-director": {"groups": ["physicians"], "members": []}}]}
    )

    __pydantic_extra__: dict[Annotated[str, Field(pattern=FUNCTION_ID)], FunctionBinding] = Field(init=False)


class FunctionUse(Response):
    """Where a template asks for a function, what it is called there, and which role stands in."""

    vertical: str
    steps: tuple[str, ...]
    label: str
    role: str


class Function(Response):
    """A function that templates name, or that is bound: who fills it, and where it is asked for.

    While it is not bound the `role` stands in, which is null where no template names it. `people`
    counts the active members who fill it.
    """

    label: str
    role: str | None = None
    groups: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    bound: bool
    people: int = 0
    used_by: tuple[FunctionUse, ...] = ()


class Functions(Response):
    """The functions of a company, by id."""

    model_config = example(
        {
            "medical-director": {
                "label": "Medical director",
                "role": "manager",
                "groups": ["physicians"],
                "members": [],
                "bound": True,
                "people": 3,
                "used_by": [
                    {"vertical": "refund", "steps": ["signoff"], "label": "Medical director", "role": "manager"}
                ],
            }
        }
    )

    __pydantic_extra__: dict[str, Function] = Field(init=False)


LEARNABLE_MAX = 200
THRESHOLD_MIN, THRESHOLD_MAX = 0.5, 0.999
SAMPLE_MAX = 1_000
STEP = r"^[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*$"
_EXAMPLE = {
    "auto_resolve": True,
    "confidence_floor": 0.7,
    "irreversible_floor": 0.95,
    "learnable": {"refund/refund": {"threshold": 0.95, "sample_one_in": 5}},
}

Floor = Annotated[float, Field(ge=0, le=1, strict=True)]
StepName = Annotated[str, Field(pattern=STEP, max_length=200)]


class LearnableStep(Request):
    """Above which agreement of people a step is cleared alone, and how many people still see."""

    threshold: float = Field(0.95, ge=THRESHOLD_MIN, le=THRESHOLD_MAX, strict=True)
    sample_one_in: int = Field(5, ge=1, le=SAMPLE_MAX, strict=True)


class AutonomyChange(Request):
    """Members of the settings to change; those that are left out stay as they are."""

    model_config = example(_EXAMPLE)

    auto_resolve: StrictBool = True
    confidence_floor: Floor = 0.70
    irreversible_floor: Floor = 0.95
    learnable: dict[StepName, LearnableStep] = Field(
        default_factory=dict, max_length=LEARNABLE_MAX, description="By `<vertical>/<step>`."
    )


class Learnable(Response):
    """Above which agreement of people a step is cleared alone, and how many people still see."""

    threshold: float
    sample_one_in: int


class Autonomy(Response):
    """What a company lets be cleared without a human.

    Without `auto_resolve` nothing is. A panel clears a step once people approve at least so often
    as the floor says. A step of `learnable` is also cleared once people agree with its panel above
    its own threshold.
    """

    model_config = example(_EXAMPLE)

    auto_resolve: bool
    confidence_floor: float
    irreversible_floor: float
    learnable: dict[str, Learnable]
