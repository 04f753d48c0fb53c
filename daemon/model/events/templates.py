"""Events of a company's log: templates of its own."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from actors.core.gate_policy import Loosened
from actors.core.messages import EventBase


class TemplatePublished(EventBase, frozen=True, kw_only=True, tag="template_published"):
    """A version of a template of the company's own can be started from now on.

    `drafted_by` saved the draft, `made_by` made the key that published it; `loosened` are the gates
    that it makes laxer.
    """

    by: str
    digest: str
    drafted_by: str | UnsetType = UNSET
    loosened: tuple[Loosened, ...] | UnsetType = UNSET
    made_by: str | UnsetType = UNSET
    template_version: int
    title: str
    vertical: str
    via: str


class TemplateRetired(EventBase, frozen=True, kw_only=True, tag="template_retired"):
    """A version of a template of the company's own is not started any more."""

    by: str
    digest: str
    template_version: int
    vertical: str
    via: str
