"""The API as methods, one for each endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any, Self

from pydantic import RootModel, TypeAdapter

from daemon.client.actions import ActionsClient
from daemon.client.gates import GatesClient
from daemon.client.lists import ListsClient, ReportsClient
from daemon.client.people import PeopleClient
from daemon.client.templates import TemplatesClient
from daemon.client.transport import (
    CONNECTION_ERRORS,
    ApiRequest,
    BaseClient,
    HistoryChanged,
    Problem,
    follow_company,
    follow_run,
    keyed,
    lines,
    path,
    waiting,
    without_none,
)
from daemon.contract.accounts import ActiveSession, ApiKey, NewApiKey, OwnAccount, RecoveryCodes, SecondFactor, Session
from daemon.contract.audit import Checkpoint, VerdictReceipt
from daemon.contract.company import Policy
from daemon.contract.connectors import Connector, ConnectorChange, ConnectorTestResult, Target
from daemon.contract.events import CompanyEvent, Event, GateChanged
from daemon.contract.runs import GlassBroken, Hold, MadeRedaction, RetainedRun, Run
from daemon.contract.service import Health
from daemon.contract.webhooks import (
    Delivery,
    NewNotificationRule,
    NewWebhook,
    NotificationDelivery,
    NotificationRule,
    RotatedSecret,
    Webhook,
    WebhookTestResult,
)

NOTIFICATIONS = TypeAdapter(list[NotificationRule])
NOTIFICATION_DELIVERIES = TypeAdapter(list[NotificationDelivery])


class NotificationsClient(BaseClient):
    """What people and groups are told of, and what they were told."""

    def notifications(self) -> AsyncIterator[NotificationRule]:
        """The caller's own, and for an admin those of groups."""
        return self._all("/notifications/", NOTIFICATIONS)

    async def notification(self, notification_id: str) -> NotificationRule:
        return await self._get(NotificationRule, "notifications", notification_id)

    async def add_notification(
        self, /, kind: str, events: Sequence[str], *, url: str | None = None, key: str | None = None, **more: Any
    ) -> NewNotificationRule:
        """Have the caller, or with `group` a group, told; `more` are further members of the body.

        This response alone has the secret that signs what a webhook gets.
        """
        body = _notification_body(kind, events, url, more)
        return await self._post(NewNotificationRule, "/notifications/", body, key=key)

    async def put_notification(
        self, /, notification_id: str, kind: str, events: Sequence[str], *, url: str | None = None, **more: Any
    ) -> NotificationRule:
        """Change a notification; without `url` it keeps the one that it has."""
        body = _notification_body(kind, events, url, more)
        return await self._put(NotificationRule, "notifications", notification_id, body=body)

    async def delete_notification(self, notification_id: str) -> None:
        """Delete a notification; no error when there is none."""
        await self._delete("notifications", notification_id)

    async def test_notification(self, notification_id: str) -> WebhookTestResult:
        """Send a test; it is never repeated."""
        return await self._post_once(WebhookTestResult, "notifications", notification_id, "test", body={})

    def notification_deliveries(self, notification_id: str) -> AsyncIterator[NotificationDelivery]:
        """What was sent or waits to be, newest first."""
        return self._all(path("notifications", notification_id, "deliveries"), NOTIFICATION_DELIVERIES)

    async def redeliver_notification(
        self, notification_id: str, delivery_id: str, *, key: str | None = None
    ) -> NotificationDelivery:
        where = path("notifications", notification_id, "deliveries", delivery_id, "redeliver")
        return await self._post(NotificationDelivery, where, {}, key=key)


def _notification_body(kind: str, events: Sequence[str], url: str | None, more: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "events": list(events), **({} if url is None else {"url": url}), **more}


