"""The templates of actions: one step each, made of the rule that decided, kept before the start."""

from __future__ import annotations

from collections import OrderedDict

from msgspec.structs import replace

from actors.core.actions.deciding import Call, RuleDecision, Way
from actors.core.canonical import canonical
from actors.core.template import Template, ToolEffect
from daemon.templates.agents.action_rules import action_document
from daemon.templates.catalog import Catalog
from daemon.templates.documents import Document
from daemon.templates.nodes import HANDED

TEMPLATES_MAX = 1_024
_Key = tuple[str, str, int, str, str, str | None, str | None]


def tool_of(call: Call, way: Way) -> str:
    """The tool as the template names it: of a server, or of the agent, it is no connector's."""
    if way == "aap":
        return HANDED + call.tool
    return call.tool if call.server is None else f"{call.server}/{call.tool}"


class ActionTemplates:
    """The template of each rule and tool; those that were used last are in memory."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._digests: OrderedDict[_Key, str] = OrderedDict()

    async def template(
        self, company_id: str, call: Call, decision: RuleDecision, way: Way, effect: ToolEffect | None = None
    ) -> Template:
        """The template of a call that was decided so; what is known of its effect counts."""
        tool = tool_of(call, way)
        rule = replace(decision.rule, decision=decision.decision, effect=effect or decision.rule.effect)
        if rule.tier == "medium" and (decision.rule.decision != "ask" or decision.why is not None):
            rule = replace(rule, tier=None)  # earned is what the rule asks by its own word, and that alone
        key = (company_id, rule.digest, rule.version, rule.decision, tool, rule.effect, rule.tier)
        if (digest := self._digests.get(key)) is not None:
            self._digests.move_to_end(key)
            return await self._catalog.pinned(company_id, digest)
        document = Document.model_validate(action_document(rule, tool)).normalised()
        template = await self._catalog.keep_action(company_id, canonical(document))
        self._digests[key] = template.digest
        while len(self._digests) > TEMPLATES_MAX:
            self._digests.popitem(last=False)
        return template
