"""An action: one call that an agent wants to make, and the rules that say whether it may."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from msgspec import UNSET, Struct, to_builtins
from msgspec.structs import replace

from actors.core.canonical import canonical, digest
from actors.core.people import Company
from actors.core.template import ConditionFailed, Tier, ToolEffect, pointed

Decision = Literal["allow", "ask", "deny"]
Way = Literal["penstock", "aap", "mcp"]
"""Who makes the call: the service, the agent itself, or the service in the agent's place."""
BudgetOf = Literal["agent", "rule"]

UNRULED_ID = "unruled"
"""The rule of what no rule fits."""
EXPIRES = "PT10M"
"""For how long an approval counts, where its rule does not say."""
OUTCOME_WITHIN = "PT10M"
SCALE = 10**6
AMOUNT_MAX = 10**10 * SCALE
"""A larger amount is never allowed by a budget."""


class Call(Struct, frozen=True, kw_only=True):
    """A call that is wanted: who makes it, what it is, and why.

    `agent` is the name that histories have, `agent_id` the id of the key, or of the member.
    """

    tool: str
    server: str | None = None
    arguments: dict[str, Any]
    agent: str
    agent_id: str
    model: str | None = None
    reasoning: str | None = None
    context: dict[str, Any] | None = None


class BudgetRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much one agent, or all of a rule, may do within a time: calls, or what they add up to.

    `sum` is the dotted path of an amount; without one the calls are counted.
    """

    count: bool = False
    sum: str | None = None
    max: int | float
    per: str
    of: BudgetOf = "agent"

    def amount(self, call: Call) -> int | None:
        """What a call takes of it; None for what is never allowed by it."""
        return self.taken(call.arguments, call.context)

    def taken(self, arguments: dict[str, Any], context: dict[str, Any] | None) -> int | None:
        """The same by what is known of the call."""
        if self.sum is None:
            return SCALE
        found: Any = {"arguments": arguments, "context": context or {}}
        for part in self.sum.split("."):
            if not isinstance(found, dict) or part not in found:
                return None
            found = found[part]
        return scaled(found)

    def scope(self, call: Call) -> str:
        """Whose calls count together: those of the agent of that name, or all."""
        return call.agent if self.of == "agent" else ""


class Spent(Struct, frozen=True, omit_defaults=True):
    """What was done of a budget so far, in millionths; `max` is how much may be."""

    count: int = 0
    sum: int = 0
    max: int | None = None


class ActionRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A rule as an admin wrote it; `version` is the number of the rules that changed it last.

    `tool`, `server`, `agent` and `model` are globs; `when` is a condition. `gate` is the policy of
    the question, as templates have it, and `editable` are the pointers of arguments that an
    approval may change.
    """

    id: str
    version: int = 0
    digest: str = ""
    tool: str
    server: str | None = None
    agent: str | None = None
    model: str | None = None
    when: str | None = None
    decision: Decision
    reason: str | None = None
    effect: ToolEffect = "irreversible"
    tier: Tier | None = None
    question: str | None = None
    gate: dict[str, Any] | None = None
    editable: tuple[str, ...] = ()
    budget: BudgetRule | None = None
    expires: str | None = None

    def fits(self, call: Call) -> bool:
        """Whether it is about such calls, whatever its condition says."""
        pairs = ((self.tool, call.tool), (self.server, call.server), (self.agent, call.agent), (self.model, call.model))
        return all(glob is None or matches(glob, value or "") for glob, value in pairs)


def rule_digest(rule: ActionRule) -> str:
    """The digest of what a rule says, whatever its version."""
    said = to_builtins(rule)
    return digest({name: value for name, value in said.items() if name not in ("version", "digest")})


_UNRULED = ActionRule(id=UNRULED_ID, tool="*", decision="ask")
UNRULED = ActionRule(id=UNRULED_ID, tool="*", decision="ask", digest=rule_digest(_UNRULED))
"""What no rule fits is asked of a person."""


class RuleReference(Struct, frozen=True):
    """The rule that decided, as it stood."""

    id: str
    version: int
    digest: str


class RuleDecision(Struct, frozen=True):
    """What a rule says of a call; `why` where it is not what the rule's own word is.

    `amount` is what the call takes of the rule's budget, of which that much was `spent` before.
    """

    rule: ActionRule
    decision: Decision
    why: str | None = None
    spent: Spent | None = None
    amount: int | None = None

    @property
    def rule_id(self) -> str:
        """The rule that decided."""
        return self.rule.id

    @property
    def reference(self) -> RuleReference:
        """The rule as the action keeps it."""
        return RuleReference(self.rule.id, self.rule.version, self.rule.digest)