RETAINED = frozenset({"hold", "archived", "redactions"})
EVENTS = TypeAdapter(list[Event])
COMPANY_EVENTS = TypeAdapter(list[CompanyEvent])
CHECKPOINTS = TypeAdapter(list[Checkpoint])
CONNECTORS = TypeAdapter(list[Connector])
CHANGES = TypeAdapter(list[ConnectorChange])
SESSIONS = TypeAdapter(list[ActiveSession])
API_KEYS = TypeAdapter(list[ApiKey])
WEBHOOKS = TypeAdapter(list[Webhook])
DELIVERIES = TypeAdapter(list[Delivery])


class Penstock(
    ActionsClient, PeopleClient, GatesClient, ListsClient, TemplatesClient, NotificationsClient, ReportsClient
):
    """A service, as the holder of a token sees it: `async with Penstock(address, token) as api: …`.

    A request that changes something carries an Idempotency-Key. It is repeated under that key when
    the connection is lost and on 429 and 503, as often as `patience` says. Problem is raised for a
    refusal, Unreachable where no response comes.
    """

    async def __aenter__(self) -> Self:
        self._transport.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close()

    @property
    def token(self) -> str:
        """The token of each request: as given, or of the last log-in; empty for none."""
        return self._transport.token

    async def register(
        self,
        email: str,
        password: str,
        company_name: str | None = None,
        name: str | None = None,
        *,
        invitation: str | None = None,
        code: str | None = None,
        key: str | None = None,
    ) -> Session:
        """Make a company, or join the one of an `invitation`'s token, and go on there.

        Where a code of a second factor is needed, too, the Problem has `second_factor` in `more`.
        """
        who = {"email": email, "password": password, "name": name, "code": code}
        body = without_none(**who, company_name=company_name, invitation=invitation)
        return await self._enter(ApiRequest("POST", "/auth/register", body=body, headers=keyed(key)))

    async def login(
        self, email: str, password: str, *, code: str | None = None, company_id: str | None = None
    ) -> Session:
        """Log in to that company, or to the one used last, and go on with the token.

        Where a code of a second factor is needed, too, the Problem has `second_factor` in `more`.
        """
        body = without_none(email=email, password=password, code=code, company_id=company_id)
        return await self._enter(ApiRequest("POST", "/auth/login", body=body))

    async def sign_on(self, code: str, verifier: str) -> Session:
        """Go on with the session of a code of single sign-on, which counts once."""
        return await self._enter(
            ApiRequest("POST", "/auth/sso/token", body={"code": code, "verifier": verifier}, repeatable=False)
        )

    async def logout(self) -> None:
        """Revoke the token, at once and for good."""
        try:
            await self._transport.send(ApiRequest("POST", "/auth/logout"))
        except Problem as problem:
            if not problem.means(HTTPStatus.UNAUTHORIZED):
                raise  # else it counts no longer, perhaps since a response was lost
        self._transport.token = ""

    async def me(self) -> OwnAccount:
        """Who makes the requests, and the companies to switch to."""
        return await self._get(OwnAccount, "auth", "me")

    async def change_password(self, current: str, new: str) -> None:
        """Replace the password; all other sessions of the account end."""
        body = {"current": current, "new": new}
        await self._transport.send(ApiRequest("POST", "/auth/password", body=body, repeatable=False))

    async def begin_second_factor(self, password: str) -> SecondFactor:
        """A secret for an app that makes codes; it counts once a code of it is confirmed."""
        return await self._post_once(SecondFactor, "auth", "second-factor", body={"password": password})

    async def confirm_second_factor(self, code: str) -> Sequence[str]:
        """Make a second factor count; the recovery codes are shown this once."""
        body = {"code": code}
        return (await self._post_once(RecoveryCodes, "auth", "second-factor", "confirm", body=body)).recovery_codes

    async def remove_second_factor(self, password: str, code: str) -> None:
        body = {"password": password, "code": code}
        await self._transport.send(ApiRequest("DELETE", "/auth/second-factor", body=body, repeatable=False))

    async def reset_second_factor(self, company_id: str, member_id: str) -> None:
        """Remove the second factor of another member, and end that person's sessions."""
        await self._delete("companies", company_id, "members", member_id, "second-factor")

    async def policy(self, company_id: str) -> Policy:
        """What a company asks of its people."""
        return await self._get(Policy, "companies", company_id, "policy")

    async def put_policy(self, /, company_id: str, **changes: Any) -> Policy:
        """Change members of the policy; those that are left out stay as they are."""
        return await self._put(Policy, "companies", company_id, "policy", body=changes)

    def sessions(self) -> AsyncIterator[ActiveSession]:
        return self._all("/auth/sessions/", SESSIONS)

    async def end_session(self, session_id: str) -> None:
        await self._delete("auth", "sessions", session_id)

    async def end_other_sessions(self) -> None:
        await self._delete("auth", "sessions")

    async def health(self) -> Health:
        """The health of the service, also when it cannot serve."""
        try:
            return (await self._transport.send_once(ApiRequest("GET", "/health"))).read(Health)
        except CONNECTION_ERRORS as error:
            raise self._transport.unreachable(error) from error

    async def start(
        self,
        vertical: str,
        *,
        inputs: Mapping[str, Any] | None = None,
        auto_resolve: bool = True,
        business_key: str | None = None,
        unique: bool = False,
        version: int | None = None,
        wait_s: int | None = None,
        key: str | None = None,
    ) -> Run:
        """Start a run, and wait at most `wait_s` until it rests.

        `unique` refuses it while another run of the template with this business key has not ended.
        """
        body = {"vertical": vertical, "inputs": dict(inputs or {}), "auto_resolve": auto_resolve}
        body |= without_none(business_key=business_key, unique=unique or None, version=version)
        return await self._post(Run, "/process-runs/", body, key=key, headers=waiting(wait_s))

    async def run(self, run_id: str) -> Run:
        """A run; a RetainedRun where it is held, archived or redacted."""
        response = await self._transport.send(ApiRequest("GET", path("process-runs", run_id)))
        run = response.read(Run)
        return run if RETAINED.isdisjoint(run.model_extra or ()) else response.read(RetainedRun)

    async def hold_run(self, run_id: str, reason: str) -> Hold:
        """Put a run under legal hold: it is not archived."""
        return await self._put(Hold, "process-runs", run_id, "hold", body={"reason": reason})

    async def release_run(self, run_id: str) -> None:
        """Release a run from legal hold; no error when it is not held."""
        await self._delete("process-runs", run_id, "hold")

    async def break_glass(self, run_id: str, reason: str, *, key: str | None = None) -> GlassBroken:
        """Read a run that is closed to the caller for an hour; its readers are told why."""
        return await self._post(GlassBroken, path("process-runs", run_id, "break-glass"), {"reason": reason}, key=key)

    async def redact_run(
        self, run_id: str, pointers: Sequence[str], reason: str, *, preview: bool = False, key: str | None = None
    ) -> MadeRedaction:
        """Redact values of an ended run by JSON pointers, for good; `preview` only tells where."""
        body = without_none(pointers=list(pointers), reason=reason, preview=preview or None)
        return await self._post(MadeRedaction, path("process-runs", run_id, "redact"), body, key=key)

    async def archive(self, run_id: str) -> bytes:
        """The file that a run was archived to, for `penstock verify`."""
        return (await self._transport.send(ApiRequest("GET", path("process-runs", run_id, "archive")))).raw

    async def cancel(
        self, run_id: str, *, reason: str | None = None, compensate: bool = False, key: str | None = None
    ) -> Run:
        """Cancel a run; `compensate` undoes first what it did."""
        body = without_none(reason=reason, compensate=compensate or None)
        return await self._post(Run, path("process-runs", run_id, "cancel"), body, key=key)

    async def retry(self, run_id: str, *, wait_s: int | None = None, key: str | None = None) -> Run:
        """Go on from the failed step."""
        return await self._post(Run, path("process-runs", run_id, "retry"), {}, key=key, headers=waiting(wait_s))

    def api_keys(self) -> AsyncIterator[ApiKey]:
        return self._all("/api-keys/", API_KEYS)

    async def put_api_key(
        self,
        key_id: str,
        *,
        model: str | None = None,
        models: Sequence[str] = (),
        scopes: Mapping[str, Any] | None = None,
    ) -> ApiKey:
        """Say which models use a key, and how little it may do, in place of what stands."""
        body = without_none(model=model, models=list(models), scopes=scopes)
        return await self._put(ApiKey, "api-keys", key_id, body=body)

    async def create_api_key(
        self,
        name: str,
        *,
        role: str,
        kind: str,
        expires_at: datetime | None = None,
        model: str | None = None,
        models: Sequence[str] = (),
        scopes: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> NewApiKey:
        """Make a key for a service or an agent; this response alone has it."""
        expires = None if expires_at is None else expires_at.isoformat()
        terms = without_none(model=model, models=list(models) or None, scopes=scopes)
        body = without_none(name=name, role=role, kind=kind, expires_at=expires, **terms)
        return await self._post(NewApiKey, "/api-keys/", body, key=key)

    async def delete_api_key(self, key_id: str) -> None:
        """Delete an API key; no error when there is none."""
        await self._delete("api-keys", key_id)

    def events(self, run_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        return self._all(path("process-runs", run_id, "events"), EVENTS, {"after": str(after)})

    def watch(self, run_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        """Follow a run's events until it has ended; goes on over lost connections.

        Problem `history_changed` where the database has lost events that were read: watch it anew.
        """
        return _events(self.follow(run_id, after=after))

    def follow(self, run_id: str, *, after: int = 0) -> AsyncIterator[Event | GateChanged | HistoryChanged]:
        """As `watch`, and each open gate that changes because a connector did.

        `HistoryChanged` says that the database has lost events: the run follows from its beginning.
        """
        return follow_run(self._transport, path("process-runs", run_id, "events"), after)

    def connectors(self) -> AsyncIterator[Connector]:
        return self._all("/connectors/", CONNECTORS)

    async def connector(self, tool_id: str) -> Connector:
        return await self._get(Connector, "connectors", tool_id)

    async def put_connector(self, tool_id: str, target: Target, auth_token: str | None = None) -> Connector:
        """Bind a tool. Without a secret the stored one stays while scheme, host and port do."""
        return await self._put(Connector, "connectors", tool_id, body=_connector_body(target, auth_token))

    async def delete_connector(self, tool_id: str) -> None:
        """Unbind a tool; no error when it is not bound."""
        await self._delete("connectors", tool_id)

    async def test_connector(
        self,
        tool_id: str,
        target: Target,
        auth_token: str | None = None,
        *,
        inputs: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
        send: bool | None = None,
    ) -> ConnectorTestResult:
        """Make one call that touches no run, never repeated; unless said, only a GET is sent."""
        samples = without_none(inputs=inputs, facts=facts, send=send)
        body = {**_connector_body(target, auth_token), **samples}
        return await self._post_once(ConnectorTestResult, "connectors", tool_id, "test", body=body)

    def connector_changes(self, tool_id: str) -> AsyncIterator[ConnectorChange]:
        """The changes of a connector, newest first."""
        return self._all(path("connectors", tool_id, "changes"), CHANGES)

    def checkpoints(self) -> AsyncIterator[Checkpoint]:
        """The signed checkpoints of the company's tree, newest first."""
        return self._all("/audit/checkpoints", CHECKPOINTS)

    async def audit_keys(self) -> dict[str, str]:
        """The public keys by id (Ed25519, Base64)."""
        return (await self._get(RootModel[dict[str, str]], "audit", "keys")).root

    async def run_audit(self, run_id: str) -> dict[str, Any]:
        """A run's hash chain, with the proof that a checkpoint covers it, as JSON."""
        return (await self._get(RootModel[dict[str, Any]], "process-runs", run_id, "audit")).root

    async def verdict_receipt(self, run_id: str, verdict_id: str) -> VerdictReceipt:
        """What a run's hash chain says of a verdict, for `penstock verify --receipt`."""
        return await self._get(VerdictReceipt, "process-runs", run_id, "verdicts", verdict_id)

    async def audit_export(self) -> AsyncIterator[bytes]:
        """Everything as JSON Lines, for `penstock verify`; Unreachable where it breaks off."""
        try:
            async with self._transport.stream(ApiRequest("GET", "/audit/export")) as response:
                async for line in lines(response):
                    yield line + b"\n"
        except CONNECTION_ERRORS as error:
            raise self._transport.unreachable(error) from error

    def happened(self, *, after: str = "0") -> AsyncIterator[CompanyEvent]:
        """The events of all runs so far, in order, behind the `id` of an event."""
        return self._all("/events", COMPANY_EVENTS, {"after": after})

    def listen(self, *, after: str | None = None) -> AsyncIterator[CompanyEvent | HistoryChanged]:
        """Follow the events of all runs from now on, or after the `id` of an event.

        `HistoryChanged` says that the database has lost events, and where the stream goes on.
        """
        return follow_company(self._transport, "/events", after)

    def webhooks(self) -> AsyncIterator[Webhook]:
        return self._all("/webhooks/", WEBHOOKS)

    async def webhook(self, webhook_id: str) -> Webhook:
        return await self._get(Webhook, "webhooks", webhook_id)

    async def add_webhook(
        self, url: str, *, events: Sequence[str] | None = None, description: str | None = None, key: str | None = None
    ) -> NewWebhook:
        """Have events sent to a URL; this response alone has the secret that signs them."""
        return await self._post(NewWebhook, "/webhooks/", _webhook_body(url, events, description), key=key)

    async def put_webhook(
        self, webhook_id: str, url: str, *, events: Sequence[str] | None = None, description: str | None = None
    ) -> Webhook:
        """Change a webhook, and enable it where it was not; its secret stays."""
        return await self._put(Webhook, "webhooks", webhook_id, body=_webhook_body(url, events, description))

    async def delete_webhook(self, webhook_id: str) -> None:
        """Delete a webhook; no error when there is none."""
        await self._delete("webhooks", webhook_id)

    async def test_webhook(self, webhook_id: str) -> WebhookTestResult:
        """Send a test notification; it is never repeated."""
        return await self._post_once(WebhookTestResult, "webhooks", webhook_id, "test", body={})

    async def rotate_webhook(
        self, webhook_id: str, *, overlap_s: int = 86_400, key: str | None = None
    ) -> RotatedSecret:
        """Make a new secret; the one before signs beside it for so long."""
        body = {"overlap_s": overlap_s}
        return await self._post(RotatedSecret, path("webhooks", webhook_id, "secret", "rotate"), body, key=key)

    def deliveries(self, webhook_id: str) -> AsyncIterator[Delivery]:
        """What was sent to a webhook or waits to be, newest first."""
        return self._all(path("webhooks", webhook_id, "deliveries"), DELIVERIES)

    async def redeliver(self, webhook_id: str, delivery_id: str, *, key: str | None = None) -> Delivery:
        return await self._post(
            Delivery, path("webhooks", webhook_id, "deliveries", delivery_id, "redeliver"), {}, key=key
        )


def _connector_body(target: Target, auth_token: str | None) -> dict[str, Any]:
    """The members of a target; of a connector that was read only those that can be written."""
    fields = {name: getattr(target, name) for name in Target.model_fields}
    return fields if auth_token is None else {**fields, "auth_token": auth_token}


def _webhook_body(url: str, events: Sequence[str] | None, description: str | None) -> dict[str, Any]:
    return {"url": url, "events": None if events is None else list(events), "description": description}


async def _events(found: AsyncIterator[Event | GateChanged | HistoryChanged]) -> AsyncIterator[Event]:
    async for one in found:
        if isinstance(one, HistoryChanged):
            raise Problem(HTTPStatus.GONE, one.type, one.detail, more={"first": one.first})
        if isinstance(one, Event):
            yield one
