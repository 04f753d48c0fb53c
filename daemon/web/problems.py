"""Problems: the one place where a refusal becomes a status and a body (RFC 9457)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiohttp import web

from actors.actor import Overloaded, Stopped
from actors.core.messages import Rejected
from actors.ports import StoreFailed
from daemon.identity.accounts import InvalidCredentials, NoCompany, NotAuthenticated
from daemon.identity.password_resets import ResetExpired
from daemon.identity.passwords import Busy
from daemon.identity.proofs import Missing, ProofMissing
from daemon.identity.second_factors import AlreadyEnrolled, CodeRequired, WrongCode
from daemon.identity.tokens import MembershipEnded, OutOfScope
from daemon.model import CallerChanged, DiskFull, EmailTaken, MembershipConflict
from daemon.model.budgets import BudgetExceeded
from daemon.model.retention.records import Archived, HistoryArchived
from daemon.runtime.json_codec import dumps
from daemon.sso.arrivals import LogInNeeded, NotVerified
from daemon.sso.provider import ProviderUnavailable, ProviderUnfit
from daemon.sso.service import SignInFailed

T = TypeVar("T")
RETRY_AFTER_S = 1
SERVER = "penstock"
ENCODINGS = ("identity", "gzip", "deflate")
OVERLOADED = "Too much is waiting here already; try again shortly."
_STATUS = {
    "malformed_json": (400, "Malformed JSON"),
    "malformed_cursor": (400, "Malformed cursor"),
    "malformed_xml": (400, "Malformed XML"),
    "no_process": (400, "No process"),
    "malformed_request": (400, "Malformed request"),
    "idempotency_key_required": (400, "Idempotency key required"),
    "not_authenticated": (401, "Not authenticated"),
    "invalid_credentials": (401, "Invalid credentials"),
    "forbidden": (403, "Forbidden"),
    "not_found": (404, "Not found"),
    "method_not_allowed": (405, "Method not allowed"),
    "request_timeout": (408, "Request timeout"),
    "gate_mismatch": (409, "Gate mismatch"),
    "not_parked": (409, "Not parked"),
    "email_taken": (409, "E-mail taken"),
    "already_exists": (409, "Already exists"),
    "already_member": (409, "Already a member"),
    "last_owner": (409, "Last owner"),
    "conflict": (409, "Conflict"),
    "not_cancellable": (409, "Not cancellable"),
    "not_retryable": (409, "Not retryable"),
    "already_decided": (409, "Already decided"),
    "already_answered": (409, "Already answered"),
    "not_for_aap": (409, "Not for AAP"),
    "not_proposable": (409, "Not proposable"),
    "batch_refused": (409, "Not in a batch"),
    "run_ended": (409, "Run ended"),
    "retired": (409, "Retired"),
    "functions_unbound": (409, "Functions unbound"),
    "not_migratable": (409, "Not migratable"),
    "not_promotable": (409, "Not promotable"),
    "not_redactable": (409, "Not redactable"),
    "not_awaited": (409, "Not awaited"),
    "archived": (410, "Archived"),
    "history_changed": (410, "History changed"),
    "reset_expired": (410, "Reset expired"),
    "invitation_expired": (410, "Invitation expired"),
    "change_expired": (410, "Change expired"),
    "stale": (412, "Stale"),
    "changed": (412, "Changed"),
    "too_large": (413, "Too large"),
    "unsupported_media_type": (415, "Unsupported media type"),
    "invalid": (422, "Invalid"),
    "decision_not_allowed": (422, "Decision not allowed"),
    "idempotency_key_reused": (422, "Idempotency key reused"),
    "rate_limited": (429, "Rate limited"),
    "quota_exceeded": (429, "Quota exceeded"),
    "internal_error": (500, "Internal error"),
    "overloaded": (503, "Overloaded"),
    "mcp_not_installed": (501, "MCP not installed"),
    "paused": (503, "Paused"),
    "draining": (503, "Draining"),
    "provider_unfit": (502, "Provider unfit"),
    "provider_unavailable": (503, "Provider unavailable"),
    "store_unavailable": (503, "Store unavailable"),
}
_MISSING: dict[Missing, str] = {
    "password": "Single sign-on does not count in this company: give the password, and the code if there is one.",
    "single_sign_on": "This company takes no passwords of yours: sign in by single sign-on.",
    "second_factor": "The company asks for a second factor: enrol one, or sign in with it, before anything else.",
}
_RETRYABLE = frozenset(
    {"request_timeout", "rate_limited", "overloaded", "draining", "provider_unavailable", "store_unavailable"}
)
INTERNAL, UNAVAILABLE = 500, 503
FULL = 507
"""The status of `quota_exceeded` where waiting does not help: only what is stored can make room."""


AAP = "/aap/"
"""Below it errors have the form of the Agent Approval Protocol."""
_AAP_TYPES = {401: "authentication", 403: "authorization", 404: "not_found", 409: "conflict", 429: "rate_limit"}
_AAP_CODES = {
    "invalid": "invalid_request",
    "malformed_json": "invalid_request",
    "idempotency_key_reused": "idempotency_conflict",
}
_AAP_STATUS = {"invalid": 400, "idempotency_key_reused": 409}


def codes() -> list[tuple[str, int, bool]]:
    """Every code there is, its status, and whether to repeat the request may help."""
    found = [*((code, status) for code, (status, _) in _STATUS.items()), ("quota_exceeded", FULL)]
    return [(code, status, _retryable(code, status)) for code, status in found]


def _retryable(code: str, status: int) -> bool:
    return code in _RETRYABLE or (code == "quota_exceeded" and status != FULL)


@dataclass(slots=True, eq=False)
class HttpProblem(Exception):
    """A refusal in the contract's terms: a code, a sentence, further members and headers."""

    code: str
    detail: str
    more: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    other_status: int | None = None

    @property
    def status(self) -> int:
        return self.other_status or _STATUS[self.code][0]

    def body(self, request_id: str) -> bytes:
        return dumps(
            {
                "type": f"urn:penstock:problem:{self.code}",
                "title": _STATUS[self.code][1],
                "status": self.status,
                "detail": self.detail,
                "code": self.code,
                "request_id": request_id,
                "retryable": _retryable(self.code, self.status),
                **self.more,
            }
        )


