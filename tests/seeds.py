"""Seeds of what is random: another at each run, in a rig's short form as in its long one."""

from __future__ import annotations

import os
import random

SEEDS = 2**32


def drawn() -> int:
    """A new seed, or the one of `SEED=`; it is printed, so that a failure can be had again."""
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(SEEDS))
    print(f"seed {seed} (again with SEED={seed})")  # noqa: T201 - pytest shows it where a test fails
    return seed
