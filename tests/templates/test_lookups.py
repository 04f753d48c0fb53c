"""Keys of a connector that no process has: found, named with what is close, and in bounded time."""

from __future__ import annotations

from itertools import islice, permutations
from typing import Any

from actors.core.calls import Connector
from actors.core.canonical import canonical
from daemon.templates.loading import CatalogEntry, load_json
from daemon.templates.lookups import never_found
from daemon.templates.publishing import read_document
from tests.effort import Effort


def entry(names: list[str]) -> CatalogEntry:
    inputs: dict[str, Any] = {"type": "object", "properties": {name: {} for name in names}}
    end = {"id": "done", "kind": "end", "label": "Done", "outcome": "done"}
    document = read_document({"vertical": "p", "title": "P", "inputs_schema": inputs, "steps": [end]})
    return load_json(canonical(document.normalised()))


def connector(keys: list[str]) -> Connector:
    body = {f"n{number}": key for number, key in enumerate(keys)}
    return Connector(tool_id="t", version=0, base_url="http://x", path="/", method="POST", body_map=body)


def test_a_slip_is_named_with_what_was_meant_and_other_names_are_open() -> None:
    found = list(
        never_found(connector(["inputs.amuont", "inputs.other", "inputs.amount"]), [entry(["amount", "name"])])
    )
    assert [one.detail for one in found] == [
        "names inputs.amuont, which is never found: amuont is not an input of p (amount is)"
    ]


def test_however_many_names_are_alike_few_are_compared() -> None:
    """Names of the same letters are the worst to compare: their order alone tells them apart."""
    alike = ["".join(one) + "k" * 40 for one in islice(permutations("abcdefgh"), 8_000)]
    efforts = []
    for count in (1_000, 4_000):
        one, asked = entry(alike[:count]), connector([f"inputs.{name}" for name in alike[4_000:4_050]])
        with Effort() as effort:
            list(never_found(asked, [one]))
        efforts.append(effort.steps)
    assert efforts[1] <= 1.2 * efforts[0]