def aap_error(problem: HttpProblem, request_id: str) -> tuple[int, bytes]:
    """Status and body of a problem as the Agent Approval Protocol says it."""
    status = _AAP_STATUS.get(problem.code, problem.status)
    if status == FULL:
        status = 429
    kind = _AAP_TYPES.get(status) or ("invalid_request" if status < INTERNAL else "internal")
    error: dict[str, Any] = {
        "type": "dependency" if status == UNAVAILABLE else kind,
        "code": _AAP_CODES.get(problem.code, problem.code),
        "message": problem.detail,
        "request_id": request_id,
    }
    param = problem.more.get("param") or next((one["pointer"][1:] for one in problem.more.get("errors", ())), None)
    return status, dumps({"error": {**error, **({"param": param} if param else {})}})


def not_found(detail: str = "There is nothing here under this address.") -> HttpProblem:
    return HttpProblem("not_found", detail)


def existing(value: T | None) -> T:
    """The value; 404 where there is none."""
    if value is None:
        raise not_found()
    return value


def invalid(*errors: tuple[str, str]) -> HttpProblem:
    """Fields that do not hold, each as a JSON pointer and a sentence."""
    found = [{"pointer": pointer, "detail": detail} for pointer, detail in errors]
    where = f" at {found[0]['pointer']}" if found[0]["pointer"] else ""
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return HttpProblem("invalid", f"Not valid{where}: {found[0]['detail'].rstrip('.')}{more}.", {"errors": found})


def pointer(*names: int | str) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(name).replace("~", "~0").replace("/", "~1") for name in names)


def unsupported_encoding() -> HttpProblem:
    return HttpProblem("unsupported_media_type", f"A body can be encoded as one of: {', '.join(ENCODINGS)}.")


def not_authenticated(*, sent: bool, ended: bool = False) -> HttpProblem:
    """401, which tells the holder of a token that counted whether the membership has ended."""
    challenge, detail = "Bearer", "This needs a bearer token in the Authorization header."
    if sent:
        challenge = 'Bearer error="invalid_token"'
        detail = "The bearer token is not valid, or not any more: log in for another."
    more = {"reason": "membership_ended"} if ended else {}
    return HttpProblem("not_authenticated", detail, more, {"WWW-Authenticate": challenge})


def proof_missing(missing: Missing) -> HttpProblem:
    """What a session has to prove before it counts in a company."""
    return HttpProblem("forbidden", _MISSING[missing], {"required": None, "reason": missing})


def quota_exceeded(budget: str, limit: int, detail: str, *, retry_after_s: int | None = RETRY_AFTER_S) -> HttpProblem:
    """A budget that is used up: 429, or 507 where no time is known after which there is room."""
    more: dict[str, Any] = {"limit": limit, "budget": budget}
    if retry_after_s is None:
        return HttpProblem("quota_exceeded", detail, more, other_status=FULL)
    return HttpProblem("quota_exceeded", detail, more, {"Retry-After": str(retry_after_s)})


def email_taken() -> HttpProblem:
    return HttpProblem("email_taken", "There is an account with this e-mail address.")


def archived(one: Archived, detail: str = "What this run did is in its archive.") -> HttpProblem:
    more = {"archived_at": one.archived_at, "sha256": one.form.sha256}
    return HttpProblem("archived", detail, more)


def rejection_problem(refusal: Rejected) -> HttpProblem:
    more = dict(refusal.more)
    if refusal.code == "not_found":
        return not_found()
    if refusal.code == "quota_exceeded":
        return quota_exceeded(more["budget"], more["limit"], refusal.detail)
    if "tag" in more:
        more["etag"] = etag(more.pop("tag"))
    return HttpProblem(refusal.code, refusal.detail, more)


def etag(tag: str) -> str:
    return f'"{tag}"'


