"""Mutations: a company publishes each shipped process without one of its gates, and is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.core.rules import guards
from daemon.templates.graphs import Graph, document_of
from daemon.templates.loading import CatalogEntry, check
from daemon.templates.publishing import read_document
from tests.journeys import FIRST
from tests.shelf import shipped
from tests.templates.test_guards import dominators, mutated
from tests.web.support import Person

EXTRA = ("description", "inputs_schema", "example")


def document(entry: CatalogEntry, name: str) -> dict[str, Any]:
    """The document of a shipped process without a gate."""
    made, _, _ = document_of(Graph.model_validate(mutated(entry, name)))
    found: dict[str, Any] = json.loads(check(made)[0].document)
    return {**found, **{one: json.loads(entry.document)[one] for one in EXTRA}}


@pytest.mark.parametrize("entry", [one for one in shipped() if one.template.vertical in FIRST], ids=FIRST)
async def test_a_gate_that_is_taken_out_of_a_shipped_process_is_found(ann: Person, entry: CatalogEntry) -> None:
    path = f"/process-templates/{entry.template.vertical}"
    for name in entry.template.gates:
        mutant = document(entry, name)
        assert (await ann.put(f"{path}/draft", mutant)).status == 200
        answer = await ann.post(f"{path}/publish")
        if answer.status == 422:
            assert answer.json["violations"], name
            continue
        assert (answer.status, answer.json["gates_removed"]) == (201, [name])
        told = {one["step_id"] for one in answer.json["guards_removed"] if name in one["gates"]}
        left = dominators(check(read_document(mutant))[0].template)
        assert told == {step for step, gates in guards(entry.template).items() if name in gates and step in left}
        assert (await ann.post(f"{path}/versions/{answer.json['version']}/retire")).status == 200
