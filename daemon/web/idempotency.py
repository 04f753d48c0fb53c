"""Idempotency keys: a request is executed once per key and answered alike, restarts included."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from aiohttp import web
from aiohttp.typedefs import Handler

from actors.core.canonical import canonical
from actors.failpoints import reach
from actors.ports import Receipt, ReceiptTaken
from daemon.stores.store import Store
from daemon.web.bodies import idempotency_key, read_object
from daemon.web.incoming import beside_loop
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import permit_again, principal_of
from daemon.web.problems import HttpProblem
from daemon.web.responses import StoredResponse, replayed

T = TypeVar("T")
STATUS = ":status"
STARTS = "/process-runs"
CREATED = 201


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """An Idempotency-Key of a caller at a path, and the fingerprint of the body sent with it.

    Versions before 0.2 kept receipts under the bare `text`, whoever the caller was.
    """

    company_id: str
    path: str
    text: str
    fingerprint: bytes
    caller: str = ""
    caller_name: str = ""

    @property
    def scope(self) -> tuple[str, str, str]:
        text = f"{self.caller}\n{self.text}" if self.caller else self.text  # no header holds a line break
        return self.company_id, self.path, text

    def receipt(self, response: StoredResponse, run_id: str | None = None) -> Receipt:
        headers = json.dumps(response.headers)
        return Receipt(*self.scope, self.fingerprint, run_id, response.status, headers, response.body)

    def pending_receipt(self, run_id: str, status: int, headers: dict[str, str]) -> Receipt:
        """What is kept until the run rests: status and headers of the response to come."""
        described = json.dumps({STATUS: str(status), **headers})
        return Receipt(*self.scope, self.fingerprint, run_id, headers=described)

    def sealed_receipt(self, body: bytes) -> Receipt:
        """What is kept in place of a response with a secret; `finish` makes that response."""
        return Receipt(*self.scope, self.fingerprint, body=body)


def _maker(receipt: Receipt) -> str | None:
    """Who made a request, where the receipt that an earlier version kept of it says so."""
    sealed = receipt.status is None and receipt.run_id is None
    if not sealed and not (receipt.path == STARTS and receipt.status == CREATED):
        return None
    kept: dict[str, Any] = json.loads(receipt.body)
    user = (kept.get("session") or {}).get("user") or {}
    maker: str | None = kept.get("created_by") or kept.get("invited_by") or user.get("email")
    return maker


def described(receipt: Receipt) -> tuple[int, dict[str, str]]:
    """Status and headers of the response to a request that was applied and never answered."""
    headers: dict[str, str] = json.loads(receipt.headers)
    started = receipt.path == STARTS and receipt.run_id is not None  # as versions before 0.2 kept it
    status = headers.pop(STATUS, None)
    if status is None and started:
        return CREATED, {"Location": f"/process-runs/{receipt.run_id}"}
    return int(status or 200), headers


Execute: TypeAlias = Callable[[], Awaitable[StoredResponse]]
Permit: TypeAlias = Callable[[], Awaitable[None]]
Repeat: TypeAlias = Callable[[Receipt], Awaitable[StoredResponse]]


class IdempotencyStore:
    def __init__(self, receipts: Store) -> None:
        self._receipts = receipts
        self._locks: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()

    async def answer(
        self, key: IdempotencyKey, execute: Execute, repeat: Repeat, permit: Permit | None = None
    ) -> StoredResponse:
        """The response of `execute`, which keeps the receipt itself, or of `repeat` to a later one.

        `permit` refuses who may not make the request, or not repeat it any more.
        """
        lock = self._locks.setdefault(key.scope, asyncio.Lock())
        if lock.locked():
            with slot_released():
                await lock.acquire()
        else:
            await lock.acquire()
        try:
            receipt = await self._receipt(key)
            if permit is not None:
                await permit()
            if receipt is None:
                try:
                    return await execute()
                except ReceiptTaken:  # by another process
                    receipt = await self._receipts.receipt(*key.scope)
                    if receipt is None:
                        raise
            if receipt.fingerprint != key.fingerprint:
                raise key_reused()
            return await repeat(receipt)
        finally:
            lock.release()

    async def _receipt(self, key: IdempotencyKey) -> Receipt | None:
        """The receipt of the caller, or one of an earlier version that may be theirs."""
        found = await self._receipts.receipt(*key.scope, key.text)
        if found is None or found.key == key.scope[2]:
            return found
        maker = _maker(found)
        if maker is None and found.status is None and found.run_id is None:
            detail = "This Idempotency-Key was used before the service was updated; a new request needs a new key."
            raise HttpProblem("idempotency_key_reused", detail)  # whoever asks: the answer holds a secret
        return found if maker in (None, key.caller_name) else None

    async def holds(self, key: IdempotencyKey) -> bool:
        """Whether this very request was received under the key."""
        receipt = await self._receipts.receipt(*key.scope)
        return receipt is not None and receipt.fingerprint == key.fingerprint

    async def keep(self, receipt: Receipt) -> StoredResponse | None:
        """Keep a response; returns the one that another daemon has kept earlier, which counts."""
        try:
            await _written(self._receipts.keep_receipt, receipt)
        except ReceiptTaken:
            kept = await self._receipts.receipt(receipt.company_id, receipt.path, receipt.key)
            return None if kept is None else replayed(kept)
        return None

    async def refuse(self, receipt: Receipt) -> None:
        """Keep a refusal; ReceiptTaken when the request was answered or applied meanwhile."""
        await _written(self._receipts.add_receipt, receipt)


IDEMPOTENCY = web.AppKey("idempotency", IdempotencyStore)
ExecuteRequest: TypeAlias = Callable[[web.Request, dict[str, Any], IdempotencyKey | None], Awaitable[StoredResponse]]
SeenByCaller: TypeAlias = Callable[[web.Request, Receipt], Awaitable[StoredResponse | None]]
FinishRequest: TypeAlias = Callable[[web.Request, IdempotencyKey, Receipt], Awaitable[StoredResponse]]


def receipt_maker(key: IdempotencyKey | None, answer: Callable[[T], StoredResponse]) -> Callable[[T], Receipt | None]:
    """Makes the receipt of an answer, for the transaction of what it says."""
    return lambda done: None if key is None else key.receipt(answer(done))


async def replay(_: web.Request, __: IdempotencyKey, receipt: Receipt) -> StoredResponse:
    return replayed(receipt)


async def repeated(
    finish: FinishRequest, seen: SeenByCaller | None, request: web.Request, key: IdempotencyKey, receipt: Receipt
) -> StoredResponse:
    """The response to a repeat, as the caller may see it by now."""
    closed = None if seen is None else await seen(request, receipt)
    if closed is not None:
        return closed
    return replayed(receipt) if receipt.status is not None else await finish(request, key, receipt)


def idempotent(
    finish: FinishRequest = replay,
    *,
    optional: bool = False,
    seen: SeenByCaller | None = None,
    required: bool = False,
) -> Callable[[ExecuteRequest], Handler]:
    """Make a handler that executes a request once per key and answers repeats from the receipt.

    Only the token, the role and the JSON of the body are checked before that: no field, template or
    connector. An `optional` body may be missing, a `required` key may not. `finish` answers a
    request that was applied before a restart and never answered, and `seen` a repeat by whom the
    kept response is closed to.
    """
    repeat = partial(repeated, finish, seen)

    def around(execute: ExecuteRequest) -> Handler:
        @wraps(execute)
        async def handler(request: web.Request) -> web.StreamResponse:
            body = await read_object(request, optional=optional)
            text = idempotency_key(request)
            if text is None and required:
                raise HttpProblem("idempotency_key_required", "This is done once per Idempotency-Key; send one.")
            if text is None:
                return (await execute(request, body, None)).response()
            digest = await beside_loop(request, partial(fingerprint, body))
            caller = principal_of(request)
            path = request.path.rstrip("/")
            key = IdempotencyKey(caller.company_id, path, text, digest, caller.user_id, caller.email)
            store = request.app[IDEMPOTENCY]
            executing, repeating = partial(execute, request, body, key), partial(repeat, request, key)
            return (await store.answer(key, executing, repeating, partial(permit_again, request))).response()

        return handler

    return around


async def _written(write: Callable[[Receipt], Awaitable[None]], receipt: Receipt) -> None:
    reach("before-receipt")
    await write(receipt)
    reach("receipt-kept")


def key_reused() -> HttpProblem:
    detail = "This Idempotency-Key was used with another body; a new request needs a new key."
    return HttpProblem("idempotency_key_reused", detail)


def fingerprint(body: Any) -> bytes:
    """Equal for equal JSON values, however they are written."""
    return hashlib.sha256(canonical(body).encode()).digest()
