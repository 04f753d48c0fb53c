"""How a request can end otherwise: the service says no, or nobody answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MEMBERS = ("type", "title", "status", "detail", "code", "request_id", "retryable")


@dataclass(slots=True, eq=False)
class Problem(Exception):
    """A refusal (RFC 9457); `more` has the members beyond the common ones."""

    status: int
    code: str
    detail: str
    title: str = ""
    type: str = "about:blank"
    request_id: str = ""
    retryable: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)
    retry_after_s: float | None = None

    def __str__(self) -> str:
        return self.detail

    @property
    def outcome(self) -> str | None:
        """Of a 503: `not_applied`, or `unknown` when only a repeat under the same key can tell."""
        return self.more.get("outcome")

    @classmethod
    def of(cls, status: int, headers: Mapping[str, str], raw: bytes) -> Problem:
        """The problem in a response; one without comes from a proxy."""
        asked = headers.get("Retry-After", "")
        after_s = float(asked) if asked.isdecimal() else None
        try:
            body = json.loads(raw)
            known = {name: body[name] for name in MEMBERS}
        except (ValueError, KeyError, TypeError):
            detail = f"The answer has status {status}, and is none of this service."
            return cls(status, "no_problem_document", detail, retry_after_s=after_s)
        more = {name: value for name, value in body.items() if name not in MEMBERS}
        return cls(**{**known, "status": status}, more=more, retry_after_s=after_s)


class Unreachable(Exception):
    """No whole response came; a change may have been made all the same."""
