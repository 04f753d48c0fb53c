"""What the protocol says: bodies of requests, strictly, and a request as it stands."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

import msgspec

from actors.core.actions.deciding import ActionFacts
from actors.core.commands.deadlines import EXPIRED
from actors.core.commands.handovers import granted, reported
from actors.core.run import Run
from daemon.aap.exact import held, is_exact
from daemon.runtime.json_codec import dumps

Status = Literal["pending", "approved", "denied", "expired", "cancelled"]
NAME_CHARS_MAX = 500
TIMEOUT_MAX = timedelta(days=366)
WAIT_MAX_S = 30.0
_SECONDS = {"s": 1, "m": 60, "h": 3_600}
INSTANCE_CHARS_MAX, URL_CHARS_MAX = 100, 2_000
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=")
_TIME = re.compile(r"(0|[1-9][0-9]{0,8})([smh])")


class AapMisfit(Exception):
    """A body, or a parameter of an address, is not what the protocol says."""

    def __init__(self, detail: str, param: str | None = None, code: str = "invalid_request") -> None:
        super().__init__(detail)
        self.detail, self.param, self.code = detail, param, code


class Asked(NamedTuple):
    """A request for an approval; `written` is what it says where numbers are kept as text."""

    tool: str
    server: str | None
    arguments: dict[str, Any]
    timeout: str
    patience: timedelta
    reasoning: str | None
    context: dict[str, Any] | None
    written: str | None


def asked(value: Any) -> Asked:
    """The body of a request for an approval; AapMisfit for another."""
    body = members(value, ("tool", "arguments", "timeout"), ("server", "agent_reasoning", "context"))
    arguments, context = body["arguments"], body.get("context")
    for name, one in (("arguments", arguments), ("context", context)):
        if one is not None and not isinstance(one, dict):
            raise AapMisfit("has to be an object", name)
    reasoning = body.get("agent_reasoning")
    if reasoning is not None and not isinstance(reasoning, str):
        raise AapMisfit("has to be a string", "agent_reasoning")
    said = {"arguments": arguments} if context is None else {"arguments": arguments, "context": context}
    return Asked(
        tool=text(body, "tool", NAME_CHARS_MAX),
        server=text(body, "server", NAME_CHARS_MAX) if "server" in body else None,
        arguments=held(arguments),
        timeout=text(body, "timeout", NAME_CHARS_MAX),
        patience=_patience(body["timeout"]),
        reasoning=reasoning,
        context=None if context is None else held(context),
        written=None if is_exact(said) else dumps(said).decode(),
    )


class Destination(NamedTuple):
    """Where an instance is told of decisions, and what signs that."""

    url: str
    registration_id: str
    signing_secret: str


def provisioned(value: Any) -> tuple[str | None, Destination | None]:
    """The name of a new instance, and where it is told of decisions, if it says so."""
    body = members(value, (), ("instance_name", "delivery"))
    name = text(body, "instance_name", INSTANCE_CHARS_MAX) if "instance_name" in body else None
    return name, _delivery(body["delivery"]) if "delivery" in body else None


def repatched(value: Any) -> tuple[str | None, Destination | None, bool]:
    """A new name, a new place, and whether a place was said: null takes it away."""
    if not isinstance(value, dict) or not value:
        raise AapMisfit("The body has to say what is changed.")
    said = {name: one for name, one in value.items() if not (name == "delivery" and one is None)}
    name, delivery = provisioned(said)
    return name, delivery, "delivery" in value


def _delivery(value: Any) -> Destination:
    if isinstance(value, dict) and isinstance(value.get("type"), str) and value["type"] != "webhook":
        raise AapMisfit("is delivered by webhook alone", "delivery.type", "unsupported_delivery_type")
    try:
        body = members(value, ("type", "url", "registration_id", "signing_secret"))
        for name in body:
            text(body, name, URL_CHARS_MAX)
    except AapMisfit as wrong:
        raise AapMisfit(wrong.detail, "delivery" if wrong.param is None else f"delivery.{wrong.param}") from None
    if not _UUID.fullmatch(body["registration_id"]):
        raise AapMisfit("has to be a UUID", "delivery.registration_id")
    if not _SECRET.fullmatch(body["signing_secret"]):
        raise AapMisfit("has to be whsec_ and 32 bytes as base64", "delivery.signing_secret")
    return Destination(body["url"], body["registration_id"], body["signing_secret"])


def stamp(at: datetime) -> str:
    """A time as the protocol writes it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def told(value: Any) -> tuple[Literal["succeeded", "failed"], str | None]:
    """Status and note of the outcome of a call."""
    body = members(value, ("status",), ("note",))
    status = body["status"]
    if status not in ("succeeded", "failed"):
        raise AapMisfit("has to be succeeded or failed", "status")
    return status, text(body, "note") if "note" in body else None


