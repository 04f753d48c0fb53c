"""Passwords that are guessed at once: they are refused where a password is chosen."""

from __future__ import annotations

from functools import cache
from importlib import resources
from itertools import pairwise

COMMON = "common_passwords.txt"
# A longer repetition is none of the first guesses.
REPEATED_MAX = 32


def weakness(password: str, *own_names: str) -> str | None:
    """Why a password is refused; None for all others. `own_names` are those of its owner."""
    plain = password.strip().casefold()
    if not plain:
        return "is blank"
    if len(set(plain)) == 1 and len(plain) <= REPEATED_MAX:
        return "repeats a single character"
    if plain in {name.strip().casefold() for name in own_names}:
        return "is the e-mail address or the name of the company"
    if _is_sequence(plain):
        return "is a sequence of neighbouring characters"
    if plain in _common():
        return "is one of the most common passwords"
    return None


def _is_sequence(plain: str) -> bool:
    """Whether letters or digits go up or down by one throughout; after 9 comes 0."""
    steps = {ord(after) - ord(before) for before, after in pairwise(plain)}
    if plain.isascii() and plain.isdigit():
        steps = {(step + 1) % 10 - 1 for step in steps}
    return plain.isascii() and plain.isalnum() and steps in ({1}, {-1})


@cache
def _common() -> frozenset[str]:
    text = (resources.files("daemon.identity") / COMMON).read_text(encoding="utf-8")
    return frozenset(text.split())
