"""Gates that a version of a template makes laxer, and who may not decide there for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from actors.core.gate_policy import Asked, GatePolicy, Loosened, approvals_asked, laxer
from actors.core.template import Template


def published(before: Template, after: Template, by: str) -> tuple[Loosened, ...]:
    """The gates that somebody's version makes laxer.

    A gate is compared with how it stood before this person's versions began to follow one another:
    neither another version nor a small return ends what the first one did. With a version of
    another person the comparison begins anew.
    """
    earlier = {one.step_id: one.before for one in before.loosened if one.by == (by,)}
    return tuple([Loosened(step_id, (by,), policy) for step_id, policy in _weakened(earlier, before, after)])


def migrated(standing: tuple[Loosened, ...], before: Template, after: Template, by: str) -> tuple[Loosened, ...]:
    """The gates of a run that all who migrated it made laxer, after somebody migrates it."""
    earlier, people = {one.step_id: one.before for one in standing}, {one.step_id: one.by for one in standing}
    return tuple(
        [
            Loosened(step_id, tuple(dict.fromkeys((*people.get(step_id, ()), by))), policy)
            for step_id, policy in _weakened(earlier, before, after)
        ]
    )


def _weakened(earlier: Mapping[str, GatePolicy], before: Template, after: Template) -> Iterator[tuple[str, GatePolicy]]:
    """The steps that are laxer gates than before, or none any more, with what they asked then.

    A gate under a new name is compared with those that are gone.
    """
    stood, stands = _gates(before), _gates(after)
    gone = _apart(policy for step_id, policy in stood.items() if not after.has(step_id))
    lost: dict[Asked, GatePolicy | None] = {}
    for step_id in dict.fromkeys((*earlier, *stood, *stands)):
        known = earlier.get(step_id) or stood.get(step_id)
        now, policy = stands.get(step_id), None
        if known is not None:
            policy = known if laxer(known, now) else None
        elif now is not None and not before.has(step_id):
            if approvals_asked(now) not in lost:  # gates that ask the same are compared once
                lost[approvals_asked(now)] = next((one for one in gone if laxer(one, now)), None)
            policy = lost[approvals_asked(now)]
        if policy is not None:
            yield step_id, policy


def _apart(policies: Iterable[GatePolicy]) -> list[GatePolicy]:
    """The first of those that ask the same."""
    found: dict[Asked, GatePolicy] = {}
    for one in policies:
        found.setdefault(approvals_asked(one), one)
    return [*found.values()]


def _gates(template: Template) -> dict[str, GatePolicy]:
    return {node.id: node.policy for node in template.nodes if node.gate}
