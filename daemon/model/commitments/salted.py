"""What the hash chain has of an event: commitments in place of its values.

A salted line begins with the member `$salt`. The chain covers it without that member, behind a byte
that no other line begins with, and with a commitment in place of each value: the SHA-256 of a salt
and the value as canonical JSON. A redacted line has commitments to values that are gone in
`$redacted`, and the salts of those that are there in `$salts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256, sha512
from json import JSONEncoder
from os import urandom
from typing import Literal

from msgspec import Raw, Struct
from msgspec.json import Decoder

SALTED = b'{"$'
"""How a line begins whose values the chain does not have."""
REDACTED = b'{"$redacted":'
SALTS = b',"$salts":'
SALT_BYTES = 16
COMMITMENT_BYTES = 32
_SALT = b'{"$salt":"'
_SALT_ENDS = len(_SALT) + 2 * SALT_BYTES
_BEHIND_SALT = _SALT_ENDS + len(b'",')
_SECOND_FORM = b"\x02{"
_PLAIN = frozenset((b"null", b"true", b"false", b"{}"))
_NO_CALL = (b'{"body":null,', b'"url":null}')

How = Literal["named", "whole", "call", "plans"]
"""A commitment for each member of an object; one for all; for body and URL of a request; one for
calls that are planned."""
Commit = Callable[[str, str | None, bytes], str]
"""The commitment to a value: its member, its name in that, and its JSON."""

_CALL: dict[str, How] = {"request": "call"}
_SAID: dict[str, How] = {"comment": "whole", "form": "named"}
_END: dict[str, How] = {"error": "whole", "reason": "whole"}
VALUES: Mapping[str, Mapping[str, How]] = {
    "run_started": {"action": "whole", "business_key": "whole", "inputs": "named", "recorded": "whole"},
    "step_cleared": _CALL,
    "call_settled": {"error": "whole", "output": "named", **_CALL, "signal": "whole"},
    "gate_opened": {
        "arguments": "named",
        "differences": "whole",
        "digest": "whole",
        "effects": "plans",
        "question": "whole",
        **_CALL,
    },
    "gate_asked": {"text": "whole"},
    "gate_answered": {"text": "whole"},
    "verdict_given": {"arguments": "named", **_SAID, "forms": "named", "inputs": "named", **_CALL},
    "proposal_made": {"comment": "whole", "digest": "whole", "form": "named"},
    "message_received": {"payload": "named"},
    "panel_asked": {"calls": "whole", "digest": "whole", **_CALL, "votes": "whole"},
    "judge_answered": {"digest": "whole", "vote": "whole"},
    "panel_decided": {"digest": "whole"},
    "wait_ended": {"payload": "named"},
    "compensation_began": _END,
    "run_ended": _END,
}
"""The members of events that hold values, in their order, by the event's type."""


_ABSENT = Raw()


class _Held(Struct, gc=False):
    """The members of events that may hold values."""

    type: str
    action: Raw = _ABSENT
    arguments: Raw = _ABSENT
    business_key: Raw = _ABSENT
    calls: Raw = _ABSENT
    comment: Raw = _ABSENT
    differences: Raw = _ABSENT
    digest: Raw = _ABSENT
    effects: Raw = _ABSENT
    error: Raw = _ABSENT
    form: Raw = _ABSENT
    forms: Raw = _ABSENT
    inputs: Raw = _ABSENT
    output: Raw = _ABSENT
    payload: Raw = _ABSENT
    question: Raw = _ABSENT
    reason: Raw = _ABSENT
    recorded: Raw = _ABSENT
    request: Raw = _ABSENT
    signal: Raw = _ABSENT
    text: Raw = _ABSENT
    vote: Raw = _ABSENT
    votes: Raw = _ABSENT


_WHERE = {
    kind: tuple((name, f'"{name}":'.encode(), how) for name, how in held.items()) for kind, held in VALUES.items()
}
_held: Callable[[bytes], _Held] = Decoder(_Held).decode
_members: Callable[[bytes], dict[str, Raw]] = Decoder(dict[str, Raw]).decode
_texts: Callable[[Raw], dict[str, str]] = Decoder(dict[str, str]).decode
_quoted = JSONEncoder(ensure_ascii=False).encode


def with_salts(types: Sequence[str], events: bytes, exact: bytes | None) -> tuple[bytes, bytes | None]:
    """Lines of events of these types, in both forms, with new salts where they hold values."""
    if VALUES.keys().isdisjoint(types):
        return events, exact
    lines = events.split(b"\n")
    found = [nth for nth, name in enumerate(types) if name in VALUES and not _valueless(name, lines[nth])]
    if not found:
        return events, exact
    salts = urandom(SALT_BYTES * len(found)).hex().encode()
    return _salted(lines, found, salts), None if exact is None else _salted(exact.split(b"\n"), found, salts)


def _valueless(name: str, line: bytes) -> bool:
    """Whether an event of the kinds that seldom hold values holds none."""
    match name:
        case "step_cleared":
            return b'"request":null' in line
        case "run_ended":
            return b'"error":null' in line and b'"reason":null' in line
        case "verdict_given":
            if b'"form' in line or b'"arguments"' in line:
                return False
            return b'"comment":null' in line and b'"inputs":null' in line and _calls_none(line)
        case "call_settled":
            return b'"error":null' in line and b'"output":{},"' in line and _calls_none(line)
        case _:
            return False


def _calls_none(line: bytes) -> bool:
    return b'"request":null' in line or (b'"request":{"body":null,' in line and b'"url":null}' in line)


