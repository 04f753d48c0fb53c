"""How often something happens at least, by the interval of Wilson."""

from __future__ import annotations

from math import sqrt

Z = 1.96
"""The two-sided 95 % quantile of the normal distribution."""


def lower_bound(hits: int, of: int, z: float = Z) -> float:
    """The lower end of Wilson's interval for a share; 0 of nothing."""
    if of == 0:
        return 0.0
    share, square = hits / of, z * z
    spread = z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, (share + square / (2 * of) - spread) / (1 + square / of))
