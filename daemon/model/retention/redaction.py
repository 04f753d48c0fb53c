"""Redacts values in the events of a run that has ended, so that the chain still holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from os import urandom
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit

from actors.core.actions.deciding import SCALE
from actors.core.canonical import canonical
from daemon.model.commitments.salted import (
    REDACTED,
    SALT_BYTES,
    SALTED,
    VALUES,
    Redacted,
    Salts,
    hashed,
    values,
)
from daemon.model.events.company import RedactedPlace
from daemon.model.retention.records import NotRedactable

SPOKEN_MIN = 8
"""Characters of a text that is looked for in what people said of a case, as a word of its own."""
PIECE = 64
LONG = 3
"""Texts and numbers of so many characters are looked for everywhere; others only in calls and
questions, which are made of values."""


_IN_NUMBERS = re.compile(r"[\d.]"), re.compile(r"\.?\d")
_IN_WORDS = re.compile(r"\w"), re.compile(r"\w")
_IN_EITHER = re.compile(r"[\w.]"), re.compile(r"\w|\.\d")
"""What stands before and behind what is a part only: of a number, a word, or either."""
Within = tuple[re.Pattern[str], re.Pattern[str]]
EFFORT_MAX = 5_000_000
"""So many comparisons are made for one redaction: about a second."""


class _Texts:
    """Many texts that are looked for at once, whatever their case, by their first characters."""

    def __init__(self) -> None:
        self._known: dict[str, dict[int, dict[str, Within | None]]] = {}
        self._effort = 0

    def add(self, text: str, within: Within | None) -> None:
        folded = text.casefold()
        self._known.setdefault(folded[:LONG], {}).setdefault(len(folded), {})[folded] = within

    def stand_in(self, text: str) -> bool:
        """Whether one of them stands there; NotRedactable where that takes too long to tell."""
        folded = text.casefold() if self._known else ""
        return any(
            (lengths := self._known.get(folded[at : at + LONG])) is not None and self._stands(folded, at, lengths)
            for at in range(len(folded) - LONG + 1)
        )

    def _stands(self, folded: str, at: int, lengths: dict[int, dict[str, Within | None]]) -> bool:
        for length, texts in lengths.items():
            self._effort += 1 + length // PIECE
            if self._effort > EFFORT_MAX:
                raise NotRedactable("So many values are alike that to find their copies takes too long: name fewer.")
            one = folded[at : at + length]
            if one in texts:
                within = texts[one]
                if within is None:
                    return True
                if not within[0].match(folded[at - 1 : at]) and not within[1].match(folded, at + length):
                    return True
        return False


class RedactionMatcher:
    """The values that are to be redacted, and what of them may stand elsewhere."""

    def __init__(self, values: list[Any], kept: frozenset[str]) -> None:
        """Texts that are `kept` stand for values that were redacted before."""
        self._values = {canonical(one) for one in values}
        leaves = {_text(one): one for value in values for one in _leaves(value) if one not in kept}
        numbers = {text for text, one in leaves.items() if not isinstance(one, str)}
        self._short = {text for text in leaves if len(text) < LONG}
        self._everywhere, self._spoken = _Texts(), _Texts()
        for text in (one for one in leaves if len(one) >= LONG):
            number = text in numbers
            for form in {text} if number else {text, quote(text, safe=""), quote_plus(text)}:
                self._everywhere.add(form, _IN_NUMBERS if number else None)
                if len(text) >= SPOKEN_MIN:
                    self._spoken.add(form, _IN_EITHER if number else _IN_WORDS)

    def in_text(self, text: str) -> bool:
        """Whether one stands in a text; a number is none within a larger one."""
        return self._everywhere.stand_in(text)

    def in_speech(self, text: str) -> bool:
        """Whether what a person said holds one whole.

        Who starts a run must not choose a word that takes what a decider says of it along.
        """
        return self._spoken.stand_in(text)

    @staticmethod
    def in_value(value: Any, holds: Callable[[str], bool]) -> bool:
        """Whether a text or a number holds one of them."""
        if isinstance(value, bool) or value is None or isinstance(value, dict | list):
            return False
        return holds(_text(value))

    def equals(self, value: Any) -> bool:
        """Whether a member of a call is one of the values, however short that is."""
        return value is not None and canonical(value) in self._values

    def in_json(self, text: str) -> bool:
        """Whether the JSON of a value is that of one of them, or holds one."""
        return text in self._values or self.in_text(text)

    def in_url(self, url: str) -> bool:
        parts = urlsplit(url)
        pieces = {*parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))}
        return self.in_text(url) or not self._short.isdisjoint(pieces)

    def in_question(self, text: str) -> bool:
        return self.in_text(text) or not self._short.isdisjoint(re.split(r"[^\w.-]+", text))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif value is not None and value != "":
        yield value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value)


Path = tuple[str, ...]
TEXTS = ("inputs", "arguments", "output", "form", "forms", "payload", "comment", "reason", "business_key", "signal")
SPOKEN = frozenset(("comment", "reason", "form", "forms"))
"""What people said of a case: a copy is looked for in it by longer and whole words alone."""
FACTS_OF_VERDICTS = ("comment", "form", "forms")
GIVEN = frozenset(
    (
        "at",
        "company_id",
        "due_at",
        "remind_at",
        "run_id",
        "template_digest",
        "traceparent",
        "until",
        "verdict_id",
        "visit",
    )
)
"""Members that hold nothing of what callers said."""
ROOTS = ("inputs", "facts", "business_key", "action")
OF_ACTIONS = (("reasoning",), ("context",))
"""What of an action can be redacted, beside its arguments; of its context each member."""


class NoSuchValue(Exception):
    """A pointer that names no value of the run, or none that can be redacted."""

    def __init__(self, at: str) -> None:
        super().__init__(f"{at} names no value of this run that can be redacted.")
        self.pointer = at


class ReasonContainsValue(Exception):
    """The reason says a value that is to be redacted."""


class NotSalted(Exception):
    """A commit from before there were commitments: the chain has its values themselves."""


@dataclass(frozen=True, slots=True)
class StoredLines:
    """The events of a commit as they are stored."""

    version: int
    first_seq: int
    events: bytes
    exact: bytes | None


@dataclass(slots=True)
class _Line:
    """An event: its line, and its members with numbers as they were sent."""

    seq: int
    line: bytes
    event: dict[str, Any]
    changed: bool = False

    @property
    def type(self) -> str:
        return str(self.event["type"])


@dataclass(slots=True)
class RedactionOutcome:
    """What a redaction makes of the events of a run."""

    commits: list[StoredLines] = field(default_factory=list)
    places: list[RedactedPlace] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    done: bool = False
    """Whether every value was redacted before."""


def parsed(text: str) -> Path:
    """The names in a JSON pointer into a run; NoSuchValue when it is none."""
    names = tuple(one.replace("~1", "/").replace("~0", "~") for one in text.split("/"))
    if len(names) < 2 or names[0] or names[1] not in ROOTS:  # noqa: PLR2004 - the empty name, and a root
        raise NoSuchValue(text)
    if names[1] == "action" and (names[2:3] not in OF_ACTIONS or names[2:] == ("context",)):
        raise NoSuchValue(text)
    return names[1:]


def redacted(
    commits: Sequence[StoredLines], pointers: Sequence[str], reason: str, text: str, earlier: frozenset[str]
) -> RedactionOutcome:
    """Put `text` in place of values; NoSuchValue, ReasonContainsValue or NotSalted says why not.

    `earlier` are the texts that stand in place of values that were redacted before.
    """
    return _Redacting(commits, text, earlier).redact(pointers, reason)


class _Redacting:
    def __init__(self, commits: Sequence[StoredLines], text: str, earlier: frozenset[str]) -> None:
        self._commits = commits
        self._text = text
        self._marks = earlier | {text}
        self._values: list[Any] = []
        self._lines = [line for one in commits for line in _read(one)]
        self._digests: dict[str, str] = {}

    def redact(self, pointers: Sequence[str], reason: str) -> RedactionOutcome:
        fresh = False
        for at in pointers:
            found = [one for path in self._places(parsed(at)) for one in self._spread(*path)]
            if not found:
                raise NoSuchValue(at)
            for line, path in found:
                fresh = self._put(line, path) or fresh
        if not fresh:
            return RedactionOutcome(done=True)
        needles = RedactionMatcher(self._values, self._marks)
        if needles.in_text(reason):
            raise ReasonContainsValue
        for line in self._lines:
            if line.type in VALUES:
                _Copies(line, needles, self._replacement).replace()
        self._without_digests()
        return self._result(needles)

    def _places(self, path: Path) -> Iterator[tuple[_Line, Path]]:
        """Where the value of a path into the run comes from."""
        root, *rest = path
        for line in self._lines:
            if root == "facts" and rest and line.event.get("step_id") == rest[0]:
                yield from ((line, one) for one in _facts(line, tuple(rest[1:])))
            elif root == "facts" and not rest:
                yield from ((line, one) for one in _facts(line, ()))
            elif root in line.event and line.type in ("run_started", "verdict_given"):
                yield line, path
            if root == "inputs" and "arguments" in line.event:
                yield line, ("arguments", *rest)

    def _spread(self, line: _Line, path: Path) -> Iterator[tuple[_Line, Path]]:
        """A path, or those of all members where it leads to a member of the event as a whole."""
        value = _at(line.event, path)
        if value is _NOWHERE or value is None:
            return
        if len(path) == 1 and isinstance(value, dict):
            yield from ((line, (*path, name)) for name in value)
        elif not (isinstance(value, bool) and len(path) == 1):  # a signal says nothing of a person
            yield line, path

    def _put(self, line: _Line, path: Path) -> bool:
        """Redact one value; whether it was there until now."""
        value = _at(line.event, path)
        if isinstance(value, str) and value in self._marks:
            return False
        self._values.append(value)
        _set(line, path, self._text)
        return True

    def _replacement(self, value: Any) -> str:
        return value if isinstance(value, str) and value in self._marks else self._text

    def _without_digests(self) -> None:
        """Redact what was computed from the values without a salt; equal ones stay equal."""
        for line in self._lines:
            if isinstance(line.event.get("action"), dict) and line.event["action"]["fingerprint"] not in self._marks:
                _set(line, ("action", "fingerprint"), self._text)
                if line.event["action"].get("written") is not None:  # arguments and context once more
                    _set(line, ("action", "written"), None)
        for line in self._lines:
            digest = line.event.get("digest")
            if "digest" in VALUES.get(line.type, ()) and digest is not None and " [" not in digest:
                number = self._digests.setdefault(digest, str(len(self._digests) + 1))
                _set(line, ("digest",), f"{self._text} [{number}]")

    def _result(self, needles: RedactionMatcher) -> RedactionOutcome:
        result, lines = RedactionOutcome(), iter(self._lines)
        for one in self._commits:
            own = [next(lines) for _ in range(one.events.count(b"\n") + 1)]
            for line in own:
                before = line.line
                if line.changed:
                    line.line = _rewritten(line, result.places)
                if needles.in_text(self._said(line)):
                    result.left.append(f"/events/{line.seq}")
                if hashed(line.line) != hashed(before):
                    raise ValueError(f"the chain does not cover event {line.seq} as it is")
            if any(line.changed for line in own):
                events = b"\n".join(line.line for line in own)
                exact = None if one.exact is None else b"\n".join(_exactly(line) for line in own)
                result.commits.append(StoredLines(one.version, one.first_seq, events, exact))
        return result

    def _said(self, line: _Line) -> str:
        """What an event says beside what the service gave it."""
        said = {name: value for name, value in _public(line.event).items() if name not in GIVEN}
        text = json.dumps(said, ensure_ascii=False)
        for mark in self._marks:
            text = text.replace(json.dumps(mark, ensure_ascii=False)[1:-1], "")
        return text


def _read(one: StoredLines) -> Iterator[_Line]:
    lines = one.events.split(b"\n")
    exact = lines if one.exact is None else one.exact.split(b"\n")
    for nth, (line, sent) in enumerate(zip(lines, exact, strict=True)):
        yield _Line(one.first_seq + nth, line, json.loads(sent))


def _public(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if not name.startswith("$")}


def _facts(line: _Line, rest: Path) -> Iterator[Path]:
    """Where in an event the facts of its step come from, or a part of them."""
    match line.type:
        case "call_settled":
            if rest in (("error",), ("error", "detail")):
                yield ("error", "detail")
            elif isinstance(line.event["output"], dict):
                yield ("output", *rest)
            elif rest in ((), ("output",)):
                yield ("output",)
        case "verdict_given":
            yield from ((name,) for name in FACTS_OF_VERDICTS if not rest)
            if rest and rest[0] in FACTS_OF_VERDICTS:
                yield rest
        case "wait_ended":
            if rest[:1] in ((), ("payload",)):
                yield rest or ("payload",)
        case _:
            pass


_NOWHERE = object()


def _at(value: Any, path: Path) -> Any:
    for name in path:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return _NOWHERE
    return value


def _set(line: _Line, path: Path, value: Any) -> None:
    *before, last = path
    held = _at(line.event, tuple(before))
    held[int(last) if isinstance(held, list) else last] = value
    line.changed = True


class _Copies:
    """Replaces what an event has of values that are redacted elsewhere."""

    def __init__(self, line: _Line, needles: RedactionMatcher, replacement: Callable[[Any], str]) -> None:
        self._line = line
        self._needles = needles
        self._replacement = replacement

    def replace(self) -> None:
        event = self._line.event
        for name in TEXTS:
            if event.get(name) is not None and name in VALUES[self._line.type]:
                event[name] = self._top(event[name], made=name == "payload", spoken=name in SPOKEN)
        if isinstance(event.get("error"), dict):
            for name in ("detail", "excerpt"):
                event["error"][name] = self._within(event["error"].get(name), made=False)
        self._asked(event)
        calls = [one for name in ("calls", "effects", "recorded") for one in event.get(name) or ()]
        for one in (event, *calls):
            self._call(one.get("request"))
        self._votes(event)
        for one in event.get("differences") or ():
            for name in ("now", "recorded"):
                if one[name] is not None and self._needles.in_json(one[name]):
                    self._set(one, name)

    def _asked(self, event: dict[str, Any]) -> None:
        """Questions, and what an agent said of its call or made of the arguments."""
        for name in ("question", "text"):
            if isinstance(event.get(name), str) and self._needles.in_question(event[name]):
                self._set(event, name)
        action = event.get("action")
        if not isinstance(action, dict):
            return
        for name in ("reasoning", "why", "reason"):
            if action.get(name) is not None:
                action[name] = self._within(action[name], made=False)
        if isinstance(action.get("context"), dict):
            action["context"] = self._top(action["context"], made=False)
        if action.get("amount") is not None and self._needles.equals(action["amount"] / SCALE):
            action["amount"], self._line.changed = None, True

    def _votes(self, event: dict[str, Any]) -> None:
        """What judges said, who may repeat what they were asked about."""
        for vote in (*(event.get("votes") or ()), event.get("vote")):
            if vote is not None and vote["reason"] is not None:
                vote["reason"] = self._within(vote["reason"], made=False)

    def _call(self, request: Any) -> None:
        if request is None:
            return
        if request["body"] is not None:
            request["body"] = self._top(request["body"], made=True)
        if request["url"] is not None and self._needles.in_url(request["url"]):
            self._set(request, "url")

    def _top(self, value: Any, *, made: bool, spoken: bool = False) -> Any:
        """A member of the event without copies; the names in it stay."""
        if value is None or isinstance(value, bool):  # the chain has it as it is
            return value
        if isinstance(value, dict):
            return {name: self._within(one, made=made, spoken=spoken) for name, one in value.items()}
        return self._within(value, made=made, spoken=spoken)

    def _within(self, value: Any, *, made: bool, spoken: bool = False) -> Any:
        """A value without copies; one that was `made` of values of the run, of short ones, too."""
        holds = self._needles.in_speech if spoken else self._needles.in_text
        if self._needles.in_value(value, holds) or (made and self._needles.equals(value)):
            return self._changed(value)
        if isinstance(value, dict):
            if any(holds(name) for name in value):
                return self._changed(value)
            return {name: self._within(one, made=made, spoken=spoken) for name, one in value.items()}
        if isinstance(value, list):
            return [self._within(one, made=made, spoken=spoken) for one in value]
        return value

    def _changed(self, value: Any) -> str:
        text = self._replacement(value)
        self._line.changed = self._line.changed or text != value
        return text

    def _set(self, held: dict[str, Any], name: str) -> None:
        held[name] = self._changed(held[name])


def _rewritten(line: _Line, places: list[RedactedPlace]) -> bytes:
    """A changed line with the commitments to what is gone; notes its places."""
    if not line.line.startswith(SALTED):
        raise NotSalted
    before, after = values(line.line), values(canonical(_public(line.event)).encode())
    if before.keys() != after.keys():
        raise ValueError(f"event {line.seq} would hold other values")
    known = Redacted.read(line.line) if line.line.startswith(REDACTED) else None
    salts = None if known else Salts(line.line)
    gone, kept = dict(known.gone) if known else {}, {}
    for path, value in before.items():
        salt = known.salts[path] if known else salts.next().hex() if salts else ""
        if after[path] == value:
            kept[path] = salt
            continue
        was = gone.setdefault(path, Redacted({}, {path: salt}).now(path, value))
        kept[path] = urandom(SALT_BYTES).hex()
        now = Redacted({}, kept).now(path, after[path])
        places.append(RedactedPlace(now=now, path=path, seq=line.seq, was=was))
    line.event.pop("$salt", None)
    line.event |= {"$redacted": gone, "$salts": kept}
    return canonical(line.event).encode()


def _exactly(line: _Line) -> bytes:
    """An event with its numbers as they were sent."""
    return json.dumps(line.event, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