def _salted(lines: list[bytes], found: Sequence[int], salts: bytes) -> bytes:
    begins = 0
    for nth in found:
        ends = begins + 2 * SALT_BYTES
        lines[nth] = b'%b%b",%b' % (_SALT, salts[begins:ends], lines[nth][1:])
        begins = ends
    return b"\n".join(lines)


def holds_redacted(events: bytes) -> bool:
    """Whether one of these lines is redacted."""
    return REDACTED in events and any(line.startswith(REDACTED) for line in events.split(b"\n"))


def hashed(line: bytes) -> bytes:
    """The bytes of a line that the chain covers; ValueError for a salted line of no known form."""
    if not line.startswith(SALTED):
        return line
    if line.startswith(_SALT):
        return _covered(line, _BEHIND_SALT, Salts(line).commit)
    redacted = Redacted.read(line)
    return _covered(line, redacted.begins, redacted.commit)


class Salts:
    """The salts of a line's values, one after the other: none of them tells another."""

    def __init__(self, line: bytes) -> None:
        if line[_SALT_ENDS:_BEHIND_SALT] != b'",':
            raise ValueError("a salt is of another length")
        self._salt = _unhexed(line[len(_SALT) : _SALT_ENDS].decode(), SALT_BYTES)
        self._salts = bytearray(sha512(self._salt).digest())
        self._at = 0

    def commit(self, _member: str, _name: str | None, value: bytes) -> str:
        return sha256(self.next() + value).hexdigest()

    def next(self) -> bytes:
        """The salt of the next value."""
        begins, ends = self._at, self._at + SALT_BYTES
        if ends > len(self._salts):
            self._salts += sha512(self._salt + ends.to_bytes(4, "big")).digest()
        self._at = ends
        return bytes(self._salts[begins:ends])


class Redacted:
    """What a redacted line says of its values: commitments to those that are gone, and salts."""

    def __init__(self, gone: Mapping[str, str], salts: Mapping[str, str], begins: int = 0) -> None:
        self.gone = gone
        self.salts = salts
        self.begins = begins

    @classmethod
    def read(cls, line: bytes) -> Redacted:
        members = _members(line)
        gone, salts = members["$redacted"], members["$salts"]
        begins = len(REDACTED) + len(gone) + len(SALTS) + len(salts) + 1
        commitments = _texts(gone)
        for one in commitments.values():
            _unhexed(one, COMMITMENT_BYTES)
        return cls(commitments, _texts(salts), begins)

    def commit(self, member: str, name: str | None, value: bytes) -> str:
        """The commitment that the chain has: that to the value before it was redacted."""
        path = pointer(member, name)
        return self.gone.get(path) or self.now(path, value)

    def now(self, path: str, value: bytes) -> str:
        """The commitment to what stands there now."""
        return sha256(_unhexed(self.salts[path], SALT_BYTES) + value).hexdigest()


def _unhexed(text: str, length: int) -> bytes:
    """So many bytes; ValueError where they are written in any other way than `hex` does."""
    found = bytes.fromhex(text)
    if len(found) != length or found.hex() != text:
        raise ValueError("a salt or commitment is of another length or form")
    return found


def plain(line: bytes) -> bytes:
    """A line as its event reads, without salts and commitments."""
    if not line.startswith(SALTED):
        return line
    begins = _BEHIND_SALT if line.startswith(_SALT) else Redacted.read(line).begins
    return b"{" + line[begins:]


def pointer(member: str, name: str | None) -> str:
    """The JSON pointer in its event of a value."""
    return f"/{member}" if name is None else f"/{member}/{name.replace('~', '~0').replace('/', '~1')}"


def values(line: bytes) -> dict[str, bytes]:
    """The values of an event by their JSON pointers, in order."""
    found: dict[str, bytes] = {}

    def take(member: str, name: str | None, value: bytes) -> str:
        found[pointer(member, name)] = value
        return ""

    _covered(line, 0, take)
    return found


def _covered(line: bytes, begins: int, commit: Commit) -> bytes:
    """A line from a place on, with commitments in place of its values."""
    held = _held(line)
    parts, at = [_SECOND_FORM], begins
    for name, key, how in _WHERE[held.type]:
        raw = getattr(held, name)
        if raw is _ABSENT:
            continue
        value = bytes(raw)
        if value in _PLAIN or (how == "plans" and b'"request":{' not in value):
            continue
        at = line.index(key + value, at) + len(key)
        parts += (line[begins:at], _committed(name, value, how, commit))
        begins = at = at + len(value)
    parts.append(line[begins:])
    return b"".join(parts)


def _committed(member: str, value: bytes, how: How, commit: Commit) -> bytes:
    if how == "named" and value.startswith(b"{"):
        named = [f'{_quoted(name)}:"{commit(member, name, bytes(raw))}"' for name, raw in _members(value).items()]
        return f"{{{','.join(named)}}}".encode()
    if how == "call":
        return _call(member, value, commit)
    return b'"%b"' % commit(member, None, value).encode()


def _call(member: str, value: bytes, commit: Commit) -> bytes:
    if value.startswith(_NO_CALL[0]) and value.endswith(_NO_CALL[1]):
        return value
    parts = []
    for name, raw in _members(value).items():
        one = bytes(raw)
        if name in ("body", "url") and one != b"null":
            one = b'"%b"' % commit(member, name, one).encode()
        parts.append(b'"%b":%b' % (name.encode(), one))
    return b"{%b}" % b",".join(parts)
