"""Actors ask what is known of a judged step where the word of its panel counts, and not before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.core.autonomy import Breakpoint, Record
from actors.core.messages import PanelDecided
from actors.core.template import Template
from daemon.templates.loading import load_text
from tests.actors.house import Store, document, house

STEPS = """
  - {id: review, kind: gate, label: Review, next: {approved: pay, denied: over}}
  - {id: pay, kind: task, label: Pay, tool: pay, tier: medium, effect: reversible, next: over}
  - {id: over, kind: end, label: Over, outcome: over}
"""
RULE = "judges: [{id: small, label: Small, steps: [pay], rule: 'true', confidence: 0.9}]\n"
JUDGED = load_text(document("judged", STEPS) + RULE, "judged")


class CountedRecords:
    """Records by which every panel is right, and the versions that were asked about."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def for_template(self, _: str, template: Template, _weighed: object = frozenset()) -> Mapping[str, Record]:
        self.asked.append(template.version)
        return {"pay": Record(200, 200, 1.0, (Breakpoint(0.0, 1.0, 0.98),))}


async def test_records_are_asked_for_once_the_word_of_a_panel_counts(store: Store) -> None:
    known = CountedRecords()
    home = await house(store, entries=[JUDGED], records=known)
    run = (await home.start("judged", template=JUDGED.template)).run
    assert known.asked == []
    done: Any = await home.resume(run, "review")
    assert known.asked == [1]
    weighed: list[Any] = [one.weighed for one in done.events if isinstance(one, PanelDecided)]
    assert [one.cases for one in weighed] == [200]
