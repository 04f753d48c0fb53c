"""Single tamperings of an export, each drawn at random."""

from __future__ import annotations

import json
from typing import Any

from actors.core.canonical import canonical
from daemon.model.chain import extended, genesis
from tests.audit.drawing import Rng, edited, flipped


def _decoded(line: bytes) -> Any:
    return json.loads(line)


def _encoded(value: Any) -> bytes:
    return canonical(value).encode() + b"\n"


def line_byte(lines: list[bytes], rng: Rng, _: list[bytes]) -> list[bytes]:
    place = rng.randrange(len(lines))
    return [*lines[:place], flipped(lines[place], rng), *lines[place + 1 :]]


def line_value(lines: list[bytes], rng: Rng, _: list[bytes]) -> list[bytes]:
    place = rng.randrange(len(lines))
    return [*lines[:place], _encoded(edited(_decoded(lines[place]), rng)), *lines[place + 1 :]]


def line_deleted(lines: list[bytes], rng: Rng, _: list[bytes]) -> list[bytes]:
    place = rng.randrange(len(lines))
    return lines[:place] + lines[place + 1 :]


def line_doubled(lines: list[bytes], rng: Rng, _: list[bytes]) -> list[bytes]:
    place = rng.randrange(len(lines))
    return [*lines[: place + 1], *lines[place:]]


def lines_swapped(lines: list[bytes], rng: Rng, _: list[bytes]) -> list[bytes]:
    one, other = rng.sample(range(len(lines)), 2)
    changed = list(lines)
    changed[one], changed[other] = changed[other], changed[one]
    return changed


def end_cut(lines: list[bytes], rng: Rng, _: list[bytes]) -> list[bytes]:
    return lines[: rng.randrange(len(lines))]


def line_of_another(lines: list[bytes], rng: Rng, other: list[bytes]) -> list[bytes]:
    place = rng.randrange(min(len(lines), len(other)))
    return [*lines[:place], other[place], *lines[place + 1 :]]


def event_and_chain(lines: list[bytes], rng: Rng, _: list[bytes]) -> list[bytes]:
    """An event is changed, and the heads of its stream are put right."""
    company_id = _decoded(lines[0])["company"]
    values = [_decoded(line) for line in lines]
    target = rng.choice([value for value in values if value.get("events")])  # those of an archived run are gone
    place = rng.randrange(len(target["events"]))
    target["events"][place]["by"] = "mallory"
    head = genesis(company_id, target["stream"])
    for value in values:
        if value.get("stream") == target["stream"]:
            head = extended(head, [canonical(event).encode() for event in value["events"]])
            value["head"] = "sha256:" + head.hex()
    return [_encoded(value) for value in values]


EXPORT_TAMPERINGS = (
    line_byte,
    line_value,
    line_deleted,
    line_doubled,
    lines_swapped,
    end_cut,
    line_of_another,
    event_and_chain,
)
