"""One seed from beginning to end."""

from __future__ import annotations

from dataclasses import dataclass

from tests.sim.loop import Stuck
from tests.sim.people import People
from tests.sim.world import World, bounds

TAIL = 60


@dataclass(frozen=True)
class Played:
    """What came of a seed: what was wrong first, its trace, and what happened in it."""

    seed: int
    wrong: str | None
    hash: str
    trace: tuple[str, ...]
    turns: int
    acks: int
    sends: int
    deaths: int
    steps: int

    def __str__(self) -> str:
        """The end of the trace, what is wrong, and how to see it again."""
        return "\n".join((*self.trace[-TAIL:], f"seed {self.seed}: {self.wrong}"))


def play(seed: int) -> Played:
    """Play a seed."""
    world = World(seed)
    with bounds(world.mix.turn_steps_max):
        try:
            world.loop.play(People(world).act(), lambda: bool(world.witness.wrong))
        except Stuck as stuck:
            world.witness.broke(str(stuck))
    witness, wrong = world.witness, [*world.witness.wrong, *world.loop.problems]
    return Played(
        seed,
        wrong[0] if wrong else None,
        world.hash(),
        tuple(world.trace),
        witness.turns,
        witness.acks,
        witness.sends,
        world.deaths,
        world.loop.steps,
    )
