"""Requests as bytes: what can be told of one without taking it apart, and an answer that is ready for the wire.

The doorman's process uses it, too, so it imports next to nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

from actors.values import value
from daemon.uuids import new_id

HEALTH = b"/health"
COOKIE = "penstock_session"
"""The name of the cookie, or how it begins where the host is named with a port."""
PAGE = "Penstock-Page"
"""The header with which alone the cookie counts: no form or image of another site sets it, and a script has to ask."""
HEADS_KEPT = 512
HEAD_BYTES_MAX = 8_192
END = b"\r\n\r\n"
_LINE = re.compile(rb"(?:GET|POST|PUT|DELETE) (/[^ ?\n]*)[^ \n]* HTTP/1\.1")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_DIGITS = re.compile(rb"[0-9]{1,9}")
_NAME = re.compile(rb"[!#-'*+.^`|~\w-]+")
_CONTENT = re.compile(rb"[\t -~\x80-\xff]*")
_PORT = re.compile(r":([0-9]{1,5})")
_OURS = re.compile(rb"(?:^|;[ \t]*)(%b(?:_[0-9]+)?)=([^; \t]+)" % COOKIE.encode())
_LASTING = (b"", b"keep-alive")
SPECIAL = frozenset({b"transfer-encoding", b"expect", b"upgrade"})
"""What a request has to be taken apart for: it may be framed otherwise, or want more than an answer."""


@value
class Plain:
    """What has to be known of a request to refuse it."""

    size: int
    authorization: bytes
    request_id: str


def plain(data: bytes) -> Plain | None:
    """The request at the front, if all of it is there and its framing cannot be read in two ways; never /health."""
    end = data.find(END)
    one = _of_head(data[:end]) if 0 <= end <= HEAD_BYTES_MAX else None
    return one if one is not None and one.size <= len(data) else None


@lru_cache(HEADS_KEPT)
def _of_head(head: bytes) -> Plain | None:
    """What a head says; who sends too much often says the same."""
    first, *lines = head.split(b"\r\n")
    line, fields = _LINE.fullmatch(first), fields_of(lines)
    if line is None or line[1] == HEALTH or fields is None or not fields.keys().isdisjoint(SPECIAL):
        return None
    length = fields.get(b"content-length", b"0")
    if not is_lasting(fields) or not _DIGITS.fullmatch(length):
        return None
    request_id = fields.get(b"x-request-id", b"").decode("latin-1")
    return Plain(len(head) + len(END) + int(length), _credentials(fields), request_id)


def _credentials(fields: dict[bytes, bytes]) -> bytes:
    """What says who asks; the cookie of the page as the token that it holds."""
    given = fields.get(b"authorization", b"")
    if given or PAGE.lower().encode() not in fields:
        return given
    wanted = cookie_at(fields.get(b"host", b"").decode("latin-1")).encode()
    tokens = (token for name, token in _OURS.findall(fields.get(b"cookie", b"")) if name == wanted)
    return next((b"Bearer " + token for token in tokens), b"")


def cookie_at(host: str) -> str:
    """The cookie's name at a host and port: browsers send what one port has set to all others, too."""
    port = _PORT.fullmatch(host, host.rfind(":"))
    return COOKIE if port is None else f"{COOKIE}_{port[1]}"


def is_lasting(fields: dict[bytes, bytes]) -> bool:
    """Whether the connection stays open behind a request with these fields."""
    return fields.get(b"connection", b"").lower() in _LASTING


def fields_of(lines: list[bytes]) -> dict[bytes, bytes] | None:
    """The fields by name; None where one is there twice, or a line is none that everybody would read alike."""
    fields: dict[bytes, bytes] = {}
    for line in lines:
        name, colon, content = line.partition(b":")
        if not colon or not _CONTENT.fullmatch(content) or not _NAME.fullmatch(name):
            return None
        fields[name.lower()] = content.strip(b" \t")
    return fields if len(fields) == len(lines) else None


def accepted_id(given: str) -> str:
    """The id of a request: its sender's own where that is well formed."""
    return given if _REQUEST_ID.fullmatch(given) else new_id()


@value
class Wording:
    """An answer in pieces: its head, with room for an id and a length, and its body before and after the id."""

    head: bytes
    before: bytes
    after: bytes

    def to(self, request_id: str) -> bytes:
        """The answer to that request."""
        name, size = request_id.encode(), len(self.before) + len(request_id) + len(self.after)
        return self.head % (name, size, self.before, name, self.after)
