"""Events of the logs: who is known by a subject of an OpenID provider."""

from __future__ import annotations

from actors.core.messages import EventBase


class SubjectLinked(EventBase, frozen=True, kw_only=True, tag="subject_linked"):
    """A user is known by the subject of an OpenID provider from now on."""

    by: str
    issuer: str
    subject: str
    user: str
    via: str
