"""The round trip of random processes in its long form."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from tests.bpmn.graphs import graphs
from tests.bpmn.test_bpmn import check_round_trip


@settings(max_examples=1_000)
@given(graphs())
def test_a_thousand_random_processes_survive_canvas_yaml_canvas_bpmn_canvas(graph: dict[str, Any]) -> None:
    check_round_trip(graph)
