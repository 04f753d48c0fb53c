"""What came of a case: its figures, and whether each is as it has to be."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Outcome:
    """The figures of one case in the order in which they were found."""

    case: str
    figures: list[tuple[str, str]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    not_played: str = ""
    skipped: str = ""
    """What this machine lacks for the case."""

    def note(self, name: str, value: object, *, held: bool = True) -> None:
        """Keep a figure; one that is not as it has to be misses the case."""
        shown = f"{value:,}" if isinstance(value, int) else f"{value:.2f} s" if isinstance(value, float) else str(value)
        self.figures.append((name, shown if held else f"{shown}  MISSED"))
        if not held:
            self.missed.append(name)

    @property
    def sound(self) -> bool:
        """Whether the case was played, and everything was as it has to be."""
        return not (self.not_played or self.missed)

    @property
    def verdict(self) -> str:
        if self.skipped:
            return f"SKIPPED: {self.skipped}"
        if self.not_played:
            return f"NOT PLAYED: {self.not_played}"
        return f"MISSED: {', '.join(self.missed)}" if self.missed else "held"

    def __str__(self) -> str:
        lines = (f"  {name:<42}{value}" for name, value in self.figures)
        return "\n".join([f"{self.case}: {self.verdict}", *lines])


class NotPlayed(Exception):
    """What a case needs did not come about, so that it says nothing."""