def unavailable(code: str, detail: str, outcome: str = "not_applied") -> HttpProblem:
    """A problem of the service; `outcome` says whether the request may have been applied."""
    return HttpProblem(code, detail, {"outcome": outcome}, {"Retry-After": str(RETRY_AFTER_S)})


def stopping(outcome: str) -> HttpProblem:
    return unavailable("draining", "The service is stopping; try again when it is back.", outcome)


def unforeseen() -> HttpProblem:
    return HttpProblem("internal_error", "Something went wrong here; the request id helps to find out what.")


def in_doubt(problem: HttpProblem) -> HttpProblem:
    """The same, where an earlier request under the same key may still become durable."""
    if problem.more.get("outcome") != "not_applied":
        return problem
    return HttpProblem(problem.code, problem.detail, {**problem.more, "outcome": "unknown"}, problem.headers)


def problem_of(error: Exception) -> HttpProblem | None:
    """The problem that an exception means; None for one that nobody foresaw."""
    match error:
        case HttpProblem():
            return error
        case NotAuthenticated():
            return not_authenticated(sent=True, ended=isinstance(error, MembershipEnded))
        case InvalidCredentials() | CodeRequired() | AlreadyEnrolled() | NoCompany() | ResetExpired():
            return _of_credentials(error)
        case EmailTaken() | ProofMissing() | MembershipConflict() | OutOfScope():
            return _of_person(error)
        case HistoryArchived():
            return archived(error.archived)
        case BudgetExceeded():
            return quota_exceeded(error.budget, error.limit, str(error), retry_after_s=None)
        case web.HTTPException():
            return _of_http(error)
        case _:
            return _of_sign_on(error) or _of_trouble(error)


def _of_person(error: EmailTaken | ProofMissing | MembershipConflict | OutOfScope) -> HttpProblem:
    match error:
        case OutOfScope():
            return HttpProblem("forbidden", str(error), {"required": error.required, "reason": "scope"})
        case EmailTaken():
            return email_taken()
        case ProofMissing():
            return proof_missing(error.missing)
        case CallerChanged(role=None):
            return not_authenticated(sent=True, ended=True)
        case _:
            whose = "Your own role" if isinstance(error, CallerChanged) else "The member"
            return HttpProblem("conflict", f"{whose} was changed in the same moment; look again.")


def _of_credentials(
    error: InvalidCredentials | CodeRequired | AlreadyEnrolled | NoCompany | ResetExpired,
) -> HttpProblem:
    match error:
        case NoCompany():
            detail = "You are no member of a company here: ask for an invitation."
            return HttpProblem("forbidden", detail, {"reason": "no_company"})
        case ResetExpired():
            return HttpProblem("reset_expired", "This link was used, or has expired; ask for another.")
        case AlreadyEnrolled():
            return HttpProblem("already_exists", "There is a second factor; remove it before another is enrolled.")
        case CodeRequired():
            detail = "The password is right; a code of the second factor is needed, too."
            return HttpProblem("invalid_credentials", detail, {"second_factor": "required"})
        case WrongCode():
            detail = "The code of the second factor is wrong, or was used before."
            return HttpProblem("invalid_credentials", detail, {"second_factor": "invalid"})
        case _:
            return HttpProblem("invalid_credentials", "The e-mail address and the password do not belong together.")


def _of_sign_on(error: Exception) -> HttpProblem | None:
    match error:
        case ProviderUnfit():
            return HttpProblem(
                "provider_unfit", f"The provider of single sign-on and the settings do not fit: {error}."
            )
        case LogInNeeded():
            detail = "The account with this address signs in by itself once before single sign-on opens it."
            return HttpProblem("forbidden", detail, {"reason": "log_in_needed"})
        case ProviderUnavailable():
            detail = "The provider of single sign-on does not answer; try again shortly."
            return unavailable("provider_unavailable", detail)
        case NotVerified():
            detail = "The provider does not say that the e-mail address is verified."
            return HttpProblem("forbidden", detail, {"reason": "email_not_verified"})
        case SignInFailed():
            detail = "This sign-in does not count: it was begun elsewhere, took too long or was used. Begin again."
            return HttpProblem("forbidden", detail, {"reason": "sign_in"})
        case _:
            return None


def _of_trouble(error: Exception) -> HttpProblem | None:
    match error:
        case Overloaded() | Busy():
            return unavailable("overloaded", OVERLOADED)
        case Stopped():
            return stopping("not_applied")
        case DiskFull():
            detail = "There is no room to write this; reads go on, and writes as soon as there is room."
            return unavailable("store_unavailable", detail, error.outcome)
        case StoreFailed():
            detail = "The store could not keep this; repeat the request with the same Idempotency-Key."
            return unavailable("store_unavailable", detail, error.outcome)
        case _:
            return None


def _of_http(error: web.HTTPException) -> HttpProblem:
    match error:
        case web.HTTPMethodNotAllowed():
            allowed = ", ".join(sorted(error.allowed_methods))
            return HttpProblem("method_not_allowed", f"This address takes {allowed}.", headers={"Allow": allowed})
        case web.HTTPNotFound():
            return not_found()
        case _:
            return HttpProblem("malformed_request", "The request cannot be understood.")
