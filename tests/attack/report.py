"""What an attack found: figures against bars, printed as they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


def percentile(values: Sequence[float], share: float) -> float:
    """What this share of the values stays within; 0 for none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


@dataclass(slots=True)
class Report:
    """Figures, and the bars that were missed."""

    missed: list[str] = field(default_factory=list)

    def most(self, what: str, found: float, bar: float, unit: str = "") -> None:
        """A figure that may be at most that."""
        self._line(what, found, f"at most {bar:,g}{unit}", unit, good=found <= bar)

    def least(self, what: str, found: float, bar: float, unit: str = "") -> None:
        """A figure that has to be at least that."""
        self._line(what, found, f"at least {bar:,g}{unit}", unit, good=found >= bar)

    def told(self, what: str, found: object) -> None:
        """A figure without a bar."""
        print(f"{what:<58}{found}", flush=True)

    def _line(self, what: str, found: float, bar: str, unit: str, *, good: bool) -> None:
        figure = f"{found:,.0f}" if float(found).is_integer() else f"{found:,.2f}"
        print(f"{what:<58}{figure}{unit}   ({bar}) {'' if good else '  MISSED'}", flush=True)
        if not good:
            self.missed.append(what)
