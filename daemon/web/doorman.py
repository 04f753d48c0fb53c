"""The doorman: a process that refuses, on connections lent to it, what the service has no room for.

To refuse is to read and to write, and that costs more than all that is thought about it. So the service does it
elsewhere, on another processor. Whatever the doorman does not understand at once it gives back with its connection.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections import Counter, deque

from daemon.web.plain import Wording, accepted_id, plain

BYTES_MAX = 16_384
MESSAGE_BYTES = 32_768
DESCRIPTORS_MAX = 128
LOOK_S = 0.25
LEND, ALLOW, RECALL = b"L", b"A", b"R"
OTHER, ALLOWED, IDLE, TOO_MANY = range(4)
ENTRY = struct.Struct("!QIII")
GRANT = struct.Struct("!II")
TOLD = struct.Struct("!Q")
BACK = struct.Struct("!QIBII")
_ANY_BYTES = 1 << 20


class Lent:
    """One connection, and the token that its requests are refused for."""

    __slots__ = ("authorization", "company", "descriptor", "number", "used")

    def __init__(self, number: int, company: int, descriptor: int, authorization: bytes, used: float) -> None:
        """Nothing of it has been refused yet."""
        self.number = number
        self.company = company
        self.descriptor = descriptor
        self.authorization = authorization
        self.used = used


class Doorman:
    """Refuses on all connections that it has, until it is told otherwise or they are wanted back."""

    def __init__(self, channel: socket.socket, wording: Wording, idle_s: float) -> None:
        """Begin with no connection."""
        self._channel = channel
        self._wording = wording
        self._idle_s = idle_s
        self._poll = select.epoll()
        self._poll.register(channel.fileno(), select.EPOLLIN)
        self._lent: dict[int, Lent] = {}
        self._allowed: Counter[int] = Counter()
        self._back: list[bytes] = []
        self._refused = self._told = 0
        self._now = self._looked = time.monotonic()

    def serve(self) -> None:
        """Go on until the service is gone."""
        self._channel.send(TOLD.pack(0))
        while True:
            ready = self._poll.poll(LOOK_S)
            self._now = time.monotonic()
            for descriptor, _ in ready:
                one = self._lent.get(descriptor)
                if one is not None:
                    self._look(one)
                elif descriptor == self._channel.fileno() and not self._hear():
                    return
            if self._now - self._looked >= LOOK_S:
                self._looked = self._now
                self._idle()
                self._tell(always=self._refused != self._told)
            self._tell()

    def _hear(self) -> bool:
        """Take what the service says; False when it is gone."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._channel, _ANY_BYTES, DESCRIPTORS_MAX)
        except ConnectionError:
            return False
        if message[:1] == LEND:
            self._borrow(message, descriptors)
        elif message[:1] == ALLOW:
            for company, count in GRANT.iter_unpack(message[1:]):
                self._allowed[company] += count
        elif message[:1] == RECALL:
            self._allowed.clear()
            for one in list(self._lent.values()):
                self._give(one, OTHER)
        return bool(message)

    def _borrow(self, message: bytes, descriptors: list[int]) -> None:
        at, left = 1, deque(descriptors)
        while at < len(message):
            number, company, named_by, size = ENTRY.unpack_from(message, at)
            data_at = at + ENTRY.size + named_by
            authorization = message[at + ENTRY.size : data_at]
            at = data_at + size
            if not left:  # more than this process may have open
                self._back.append(BACK.pack(number, company, TOO_MANY, 0, size) + message[data_at:at])
                continue
            descriptor = left.popleft()
            one = self._lent[descriptor] = Lent(number, company, descriptor, authorization, self._now)
            self._poll.register(descriptor, select.EPOLLIN)
            self._refuse(one, message[data_at:at])

    def _look(self, one: Lent) -> None:
        """Read what has arrived."""
        try:
            data = os.read(one.descriptor, BYTES_MAX)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        one.used = self._now
        if data:
            self._refuse(one, data)
        else:  # its end is the service's business
            self._give(one, OTHER)

    def _refuse(self, one: Lent, data: bytes) -> None:
        """Refuse the whole requests at the front; with the first that is not to be refused the connection goes back."""
        answers, why = b"", OTHER
        while data and (request := plain(data)) is not None:
            if request.authorization != one.authorization:
                break
            if self._allowed[one.company] > 0:
                self._allowed[one.company] -= 1
                why = ALLOWED
                break
            answers += self._wording.to(accepted_id(request.request_id))
            data = data[request.size :]
            self._refused += 1
        unsent = answers[self._write(one, answers) :]
        if data or unsent:
            self._give(one, why, unsent, data)

    def _write(self, one: Lent, answers: bytes) -> int:
        try:
            return os.write(one.descriptor, answers) if answers else 0
        except BlockingIOError:
            return 0
        except OSError:  # nobody reads it any more
            return len(answers)

    def _give(self, one: Lent, why: int, unsent: bytes = b"", unread: bytes = b"") -> None:
        """Give a connection back, with what is still to be written and to be read on it."""
        del self._lent[one.descriptor]
        self._poll.unregister(one.descriptor)
        os.close(one.descriptor)
        self._back.append(BACK.pack(one.number, one.company, why, len(unsent), len(unread)) + unsent + unread)

    def _idle(self) -> None:
        """Give back on what nothing has come for long."""
        for one in list(self._lent.values()):
            if self._now - one.used >= self._idle_s:
                self._give(one, IDLE)

    def _tell(self, *, always: bool = False) -> None:
        """Say how many have been refused so far, and what is given back."""
        while self._back or always:
            always, size, count = False, 0, 0
            while count < len(self._back) and size < MESSAGE_BYTES:
                size += len(self._back[count])
                count += 1
            self._told = self._refused
            self._channel.send(TOLD.pack(self._refused) + b"".join(self._back[:count]))
            del self._back[:count]


def main(descriptor: str, wording: str, idle_s: str) -> int:
    """Serve the process at the other end of that socket."""
    for number in (signal.SIGINT, signal.SIGTERM):  # they are for the service, whose end is ours
        signal.signal(number, signal.SIG_IGN)
    gc.disable()  # it makes no cycles
    pieces = Wording(*(piece.encode() for piece in json.loads(wording)))
    try:
        Doorman(socket.socket(fileno=int(descriptor)), pieces, float(idle_s)).serve()
    except ConnectionError:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
