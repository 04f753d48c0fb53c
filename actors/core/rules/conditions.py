"""What the text of an expression says of others: conditions that hold along a way, and lengths.

It reads the connectives of CEL alone; all between them is an atom, equal where its text is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

DEPTH_MAX = 40
_QUOTED = r"""r?(?:\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}|"(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?)"""
_TOKEN = re.compile(rf"""//[^\n]*+|{_QUOTED}|&&|\|\||==|!=|<=|>=|\w+|\s+|.""", re.DOTALL)
_TEXT = re.compile(r"""(["'])([^"'\\]*)\1""")
_INPUT = re.compile(r"\binputs((?:\.[A-Za-z_]\w*)+)")
_HAS = re.compile(r"has\((inputs(?:\.[A-Za-z_]\w*)+)\)")
_LITERAL = r"""(?:"[^"\\]*"|'[^'\\]*'|-?\d++(?:\.\d++)?|true|false|null)"""
_COMPARED = re.compile(rf"(inputs(?:\.[A-Za-z_]\w*)+)(?:(?:==|<=?|>=?){_LITERAL}|in\[(?:{_LITERAL},?)*\])?", re.ASCII)
_MAY_CHANGE = re.compile(r"inputs(?!\.)|ininputs|has\(|\b(?:all|exists|exists_one|existsOne|map|filter)\(")
"""What an atom asks that is answered otherwise once an input is there that was missing."""
_DUE = re.compile(
    r"""(?:timestamp\(\s*)?clocks(?:\.([a-z][a-z0-9_]*)|\[\s*["']([a-z][a-z0-9-]*)["']\s*\])\.due_at\s*\)?"""
    r"""(?:\s*([-+])\s*duration\(\s*["']([0-9.a-z]+)["']\s*\))?"""
)
_UNITS = {"h": 3_600, "m": 60, "s": 1}
_PARTS = re.compile(r"(\d{1,9})([hms])")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


class Expression(NamedTuple):
    """An atom by its text, or a connective of others: `!`, `&&`, `||` or `?`."""

    sign: str
    parts: tuple[Expression, ...] = ()
    text: str = ""


Facts = Mapping[Expression, bool]
"""What is known of conditions."""


@lru_cache(maxsize=4_096)
def parsed(text: str) -> Expression:
    """The connectives of a text; without their form it is one atom."""
    tokens = [one for one in _TOKEN.findall(text) if not one.isspace() and not one.startswith("//")]
    try:
        return _ConditionReader(tokens).whole()
    except ValueError:
        return Expression("", text="".join(tokens))


