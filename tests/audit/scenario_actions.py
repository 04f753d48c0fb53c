"""What companies have of actions of agents: rules, pauses, actions, and what stands beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.core.actions.deciding import SCALE, ActionRule
from actors.core.canonical import canonical, digest
from daemon.model.actions import (
    ActionDocument,
    ActionJoin,
    BudgetHold,
    McpServerChange,
    StoredInstance,
    StoredMcpServer,
)
from daemon.model.audit_events import Logged
from daemon.model.events.company import ActionPausesChanged, ActionRulesChanged, ActionRuleSet, Pause, StoppedAgents
from daemon.model.people.companies import ACTION_PAUSES, ACTION_RULES
from daemon.stores.tables.agents.actions import INSTANCES, SERVER_CHANGES, SERVERS
from tests.histories import NOON, action

if TYPE_CHECKING:
    from daemon.stores.store import Store


async def actions(store: Store, company_id: str, name: str) -> None:
    """Rules and pauses are changed twice, two actions begin, and two of all else is kept."""
    by = f"{name}@{name}.test"
    await _rules(store, company_id, by)
    await _pauses(store, company_id, by)
    for number in range(2):
        deadline = NOON if number else None
        await store.append(action(f"action-{name}-{number}", company_id, deadline_at=deadline))
        await store.hold_budget(
            BudgetHold(company_id, "refunds", f"bot-{number}", f"new-{name}-{number}", SCALE, NOON), NOON, 5 * SCALE
        )
        print_ = f"print-{number}"
        await store.join_action(ActionJoin(company_id, "key-1", print_, f"action-{name}-{number}", NOON))
        document = {"vertical": "action", "version": number + 1, "title": company_id}
        await store.keep_action_template(ActionDocument(company_id, digest(document), canonical(document)))
    await store.take_action(company_id, "key-1", "print-0", run_id=f"action-{name}-0", at=NOON)
    await store.join_action(ActionJoin(company_id, "key-2", "print-0", f"action-{name}-0", NOON))
    await store._write(company_id, lambda db: _beside(db, company_id, name, by))


async def _rules(store: Store, company_id: str, by: str) -> None:
    before = ActionRuleSet()
    for number, tool in ((1, "refund"), (2, f"refund-{company_id}")):
        rule = ActionRule(id="refunds", version=number, tool=tool, decision="ask")
        after = ActionRuleSet(rules=(rule,), number=number)
        changed = ActionRulesChanged(at=NOON, by=by, before=before, after=after, number=number, via="session")
        assert await store.put_setting(ACTION_RULES, Logged(company_id, changed))
        before = after


async def _pauses(store: Store, company_id: str, by: str) -> None:
    before = StoppedAgents()
    for number, reason in ((1, "It errs."), (2, f"It errs at {company_id}.")):
        after = StoppedAgents(agents={"bot": Pause(reason=reason, by=by, at=NOON)})
        changed = ActionPausesChanged(at=NOON, by=by, before=before, after=after, number=number, via="session")
        assert await store.put_setting(ACTION_PAUSES, Logged(company_id, changed))
        before = after


async def _beside(db: Any, company_id: str, name: str, by: str) -> None:
    for number in range(2):
        made = (f"aap-{name}-{number}", f"bot-{number}", b"\x02url", "registered", b"\x02secret", 1, NOON, by)
        await INSTANCES.insert(db, StoredInstance(company_id, f"key-{name}-{number}", *made, deleted_at=None))
        said = ("http://tools.test", "none", b"\x02secret", True, False, 50, {"read": {"effect": "read"}}, NOON, by)
        await SERVERS.insert(db, StoredMcpServer(company_id, f"server-{number}", 1, *said))
        state = {"url": "http://tools.test"}
        of = (company_id, f"server-{number}", 1, 1, NOON, by)
        await SERVER_CHANGES.insert(db, McpServerChange(*of, "set", None, state, "session"))
