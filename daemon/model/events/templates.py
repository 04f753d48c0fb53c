"""Events of a company's log: templates of its own."""

from __future__ import annotations

from actors.core.messages import EventBase


class TemplatePublished(EventBase, frozen=True, kw_only=True, tag="template_published"):
    """A version of a template of the company's own can be started from now on."""

    by: str
    digest: str
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
