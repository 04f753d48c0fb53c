"""A sheet of SVG: rectangles, lines and text in the colours of its style, which follows light and
dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

STYLE = """
svg { --surface: #fcfcfb; --ink: #0b0b0b; --soft: #52514e; --grid: #e1e0d9; --quiet: #a5a39b; --band: #2a78d61a;
  --one: #2a78d6; --two: #c2521f; --three: #15805a; --four: #4a3aa7; }
@media (prefers-color-scheme: dark) {
  svg { --surface: #1a1a19; --ink: #ffffff; --soft: #c3c2b7; --grid: #33332f; --quiet: #6f6e68; --band: #3987e530;
    --one: #3987e5; --two: #e0713f; --three: #27b585; --four: #9085e9; }
}
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--ink);
  font-variant-numeric: tabular-nums; }
.title { font-size: 15px; font-weight: 600; }
.soft { fill: var(--soft); }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
"""


@dataclass(slots=True)
class Sheet:
    """What is drawn so far, from the top downwards."""

    width: float
    parts: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> None:
        """Words, their base line at that place."""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(said)}</text>')

    def bar(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A bar that grows to the right; its end is round."""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(1.5, width):.1f}" height="{height:.1f}" rx="3" '
            f'fill="var(--{colour})"/>'
        )

    def rule(self, start: tuple[float, float], end: tuple[float, float], colour: str, dashes: str = "") -> None:
        """A thin straight line."""
        (x1, y1), (x2, y2) = start, end
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="var(--{colour})"{dashed}/>'
        )

    def line(self, points: Sequence[tuple[float, float]], colour: str) -> None:
        """A line over points, each of which is marked."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline class="line" stroke="var(--{colour})" points="{path}"/>')
        self.parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="var(--{colour})" stroke="var(--surface)" stroke-width="2"/>'
            for x, y in points
        ]

    def svg(self, height: float, title: str, told: str) -> str:
        """The sheet as a file; the title and what is told are for those who cannot see it."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:.0f} {height:.0f}" '
            f'width="{self.width:.0f}" height="{height:.0f}" role="img" aria-labelledby="title desc">'
        )
        named = f'<title id="title">{escape(title)}</title><desc id="desc">{escape(told)}</desc>'
        ground = f'<rect width="{self.width:.0f}" height="{height:.0f}" rx="8" fill="var(--surface)"/>'
        return "\n".join((head, named, f"<style>{STYLE}</style>", ground, *self.parts, "</svg>", ""))
