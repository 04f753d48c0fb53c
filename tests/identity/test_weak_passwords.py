"""Passwords that are guessed at once are refused, and no others."""

from __future__ import annotations

import pytest

from daemon.identity.passwords import weakness

OWN = ("Ann@Example.test", "Example Health")


@pytest.mark.parametrize(
    ("password", "why"),
    [
        *[(blank, "is blank") for blank in (" " * 8, " \t " * 3, "\u2003" * 10)],
        *[(text, "repeats a single character") for text in ("a" * 8, "0" * 12, "ü" * 32, "  zzzzzzzz ")],
        *[(text, "is a sequence") for text in ("12345678", "0123456789", "9876543210", "78901234", "hgfedcba")],
        *[(text, "is one of the most common") for text in ("password", "PassWord", "qwertyui", "iloveyou", "1q2w3e4r")],
        *[(text, "is the e-mail address") for text in ("ann@example.test", "EXAMPLE health")],
    ],
)
def test_what_is_guessed_at_once_is_refused_with_the_reason(password: str, why: str) -> None:
    found = weakness(password, *OWN)
    assert found is not None
    assert found.startswith(why)


@pytest.mark.parametrize(
    "password",
    [
        *("correct horse", "correct horse battery", "password123!", "s3cret-pass-word", "password123", "test1234"),
        *("x" * 256, "123456789!", "11112222x", "ab" * 4, "2468135790", "пароль-и-что-то"),
        *("ann@example.test!", "Example Health 1", "\x00\x01\x02\x03\x04\x05\x06\x07"),
    ],
)
def test_what_is_not_beyond_doubt_is_taken(password: str) -> None:
    assert weakness(password, *OWN) is None
