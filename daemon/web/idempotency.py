"""Idempotency keys: one execution and one answer per key, restarts included."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiohttp import web

from actors.core.canonical import canonical
from actors.failpoints import reach
from actors.ports import Receipt, ReceiptTaken
from daemon.model import Receipts
from daemon.web.bodies import idempotency_key, read_object
from daemon.web.middleware.admission import slot_released
from daemon.web.middleware.auth import Handler, principal_of
from daemon.web.problems import Problem
from daemon.web.responses import StoredResponse, kept
from daemon.web.services import SERVICES

Position = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """What a request with a key makes receipts from."""

    place: Position
    fingerprint: bytes

    def answered(self, reply: StoredResponse, run_id: str | None = None) -> Receipt:
        """The receipt with the answer."""
        headers = json.dumps(reply.headers)
        return Receipt(*self.place, self.fingerprint, run_id, reply.status, headers, reply.body)

    def open(self, run_id: str) -> Receipt:
        """The receipt of what was applied to a run, but is not answered yet."""
        return Receipt(*self.place, self.fingerprint, run_id)


class IdempotencyStore:
    """Sees to it that requests under one key are executed once and answered alike.

    `finish` answers a request that was applied before a restart and never answered.
    """

    def __init__(self, receipts: Receipts) -> None:
        """Keep receipts there."""
        self._receipts = receipts
        self._under_way: dict[Position, asyncio.Future[tuple[bytes, StoredResponse] | None]] = {}

    async def answer(
        self,
        place: Position,
        body: Any,
        execute: Callable[[IdempotencyKey], Awaitable[StoredResponse]],
        finish: Callable[[Receipt, IdempotencyKey], Awaitable[StoredResponse]],
        *,
        shared: bool = True,
    ) -> StoredResponse:
        """What was answered under this key, or what `execute` answers now; `execute` keeps the receipt itself.

        Whoever waits for a request under way is given its answer, unless `shared` is off because the body does not
        say everything that the answer depends on.
        """
        slip = IdempotencyKey(place, fingerprint(body))
        while (other := self._under_way.get(place)) is not None:
            with slot_released():
                answered = await asyncio.shield(other)
            if answered is not None:
                return _again(slip, *answered)
        done = self._under_way[place] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._answer(slip, execute, finish)
            done.set_result((slip.fingerprint, reply) if shared else None)
            return reply
        finally:
            del self._under_way[place]
            if not done.done():
                done.set_result(None)

    async def keep(self, receipt: Receipt) -> None:
        """Keep the answer for those who ask again; whoever was first stays first."""
        with suppress(ReceiptTaken):
            await _written(self._receipts.keep_receipt, receipt)

    async def refuse(self, receipt: Receipt) -> None:
        """Keep a refusal; ReceiptTaken when the request was answered, or applied, elsewhere meanwhile."""
        await _written(self._receipts.add_receipt, receipt)

    async def _answer(
        self,
        slip: IdempotencyKey,
        execute: Callable[[IdempotencyKey], Awaitable[StoredResponse]],
        finish: Callable[[Receipt, IdempotencyKey], Awaitable[StoredResponse]],
    ) -> StoredResponse:
        receipt = await self._receipts.receipt(*slip.place)
        if receipt is None:
            try:
                return await execute(slip)
            except ReceiptTaken:
                receipt = await self._receipts.receipt(*slip.place)
                if receipt is None:
                    raise
        _check(slip, receipt.fingerprint)
        return kept(receipt) if receipt.status is not None else await finish(receipt, slip)


IDEMPOTENCY = web.AppKey("once", IdempotencyStore)
Execute = Callable[[web.Request, dict[str, Any], IdempotencyKey | None], Awaitable[StoredResponse]]
Finish = Callable[[web.Request, Receipt, IdempotencyKey], Awaitable[StoredResponse]]


def idempotent(finish: Finish, *, optional: bool = False) -> Callable[[Execute], Handler]:
    """Make a handler of a function that executes a request: a repeat under a key is answered from the receipt.

    Before the receipt nothing is looked at but the token and the JSON of the body: neither the body's fields nor roles,
    templates or connectors. `optional` bodies may be missing; without a key no receipt is asked for, nor kept.
    """

    def around(execute: Execute) -> Handler:
        async def handler(request: web.Request) -> web.StreamResponse:
            raw = await read_object(request, body_s=request.app[SERVICES].settings.body_s, optional=optional)
            key = idempotency_key(request)
            if key is None:
                return (await execute(request, raw, None)).response()
            place = (principal_of(request).company_id, request.path.rstrip("/"), key)
            once = request.app[IDEMPOTENCY]
            return (await once.answer(place, raw, partial(execute, request, raw), partial(finish, request))).response()

        return handler

    return around


async def _written(write: Callable[[Receipt], Awaitable[None]], receipt: Receipt) -> None:
    reach("before-receipt")
    await write(receipt)
    reach("receipt-kept")


def _check(slip: IdempotencyKey, fingerprint: bytes) -> None:
    """Refuse a key that was used with another body."""
    if fingerprint != slip.fingerprint:
        detail = "This Idempotency-Key was used with another body; a new request needs a new key."
        raise Problem("idempotency_key_reused", detail)


def _again(slip: IdempotencyKey, fingerprint: bytes, reply: StoredResponse) -> StoredResponse:
    """What the request that was under way was answered, for one that waited for it."""
    _check(slip, fingerprint)
    return StoredResponse(reply.status, reply.body, {**reply.headers, "Idempotency-Replayed": "true"})


def fingerprint(body: Any) -> bytes:
    """What two equal bodies have in common and two different ones do not."""
    return hashlib.sha256(canonical(body).encode()).digest()
