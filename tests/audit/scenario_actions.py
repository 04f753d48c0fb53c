"""What companies have of actions of agents: rules, pauses, actions, and what stands beside them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from actors.core.actions.deciding import SCALE, ActionRule
from actors.core.canonical import canonical, digest
from daemon.aap.instances import instance_changed
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
    await _beside(store, company_id, name, by)


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


async def _beside(store: Store, company_id: str, name: str, by: str) -> None:
    """An instance that lives and one that is deleted; a server that is changed, and one more."""
    for number in range(2):
        made = (f"aap-{name}-{number}", f"bot-{number}", b"url", "registered", b"\x02secret", 1, NOON, by)
        one = StoredInstance(company_id, f"key-{name}-{number}", *made, deleted_at=None)
        changed = partial(_instance, store, company_id, by)
        await changed(None, one)
        after = replace(one, name=f"new-{number}", number=2)
        await changed(one, after)
        if number:
            gone: dict[str, Any] = dict.fromkeys(("sealed_url", "registration_id", "sealed_secret"))
            await changed(after, replace(after, **gone, number=3, deleted_at=NOON))
    states: list[dict[str, Any]] = [
        {"url": f"http://{name}.test/{number}", "auth_type": "none", "reversible": True, "trust_annotations": False,
         "wait_s": 50, "tools": {"read": {"effect": "read"}}} for number in range(2)
    ]  # fmt: skip
    changes: list[tuple[str, int, Any, Any]] = [
        ("a", 1, None, states[0]),
        ("a", 2, states[0], states[1]),
        ("b", 1, None, states[0]),
    ]
    for server, number, before, after_ in changes:
        stored = StoredMcpServer(
            company_id, server, number, sealed_secret=b"\x02secret", **after_, changed_at=NOON, changed_by=by
        )
        secret: Any = "set" if before is None else "kept"
        of = (company_id, server, number, number, NOON, by)
        await store.put_server(stored, McpServerChange(*of, secret, before, after_, "session"))


async def _instance(
    store: Store, company_id: str, by: str, before: StoredInstance | None, after: StoredInstance
) -> None:
    event = instance_changed(before, after, at=NOON, by=by, via="session")
    await store.change_instance(after, None, None, Logged(company_id, event))
