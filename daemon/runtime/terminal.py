"""Text of others, safe to print on a terminal."""

from __future__ import annotations


def clean(value: object) -> str:
    """Escape characters that move the cursor or change the text direction, as JSON does."""
    return "".join(one if one.isprintable() else _escaped(one) for one in str(value))


def clean_lines(text: str) -> str:
    """As `clean`, but lines stay lines. JSON stays the same JSON."""
    return "\n".join(map(clean, text.split("\n")))


def _escaped(one: str) -> str:
    units = one.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