def members(value: Any, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object of these members and no others, none of which is null."""
    if not isinstance(value, dict):
        raise AapMisfit("The body has to be a JSON object.")
    for name, one in value.items():
        if name not in required and name not in optional:
            raise AapMisfit("is not a member of this object", name)
        if one is None:
            raise AapMisfit("must not be null", name)
    for name in required:
        if name not in value:
            raise AapMisfit("is required", name)
    return value


def text(body: dict[str, Any], name: str, most: int | None = None) -> str:
    """A member that is a text, and not empty."""
    found = body[name]
    if not isinstance(found, str) or not found:
        raise AapMisfit("has to be a string that is not empty", name)
    if most is not None and len(found) > most:
        raise AapMisfit(f"has at most {most} characters", name)
    return found


def wait_s(given: str | None) -> float:
    """How long a reader waits for a decision, as `25s` says it."""
    if given is None:
        return 0.0
    found = _TIME.fullmatch(given)
    if found is None:
        raise AapMisfit("has to be a time such as 25s", "wait")
    return min(float(int(found[1]) * _SECONDS[found[2]]), WAIT_MAX_S)


def _patience(given: str) -> timedelta:
    found = _TIME.fullmatch(given)
    time = timedelta() if found is None else timedelta(seconds=int(found[1]) * _SECONDS[found[2]])
    if not time or time > TIMEOUT_MAX:
        raise AapMisfit("has to be a time such as 30s, 10m or 24h, of a year at most", "timeout")
    return time


def status_of(run: Run) -> Status:
    """How a request stands: what was decided once stays, whatever becomes of the call."""
    if granted(run) is not None:
        return "approved"
    if run.ended is None:
        return "pending"
    if run.ended.status == "cancelled":
        return "cancelled"
    return "expired" if run.ended.outcome == EXPIRED else "denied"


def request_json(run: Run) -> dict[str, Any]:
    """The request as the protocol shows it."""
    facts = run.action
    assert facts is not None and facts.deadline_at is not None  # noqa: S101, PT018 - it was asked for so
    shown: dict[str, Any] = {"id": run.id, "tool": facts.tool}
    if facts.server is not None:
        shown["server"] = facts.server
    said = _said(run, facts)
    shown |= {"arguments": said["arguments"], "timeout": facts.timeout}
    if facts.reasoning is not None:
        shown["agent_reasoning"] = facts.reasoning
    if "context" in said:
        shown["context"] = said["context"]
    status = status_of(run)
    shown |= {"status": status, "created_at": run.created_at, "deadline_at": facts.deadline_at}
    if status != "pending":
        shown["decision"] = _decision(run, status)
    if (consumption := _consumption(run)) is not None:
        shown["consumption"] = consumption
    return shown


def decided_at(run: Run) -> datetime | None:
    """When the request was decided; None while it was not."""
    visit = granted(run)
    if visit is not None and visit.grant is not None:
        return visit.grant.granted_at
    return None if run.ended is None else run.ended.at


def _said(run: Run, facts: ActionFacts) -> dict[str, Any]:
    if facts.written is not None:
        return msgspec.json.decode(facts.written, type=dict[str, msgspec.Raw])
    return {"arguments": run.inputs} if facts.context is None else {"arguments": run.inputs, "context": facts.context}


def _decision(run: Run, status: Status) -> dict[str, Any]:
    shown: dict[str, Any] = {"status": status}
    visit = granted(run)
    if (note := _note(run)) is not None:
        shown["note"] = note
    shown["decided_at"] = decided_at(run)
    if visit is not None and visit.grant is not None:
        shown["expires_at"] = visit.grant.expires_at
    return shown


def _note(run: Run) -> str | None:
    visit = granted(run)
    about = (visit,) if visit is not None else tuple(reversed(run.trace))
    verdict = next((one.verdict for one in about if one.verdict is not None), None)
    if verdict is not None:
        return verdict.comment or verdict.code or None
    reason = None if visit is not None or run.ended is None else run.ended.reason
    return reason or None


def _consumption(run: Run) -> dict[str, Any] | None:
    visit = granted(run)
    if visit is None or visit.grant is None or visit.grant.consumed_at is None:
        return None
    shown: dict[str, Any] = {"consumed_at": visit.grant.consumed_at}
    if (outcome := reported(run)) is not None and "status" in outcome:
        said = {name: outcome[name] for name in ("status", "note") if name in outcome}
        shown["outcome"] = {**said, "reported_at": _reported_at(run, outcome)}
    return shown


def _reported_at(run: Run, outcome: dict[str, Any]) -> datetime:
    """When the agent told the outcome: with the visit that has it."""
    found = (one.ended_at for one in reversed(run.trace) if one.output is outcome and one.ended_at is not None)
    return next(found, run.updated_at)
