"""Printing in a terminal; control characters of others are escaped."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from pydantic import BaseModel
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from daemon.commands.base import echo
from daemon.runtime.terminal import clean

V = TypeVar("V", bound=BaseModel | Sequence[BaseModel])
WIDE = 240
COLORS = {
    "completed": "green",
    "done": "green",
    "delivered": "green",
    "parked": "yellow",
    "failed": "red",
    "denied": "red",
}


def show(shown: RenderableType) -> None:
    """Print to standard output; without a terminal, lines are neither cut nor folded."""
    _print(shown, on_terminal=sys.stdout.isatty())


def ask(shown: RenderableType) -> None:
    _print(shown, on_terminal=sys.stderr.isatty(), stderr=True)


def print_json(value: BaseModel | Sequence[BaseModel]) -> None:
    if isinstance(value, BaseModel):
        echo(value.model_dump_json(indent=2, exclude_unset=True))
    else:
        found = [one.model_dump(mode="json", exclude_unset=True) for one in value]
        echo(json.dumps(found, indent=2, ensure_ascii=False))


def text(value: object, style: str = "") -> Text:
    return Text(clean(value), style)


def status(word: str) -> Text:
    return text(word, COLORS.get(word, ""))


def named(by: str, giver: str | None) -> str:
    """Who did something, and in whose place."""
    return by if giver is None else f"{by} for {giver}"


def time(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%SZ")


def json_text(value: Any) -> Text:
    lines = json.dumps(value, indent=2, ensure_ascii=False).splitlines()
    return Text("\n").join(text(line) for line in lines)


def _print(shown: RenderableType, *, on_terminal: bool, stderr: bool = False) -> None:
    console = Console(stderr=stderr, width=None if on_terminal else WIDE, highlight=False)
    if on_terminal:
        console.print(shown)
        return
    with console.capture() as captured:
        console.print(shown, soft_wrap=True)
    for line in captured.get().splitlines():
        print(line.rstrip(), file=sys.stderr if stderr else sys.stdout)


def new_table(*columns: str, header: bool = True) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", show_header=header)
    for place, column in enumerate(columns):
        table.add_column(column, no_wrap=place == 0, overflow="fold")
    return table


def add_row(table: Table, *cells: object) -> None:
    table.add_row(*(cell if isinstance(cell, Text) else text("" if cell is None else cell) for cell in cells))


def exact(value: float) -> str:
    """A number with two decimals, or as many more as it has."""
    whole, _, fraction = f"{Decimal(repr(value + 0.0)):,f}".partition(".")  # minus nothing is nothing
    return f"{whole}.{fraction:0<2}"
