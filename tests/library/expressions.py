"""What expressions read: paths below their roots, and the values that they are compared with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

Path = tuple[str, ...]
EACH = "[]"
"""The part of a path that stands for every item of a list."""
ROOTS = frozenset({"inputs", "facts", "output", "call"})
LOOPS = frozenset({"all", "exists", "exists_one", "map", "filter"})
COMPARES = frozenset({"==", "!=", "<", ">", "<=", ">=", "in"})
_TOKEN = re.compile(r"""r?"(?:[^"\\]|\\.)*"|r?'(?:[^'\\]|\\.)*'|[A-Za-z_]\w*|\d+(?:\.\d+)?|[=!<>]=|&&|\|\||[^\s]""")


class Read(NamedTuple):
    """A path that an expression reads, and the literals that it is compared with."""

    path: Path
    literals: tuple[Any, ...] = ()


def reads(text: str) -> list[Read]:
    """What an expression reads, in its order; a variable of a loop stands for each item."""
    return [*_Reader(_TOKEN.findall(text)).reads()]


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0
        self.bound: dict[str, Path] = {}

    def reads(self) -> Iterator[Read]:
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            named = self.at > 0 and self.tokens[self.at - 1] == "."
            if named or not (token in ROOTS or token in self.bound):
                self.at += 1
                continue
            path = self._path(self.bound.get(token, (token,)))
            if path:
                yield Read(path, (*self._behind(), *self._before()))

    def _path(self, path: Path) -> Path:
        """The members that follow; the reader stands behind them afterwards."""
        self.start = self.at
        self.at += 1
        while True:
            ahead = self.tokens[self.at : self.at + 4]
            match ahead:
                case [".", loop, "(", variable, *_] if loop in LOOPS:
                    self.bound[variable] = (*path, EACH)
                    self.at += 4
                    return path
                case [".", _, "(", *_]:
                    return path
                case [".", name, *_]:
                    path, self.at = (*path, name), self.at + 2
                case ["[", index, "]", *_]:
                    text = _literal(index)
                    path, self.at = (*path, text if isinstance(text, str) else EACH), self.at + 3
                case _:
                    return path

    def _behind(self) -> Iterator[Any]:
        """The literals on the other side of a comparison behind the path."""
        at = self.at
        while self.tokens[at : at + 1] == [")"]:
            at += 1
        if self.tokens[at : at + 1] and self.tokens[at] in COMPARES:
            yield from self._literals(at + 1)

    def _before(self) -> Iterator[Any]:
        """The literal before the path, as in `"E11" in inputs.codes` or `0 < output.hits`."""
        at = self.start - 1
        if at > 0 and self.tokens[at] in COMPARES:
            found = _literal(self.tokens[at - 1])
            if found is not None:
                yield found

    def _literals(self, at: int) -> Iterator[Any]:
        if self.tokens[at : at + 1] != ["["]:
            negative = self.tokens[at : at + 1] == ["-"]
            found = _literal(self.tokens[at + negative]) if at + negative < len(self.tokens) else None
            if found is not None:
                yield -found if negative else found
            return
        for token in self.tokens[at + 1 : self.tokens.index("]", at)]:
            found = _literal(token)
            if found is not None:
                yield found


def _literal(token: str) -> Any:
    """The value of a literal; None for what is none."""
    if token in ("true", "false"):
        return token == "true"
    if token[:1] in "\"'":
        return token[1:-1]
    if token[:1].isdigit():
        return float(token) if "." in token else int(token)
    return None