class _ConditionReader:
    """Reads tokens one after the other."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def whole(self) -> Expression:
        found = self._choice()
        if self.at < len(self.tokens):
            raise ValueError("something stands behind the expression")
        return found

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self, sign: str) -> bool:
        if self._next() != sign:
            return False
        self.at += 1
        return True

    def _choice(self) -> Expression:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise ValueError("it is nested too deeply")
        found = self._joined("||")
        if self._take("?"):
            then = self._choice()
            if not self._take(":"):
                raise ValueError("a choice has two sides")
            found = Expression("?", (found, then, self._choice()))
        self.depth -= 1
        return found

    def _joined(self, sign: str) -> Expression:
        read = self._operand if sign == "&&" else lambda: self._joined("&&")
        parts = [read()]
        while self._take(sign):
            parts.append(read())
        return parts[0] if len(parts) == 1 else Expression(sign, tuple(parts))

    def _operand(self) -> Expression:
        negated = False
        while self._take("!"):
            negated = not negated
        begun = self.at
        found = self._group() if self._next() == "(" else None
        if found is None or self._next() not in ("", "&&", "||", "?", ":", ")"):
            self.at = begun
            found = self._atom()
        return Expression("!", (found,)) if negated else found

    def _group(self) -> Expression | None:
        """What stands in parentheses; None where it has not the form of an expression."""
        self.at += 1
        depth = self.depth
        try:
            found = self._choice()
        except ValueError:
            self.depth = depth
            return None
        return found if self._take(")") else None

    def _atom(self) -> Expression:
        begun, depth = self.at, 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if depth == 0 and (token in ("&&", "||", "?", ":", ",") or token in _CLOSING):
                break
            depth += (token in _OPENING) - (token in _CLOSING)
            self.at += 1
        return _plain("".join(self.tokens[begun : self.at]))


def _plain(text: str) -> Expression:
    """An atom without what says the same of it."""
    if not text:
        raise ValueError("an operand is missing")
    left, differs, right = text.partition("!=")
    if differs and "!=" not in right:
        return Expression("!", (Expression("", text=f"{left}=={right}"),))
    return Expression("", text=text)


def known(condition: Expression, facts: Facts, *, holds: bool) -> dict[Expression, bool]:
    """What is known once a condition is answered, beside what was known before.

    An input that is missing may come later, and one that is there stays as it is.
    """
    found, waiting = dict(facts), [(condition, holds)]
    while waiting:
        one, answer = waiting.pop()
        if _stays(one) or (answer and _HAS.fullmatch(one.text)):
            atom, value = _compared(one)
            found.update({atom: value == answer} if answer or atom is one else {one: answer})
        if one.sign == "!":
            waiting.append((one.parts[0], not answer))
        elif (one.sign, answer) in (("&&", True), ("||", False)):
            waiting += [(part, answer) for part in one.parts]
        elif not one.sign and _stays(one) and not any(sign in one.text for sign in ("?", "&&", "||")):
            # What was answered was there.
            found.update({Expression("", text=f"has({there})"): True for there in _inputs(one.text)})
    return found


@lru_cache(maxsize=4_096)
def _compared(one: Expression) -> tuple[Expression, bool]:
    """What an atom compares with true or false, and with which of them; another is true by itself.

    What does not equal one of the two need not equal the other.
    """
    for end in ("==true", "==false") if not one.sign else ():
        if one.text.endswith(end):
            return Expression("", text=one.text.removesuffix(end)), end == "==true"
    return one, True


@lru_cache(maxsize=4_096)
def _stays(one: Expression) -> bool:
    """Whether the answer to a condition stays as it is, whatever else comes to be known."""
    return all(map(_stays, one.parts)) if one.sign else _MAY_CHANGE.search(one.text) is None


def always_clear(one: Expression, facts: Facts) -> bool:
    """Whether a condition has an answer, whatever is missing beside the inputs that are known."""
    if one.sign == "!":
        return always_clear(one.parts[0], facts)
    for part in one.parts:  # CEL takes an answer that settles it, though another part has none
        if one.sign == "?" or not always_clear(part, facts):
            return False
        facts = known(part, facts, holds=one.sign == "&&")
    if one.sign:
        return True
    asked, compared = _HAS.fullmatch(one.text), _COMPARED.fullmatch(one.text)
    if asked is not None:
        within = asked[1].rpartition(".")[0]
        return within == "inputs" or _is_there(within, facts)
    return one.text in ("true", "false") or (compared is not None and _is_there(compared[1], facts))


def are_there(names: Collection[str], facts: Facts) -> bool:
    """Whether it is known of some inputs that each is there."""
    return bool(names) and all(_is_there(name, facts) for name in names)


def _is_there(name: str, facts: Facts) -> bool:
    return facts.get(Expression("", text=f"has({name})")) is True


def _inputs(text: str) -> Iterator[str]:
    for names in _INPUT.findall(text):
        parts = names.split(".")[1:]
        yield from (".".join(("inputs", *parts[: end + 1])) for end in range(len(parts)))


def answer(one: Expression, facts: Facts) -> bool | None:
    """Whether a condition holds by what is known; None where that does not tell."""
    atom, value = _compared(one)
    if atom in facts:
        return facts[atom] is value
    if one in facts:
        return facts[one]
    answers = [answer(part, facts) for part in one.parts]
    match one.sign:
        case "!":
            return None if answers[0] is None else not answers[0]
        case "&&":
            return False if False in answers else None if None in answers else True
        case "||":
            return True if True in answers else None if None in answers else False
        case _:
            return None


class Length(NamedTuple):
    """A length that an expression gives, or that it has no answer, and what is known there.

    It has no answer while one of the inputs is `missing`; without any, other things leave it so.
    """

    text: str | None
    facts: Facts
    missing: frozenset[str] = frozenset()


LENGTHS_MAX = 16


def lengths(text: str) -> tuple[Length, ...] | None:
    """All lengths that an expression can give; None where its text does not tell them.

    Facts change while a run goes on, so a condition about them fixes nothing. One that may have no
    answer leaves the expression without a length.
    """
    found: list[Length] = []
    unclear: list[Length] = []
    waiting: list[tuple[Expression, Facts]] = [(parsed(text), {})]
    while waiting:
        one, facts = waiting.pop()
        if one.sign == "?":
            condition, then, other = one.parts
            fixed = "facts" not in _texts(condition)
            waiting.append((other, known(condition, facts, holds=False) if fixed else facts))
            waiting.append((then, known(condition, facts, holds=True) if fixed else facts))
            if not always_clear(condition, facts):
                missing = _inputs(_texts(condition)) if fixed and _stays(condition) else ()
                unclear.append(Length(None, facts, frozenset(missing)))
        elif (literal := _TEXT.fullmatch(one.text)) is not None:
            found.append(Length(literal[2], facts))
        else:
            return None
        if len(found) > LENGTHS_MAX:
            return None
    return (*found, *unclear)


def _texts(one: Expression) -> str:
    return " ".join((one.text, *map(_texts, one.parts)))


class AtDue(NamedTuple):
    """A time that lies so many seconds behind the moment at which a clock is due, or before it."""

    clock: str
    seconds: int


def at_due(text: str) -> AtDue | None:
    """The time by a clock that an expression gives; None for any other time."""
    found = _DUE.fullmatch(text.strip())
    if found is None:
        return None
    length = found[4] or "0s"
    parts = _PARTS.findall(length)
    if "".join(number + unit for number, unit in parts) != length:
        return None
    seconds = sum(int(number) * _UNITS[unit] for number, unit in parts)
    return AtDue(found[1] or found[2], -seconds if found[3] == "-" else seconds)


NAMES_CLOCK = re.compile(r"""\bclocks\s*(?:\.\s*([A-Za-z_]\w*)|\[\s*["']([^"']*)["']\s*\])""")


def clocks_named(text: str) -> tuple[str, ...]:
    """The clocks that an expression reads."""
    return tuple(dict.fromkeys(one or other for one, other in NAMES_CLOCK.findall(text)))
