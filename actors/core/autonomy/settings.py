"""What a company allows to be cleared without a human."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

SAMPLE_ONE_IN = 5
"""Of the steps that may learn, one in so many goes to a human though it would be cleared."""
RAREST_SAMPLE, MOST_SAMPLED = 20, 2


def sample_one_in(floor: float) -> int:
    """Of the other steps that would be cleared, one in how many goes to a human all the same.

    Between two samples no more are cleared than may be wrong in a hundred, by that floor: so a
    panel that becomes worse is noticed before its errors weigh as much as is allowed.
    """
    return max(MOST_SAMPLED, min(RAREST_SAMPLE, round(100 * (1 - floor))))


class Learnable(Struct, frozen=True):
    """A step that may earn autonomy: above which agreement, and how many of it people still see."""

    threshold: float = 0.95
    sample_one_in: int = SAMPLE_ONE_IN


class Autonomy(Struct, frozen=True):
    """Whether anything is cleared at all, how sure a panel has to be, and which steps may learn.

    `learnable` is by `<vertical>/<step>`.
    """

    auto_resolve: bool = True
    confidence_floor: float = 0.70
    irreversible_floor: float = 0.95
    learnable: Mapping[str, Learnable] = field(default_factory=dict)

    def floor(self, effect: str | None) -> float:
        """How sure a panel has to be; an irreversible step has the higher of both floors."""
        floor = self.confidence_floor
        return max(floor, self.irreversible_floor) if effect == "irreversible" else floor

    def learning(self, vertical: str, step_id: str) -> Learnable | None:
        """What the company asks of that step, if it may learn."""
        return self.learnable.get(f"{vertical}/{step_id}")