class ActionFacts(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What a run knows of the action that it is, beside its arguments, which are its inputs.

    The question has to be answered by `deadline_at`; `timeout` is that time as it was asked for. An
    approval counts for so long (`expires`), and its outcome is told `outcome_within`. `amount` is
    what the call takes of the `budget` of its rule. Where people changed the arguments, those are
    kept that were `asked` for. Where numbers are kept as text, `written` is what the agent wrote.
    """

    tool: str
    server: str | None = None
    agent: str
    agent_id: str
    model: str | None = None
    reasoning: str | None = None
    context: dict[str, Any] | None = None
    way: Way = "penstock"
    rule: RuleReference
    decision: Decision
    why: str | None = None
    reason: str | None = None
    spent: Spent | None = None
    amount: int | None = None
    budget: BudgetRule | None = None
    deadline_at: datetime | None = None
    expires: str = EXPIRES
    outcome_within: str = OUTCOME_WITHIN
    editable: tuple[str, ...] = ()
    fingerprint: str
    timeout: str | None = None
    asked: dict[str, Any] | None = None
    written: str | None = None


Holds = Callable[[ActionRule, Call, Spent | None], bool]
"""Whether the condition of a rule holds; ConditionFailed where it has no clear answer."""
SpentOf = Callable[[ActionRule], Spent]


def decide(
    rules: Iterable[ActionRule], call: Call, spent: SpentOf, holds: Holds, *, autonomous: bool = True
) -> RuleDecision:
    """What the first rule that fits says of a call.

    A condition that fails never allows, nor does a budget that the call would pass, nor a company
    that clears nothing without a human.
    """
    for rule in rules:
        if not rule.fits(call):
            continue
        so_far = None if rule.budget is None else spent(rule)
        amount = None if rule.budget is None else rule.budget.amount(call)
        try:
            if rule.when is not None and not holds(rule, call, so_far):
                continue
        except ConditionFailed as failed:
            decision: Decision = "ask" if rule.decision == "allow" else rule.decision
            return RuleDecision(rule, decision, f"condition failed: {failed}", so_far, amount)
        why = None if rule.decision != "allow" else _why_not(rule, so_far, amount, autonomous=autonomous)
        return RuleDecision(rule, rule.decision if why is None else "ask", why, so_far, amount)
    return RuleDecision(UNRULED, "ask", "no rule fits")


def _why_not(rule: ActionRule, spent: Spent | None, amount: int | None, *, autonomous: bool) -> str | None:
    """Why a rule that allows does not allow this."""
    if not autonomous:
        return "autonomy is off"
    if rule.budget is None or spent is None:
        return None
    most = scaled(rule.budget.max)
    if amount is None or most is None:
        return "budget: the amount is not clear"
    return "budget" if spent.sum + amount > most else None


def matches(glob: str, value: str) -> bool:
    """Whether a glob is a value: `*` is anything, `?` one character."""
    if glob == "*":
        return True
    if "*" not in glob and "?" not in glob:
        return glob == value
    at, star, resumes = 0, -1, 0
    place = 0
    while at < len(value):
        if place < len(glob) and glob[place] == "*":
            star, resumes = place, at
            place += 1
        elif place < len(glob) and glob[place] in ("?", value[at]):
            place, at = place + 1, at + 1
        elif star >= 0:
            resumes += 1
            place, at = star + 1, resumes
        else:
            return False
    return not glob[place:].strip("*")


def scaled(value: object) -> int | None:
    """An amount in millionths; None for what is no number, or negative, finer or too large."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= AMOUNT_MAX // SCALE:
        return None
    parts, per = Decimal(repr(value)).as_integer_ratio()
    amount, finer = divmod(parts * SCALE, per)
    return None if finer else amount


def fingerprint(call: Call) -> str:
    """The same for calls that do the same, whoever makes them."""
    return digest([call.server, call.tool, call.arguments])


def misedits(asked: Any, made: Any, editable: Sequence[str], at: str = "") -> Iterator[str]:
    """The pointers at which arguments are not those that were asked for, and must not differ."""
    if any(at == one or at.startswith(f"{one}/") for one in editable):
        return
    if isinstance(asked, dict) and isinstance(made, dict):
        for name in sorted({*asked, *made}):
            here = at + pointed(name)
            yield from misedits(asked.get(name, UNSET), made.get(name, UNSET), editable, here)
    elif isinstance(asked, list) and isinstance(made, list) and len(asked) == len(made):
        for number, (one, other) in enumerate(zip(asked, made, strict=True)):
            yield from misedits(one, other, editable, f"{at}/{number}")
    elif UNSET in (asked, made) or canonical(asked) != canonical(made):
        yield at


def with_arguments(facts: ActionFacts, before: dict[str, Any], arguments: dict[str, Any]) -> ActionFacts:
    """What is known of an action that is made with other arguments than before."""
    amount = None if facts.budget is None else facts.budget.taken(arguments, facts.context)
    return replace(facts, amount=amount, asked=before if facts.asked is None else facts.asked)


def context_key(context: dict[str, Any] | None) -> str | None:
    """The same for the calls of an agent in one context."""
    if not context:
        return None
    return digest({name: value for name, value in context.items() if name != "call_id"})


def standing(company: Company, facts: ActionFacts) -> str | None:
    """Why what was decided about an action does not stand any more: rule, key or model changed."""
    rule = facts.rule
    if rule.id != UNRULED_ID and (now := company.rules.get(rule.id)) != rule.version:
        more = "is gone since" if now is None else f"has changed since (version {rule.version}, now {now})"
        return f"the rule {rule.id} {more}"
    key = company.agents.get(facts.agent_id)
    if key is None:
        return None if company.member(facts.agent_id) is not None else "the agent's key is gone"
    if facts.model != key.model and not any(matches(one, facts.model or "") for one in key.models):
        return f"the agent has another model since: {key.model or 'none'}"
    return None


def shown_action(facts: ActionFacts) -> dict[str, Any]:
    """What people see of an action, and digests cover."""
    return {
        "agent": facts.agent,
        "agent_id": facts.agent_id,
        "model": facts.model,
        "server": facts.server,
        "tool": facts.tool,
        "way": facts.way,
        "reasoning": facts.reasoning,
        "context": facts.context,
        "rule": [facts.rule.id, facts.rule.version, facts.rule.digest],
        "expires": facts.expires,
        "editable": facts.editable,
        **({} if facts.written is None else {"written": facts.written}),
    }
