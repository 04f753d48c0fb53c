"""Where the steps of a process stand in its diagram: in layers from the start, left to right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

SIZES = {"start": (36, 36), "end": (36, 36), "wait": (36, 36), "gateway": (50, 50)}
BOX = (120, 80)
COLUMN, ROW, LEFT, TOP = 180, 120, 160, 80
AROUND = 30


class Box(NamedTuple):
    """A shape by its upper left corner and its size, in pixels."""

    x: int
    y: int
    width: int
    height: int


Point = tuple[int, int]


def boxes(kinds: Mapping[str, str], edges: Sequence[tuple[str, str]], start: str) -> dict[str, Box]:
    """The shape of each step, by id; `kinds` are in the order of the document."""
    layers = _layers(kinds, edges, start)
    rows: dict[int, int] = {}
    found: dict[str, Box] = {}
    for step, kind in kinds.items():
        layer = layers[step]
        row = rows[layer] = rows.get(layer, -1) + 1
        width, height = SIZES.get(kind, BOX)
        x = LEFT + layer * COLUMN + (BOX[0] - width) // 2
        y = TOP + row * ROW + (BOX[1] - height) // 2
        found[step] = Box(x, y, width, height)
    return found


def line(source: Box, target: Box) -> list[Point]:
    """The way from one shape to another; one that leads back goes above both."""
    begin = (source.x + source.width, source.y + source.height // 2)
    finish = (target.x, target.y + target.height // 2)
    if begin[0] < finish[0]:
        if begin[1] == finish[1]:
            return [begin, finish]
        middle = (begin[0] + finish[0]) // 2
        return [begin, (middle, begin[1]), (middle, finish[1]), finish]
    above = min(source.y, target.y) - AROUND
    return [
        (source.x + source.width // 2, source.y),
        (source.x + source.width // 2, above),
        (target.x + target.width // 2, above),
        (target.x + target.width // 2, target.y),
    ]


def _layers(kinds: Mapping[str, str], edges: Sequence[tuple[str, str]], start: str) -> dict[str, int]:
    """The length of the longest way to each step that leads back nowhere."""
    leaving: dict[str, list[str]] = {step: [] for step in kinds}
    for source, target in edges:
        leaving[source].append(target)
    order = _order(leaving, [start, *kinds])
    place = {step: number for number, step in enumerate(order)}
    layers = dict.fromkeys(kinds, 0)
    for step in order:
        for target in leaving[step]:
            if place[target] > place[step]:
                layers[target] = max(layers[target], layers[step] + 1)
    return layers


def _order(leaving: Mapping[str, Sequence[str]], roots: Sequence[str]) -> list[str]:
    """The steps so that each stands before those behind it, loops apart."""
    done: list[str] = []
    seen: set[str] = set()
    for root in roots:
        if root in seen:
            continue
        seen.add(root)
        waiting = [(root, iter(leaving[root]))]
        while waiting:
            step, targets = waiting[-1]
            target = next((one for one in targets if one not in seen), None)
            if target is None:
                waiting.pop()
                done.append(step)
            else:
                seen.add(target)
                waiting.append((target, iter(leaving[target])))
    return done[::-1]
