"""The API of templates: what can be run, drafts, and versions of a company's own, as methods."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from pydantic import TypeAdapter

from daemon.client.transport import ApiRequest, BaseClient, keyed, path, without_none
from daemon.contract.runs import Run
from daemon.contract.templates import (
    Canvas,
    DraftDocument,
    DraftEntry,
    PublishedVersion,
    RuleOfTemplate,
    Template,
    TemplateCheck,
    TemplateDetail,
    TemplateVersion,
    TemplateVersionDetail,
)

TEMPLATES = TypeAdapter(list[Template])
DRAFTS = TypeAdapter(list[DraftEntry])
RULES = TypeAdapter(list[RuleOfTemplate])
VERSIONS = TypeAdapter(list[TemplateVersion])


class TemplatesClient(BaseClient):
    """The processes that a company can run, and those that it writes."""

    def templates(self) -> AsyncIterator[Template]:
        return self._all("/process-templates/", TEMPLATES)

    async def template(self, vertical: str) -> TemplateDetail:
        return await self._get(TemplateDetail, "process-templates", vertical)

    async def canvas(self, vertical: str, *, digest: str | None = None) -> Canvas:
        """A template as a graph: the version with that digest, or the current one."""
        return await self._get(Canvas, "process-templates", vertical, "canvas", query=without_none(digest=digest))

    async def rules(self, vertical: str) -> list[RuleOfTemplate]:
        """What laws and standards ask of a template, with the rehearsals that show it."""
        answer = await self._transport.send(ApiRequest("GET", path("process-templates", vertical, "rules")))
        return answer.read_as(RULES)

    async def check_template(self, document: Mapping[str, Any]) -> TemplateCheck:
        """All that is wrong with a document, a canvas or a bare graph; nothing is stored."""
        request = ApiRequest("POST", "/process-templates/validate", body=document)
        return (await self._transport.send(request)).read(TemplateCheck)

    def drafts(self) -> AsyncIterator[DraftEntry]:
        return self._all("/template-drafts/", DRAFTS)

    async def draft(self, vertical: str) -> DraftDocument:
        """The draft of a template, as it was stored."""
        return await self._get(DraftDocument, "process-templates", vertical, "draft")

    async def put_draft(self, document: Mapping[str, Any], *, seen: str | None = None) -> DraftDocument:
        """Store a draft; with `seen` only in place of the one with that entity tag."""
        address = path("process-templates", document["vertical"], "draft")
        request = ApiRequest("PUT", address, body=document, headers=without_none(**{"If-Match": seen}))
        return (await self._transport.send(request)).read(DraftDocument)

    async def delete_draft(self, vertical: str) -> None:
        await self._delete("process-templates", vertical, "draft")

    async def publish(self, vertical: str, *, key: str | None = None) -> PublishedVersion:
        """Make the draft the next version; a Problem with `violations` if it breaks rules."""
        request = ApiRequest("POST", path("process-templates", vertical, "publish"), body={}, headers=keyed(key))
        return (await self._transport.send(request)).done(PublishedVersion)

    def versions(self, vertical: str) -> AsyncIterator[TemplateVersion]:
        return self._all(path("process-templates", vertical, "versions"), VERSIONS)

    async def version(self, vertical: str, number: int) -> TemplateVersionDetail:
        """A version with its document."""
        return await self._get(TemplateVersionDetail, "process-templates", vertical, "versions", str(number))

    async def retire(self, vertical: str, number: int, *, key: str | None = None) -> TemplateVersion:
        """Let a version be started no more; its runs go on."""
        address = path("process-templates", vertical, "versions", str(number), "retire")
        return await self._post(TemplateVersion, address, {}, key=key)

    async def migrate(self, run_id: str, version: int, *, key: str | None = None) -> Run:
        """Let a run go on by another version of its template."""
        return await self._post(Run, path("process-runs", run_id, "migrate"), {"version": version}, key=key)

    async def promote(self, run_id: str, *, key: str | None = None) -> Run:
        """Make a run that ended in shadow again, live; its calls must match the recorded ones."""
        return await self._post(Run, path("process-runs", run_id, "promote"), {}, key=key)
