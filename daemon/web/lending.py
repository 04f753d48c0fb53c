"""Lending: the service's side of the doorman, and the connections that it has."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Protocol

import structlog

from actors.values import value
from daemon.web.admission import Admission
from daemon.web.doorman import (
    ALLOW,
    ALLOWED,
    BACK,
    BYTES_MAX,
    DESCRIPTORS_MAX,
    ENTRY,
    GRANT,
    IDLE,
    LEND,
    MESSAGE_BYTES,
    RECALL,
    TOLD,
    TOO_MANY,
)
from daemon.web.refusals import REFUSAL

TICK_S = 0.01
COMPANY_S = 0.00001
AGAIN_S = 10.0
ENDED_S = 2.0
_PROGRAM = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from daemon.web.doorman import main; sys.exit(main(*sys.argv[2:]))"
)
_ANY_BYTES = 1 << 20
_MESSAGES_MAX = 64
_log = structlog.get_logger("penstock")


@value
class Whose:
    """Whose requests are refused on a connection: the company, and the token that they have to show."""

    company_id: str
    authorization: bytes


class Lender(Protocol):
    """A connection that can be lent."""

    @property
    def descriptor(self) -> int:
        """The descriptor of its socket."""

    def given_back(self, unsent: bytes, unread: bytes, *, idle: bool) -> None:
        """Have it again, with what is still to be written and to be read on it."""

    def cut(self) -> None:
        """End it."""


class Lending:
    """Lends connections of companies that are refused, and has so many of their next requests back as there is room."""

    def __init__(self, admission: Admission, idle_s: float, draining: Callable[[], bool]) -> None:
        """Begin without a doorman; the first connection that could be lent calls for one."""
        self._admission = admission
        self._idle_s = idle_s
        self._draining = draining
        self._channel: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._not_before = 0.0
        self._number = 0
        self._lent: dict[int, tuple[Lender, str]] = {}
        self._of: Counter[str] = Counter()
        self._allowed: Counter[int] = Counter()
        self._companies: dict[str, int] = {}
        self._out: list[tuple[int, bytes, Lender]] = []
        self._told = 0
        self._heard = bytearray()  # kept, since to make room for the largest message each time costs more than the rest
        self._numbers = 0
        self._clogged = self._closed = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def busy(self) -> bool:
        """Whether the doorman has anything to do."""
        return bool(self._lent)

    def lend(self, lender: Lender, whose: Whose, data: bytes) -> bool:
        """Have the doorman refuse what has arrived and what follows; False when that has to be done here."""
        if not self._ready or self._clogged or len(data) > BYTES_MAX:
            if self._channel is None and not self._closed:
                self._call()
            return False
        self._number += 1
        company = self._company(whose.company_id)
        if not self._out:
            asyncio.get_running_loop().call_soon(self._send_out)
        entry = ENTRY.pack(self._number, company, len(whose.authorization), len(data)) + whose.authorization + data
        self._out.append((self._number, entry, lender))
        self._lent[self._number] = (lender, whose.company_id)
        self._of[whose.company_id] += 1
        self._beat()
        return True

    def _company(self, company_id: str) -> int:
        """The number that the doorman knows a company by."""
        if company_id not in self._companies:
            self._numbers += 1
            self._companies[company_id] = self._numbers
        return self._companies[company_id]

    async def close(self) -> None:
        """Let the doorman go; every connection has been given back or is at its end."""
        process, self._process, self._closed = self._process, None, True
        for lender in self._end():
            lender.given_back(b"", b"", idle=False)
        if process is not None:
            loop = asyncio.get_running_loop()
            with suppress(subprocess.TimeoutExpired):
                await loop.run_in_executor(None, partial(process.wait, ENDED_S))
                return
            process.kill()
            process.wait()

    def _call(self) -> None:
        """Start a doorman; until it is there, and where none can be, refusing is done here."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._not_before:
            return
        self._not_before = loop.time() + AGAIN_S
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pieces = json.dumps([piece.decode() for piece in (REFUSAL.head, REFUSAL.before, REFUSAL.after)])
        given = [json.dumps(sys.path), str(its.fileno()), pieces, str(self._idle_s)]
        with its:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - see above
                    [sys.executable, "-c", _PROGRAM, *given],
                    pass_fds=[its.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                )
            except OSError as error:
                ours.close()
                _log.warning("no_doorman", reason=str(error))
                return
        ours.setblocking(False)  # noqa: FBT003 - its only argument
        self._channel, self._told, self._heard = ours, 0, bytearray(_ANY_BYTES)
        loop.add_reader(ours.fileno(), self._hear)

    def _send_out(self) -> None:
        """Hand over what was lent in this turn of the loop, many at a time."""
        out, self._out = self._out, []
        while out and self._channel is not None:
            size, count = 0, 0
            while count < len(out) and count < DESCRIPTORS_MAX and size < MESSAGE_BYTES:
                size += len(out[count][1])
                count += 1
            some, out = out[:count], out[count:]
            self._hand_over([one for one in some if one[0] in self._lent])

    def _hand_over(self, some: list[tuple[int, bytes, Lender]]) -> None:
        if not some or self._channel is None:
            return
        message = LEND + b"".join(entry for _, entry, _ in some)
        try:
            socket.send_fds(self._channel, [message], [lender.descriptor for _, _, lender in some])
        except OSError:  # it does not keep up, or has gone; what it was to refuse is refused here after all
            self._clogged = True
            self._keep(some)

    def _keep(self, some: list[tuple[int, bytes, Lender]]) -> None:
        """Have back what was not handed over."""
        for number, entry, _ in some:
            named_by = ENTRY.unpack_from(entry)[2]
            self._take(number, b"", entry[ENTRY.size + named_by :])

    def _hear(self) -> None:
        """Take what the doorman says."""
        for _ in range(_MESSAGES_MAX):
            if self._channel is None:
                return
            try:
                size = self._channel.recv_into(self._heard)
            except BlockingIOError:
                return
            except OSError:
                size = 0
            if not size:
                self._gone()
                return
            self._ready = True
            message = bytes(memoryview(self._heard)[:size])
            (refused,) = TOLD.unpack_from(message)
            if refused > self._told:
                self._admission.turned_away(refused - self._told)
                self._told = refused
            self._take_all(message, TOLD.size)

    def _take_all(self, message: bytes, at: int) -> None:
        while at < len(message):
            number, company, why, unsent, unread = BACK.unpack_from(message, at)
            at += BACK.size
            if why == ALLOWED and self._allowed[company]:
                self._allowed[company] -= 1
            self._clogged = self._clogged or why == TOO_MANY
            ends = at + unsent, at + unsent + unread
            self._take(number, message[at : ends[0]], message[ends[0] : ends[1]], idle=why == IDLE)
            at = ends[1]

    def _take(self, number: int, unsent: bytes, unread: bytes, *, idle: bool = False) -> None:
        lender, company_id = self._lent.pop(number, (None, ""))
        if lender is None:
            return
        self._of[company_id] -= 1
        if not self._of[company_id]:
            del self._of[company_id]
        lender.given_back(unsent, unread, idle=idle)

    def _beat(self) -> None:
        if self._timer is None:
            delay_s = TICK_S + COMPANY_S * len(self._of)
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._tick)

    def _tick(self) -> None:
        """Ask for as many requests as there is room for, or for everything when there is no crowd any more."""
        self._timer, self._clogged = None, False
        if self._channel is None:
            return
        if self._lent and not self._draining() and self._admission.besieged:
            self._allow()
        elif self._say(RECALL):
            self._allowed.clear()
            if not self._lent:
                self._companies.clear()
                return
        self._beat()

    def _allow(self) -> None:
        grants = []
        for company_id in self._of:
            company = self._companies[company_id]
            more = self._admission.wanted(company_id) - self._allowed[company]
            if more > 0:
                grants.append((company, more))
        if grants and self._say(ALLOW + b"".join(GRANT.pack(*grant) for grant in grants)):
            self._allowed.update(dict(grants))

    def _say(self, message: bytes) -> bool:
        try:
            return self._channel is not None and self._channel.send(message) > 0
        except OSError:
            return False

    def _gone(self) -> None:
        """The doorman has died: nobody knows what it had read, or how far its answers went, so that is at its end."""
        _log.warning("doorman_gone", connections=len(self._lent))
        if self._process is not None:
            asyncio.get_running_loop().run_in_executor(None, self._process.wait)
        for lender in self._end():
            lender.cut()

    def _end(self) -> list[Lender]:
        """Have no doorman; returns whose connections it had."""
        if self._channel is not None:
            asyncio.get_running_loop().remove_reader(self._channel.fileno())
            self._channel.close()
        self._channel, self._ready = None, False
        self._allowed.clear()
        out, self._out = self._out, []
        self._keep(out)
        lent, self._lent = self._lent, {}
        self._of.clear()
        return [lender for lender, _ in lent.values()]
