"""The process that evaluates what tenants wrote: one request at a time, within bounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from actors.core.template import ConditionFailed
from daemon.bpmn.export import export_bpmn
from daemon.bpmn.reading import graph_here
from daemon.connectors.response_map import MAPPED_BYTES_MAX, map_response, wrong_expressions
from daemon.runtime.worker_process import serve
from daemon.templates.agents.action_rules import wrong_rules_here
from daemon.templates.answers import ANSWER, COSTLY, NO_ANSWER, Kind, unbounded
from daemon.templates.cel import holds, moment_of, signal_of, span_of
from daemon.templates.nodes import FormSchema
from daemon.templates.publishing import check_here, read_draft
from daemon.templates.schemas import InputsSchema


def _signal(rule: str, response: list[Any]) -> Any:
    status, body = response
    return signal_of(rule, status, body)


def _mapped(names: dict[str, str], body: Any) -> Any:
    found = map_response(names, body)
    if len(msgspec.json.encode(found)) > MAPPED_BYTES_MAX:
        raise ConditionFailed(COSTLY)
    return found


EVALUATORS: dict[Kind, Callable[[Any, Any], Any]] = {
    "action": partial(holds, "action"),
    "action_rules": lambda _, rules: wrong_rules_here(rules),
    "all_errors": lambda schema, value: InputsSchema.from_schema(schema).all_errors_here(value),
    "bpmn": lambda _, xml: graph_here(xml),
    "call": partial(holds, "call"),
    "check": check_here,
    "condition": partial(holds, "condition"),
    "draft": lambda _, value: read_draft(value),
    "drawing": lambda document, canvas: export_bpmn(canvas, document).decode(),
    "expressions": wrong_expressions,
    "form": lambda schema, values: FormSchema.from_schema(schema).errors_here(values),
    "inputs": lambda schema, inputs: InputsSchema.from_schema(schema).errors_here(inputs),
    "mapped": _mapped,
    "moment": moment_of,
    "output": partial(holds, "output"),
    "signal": _signal,
    "span": span_of,
}


def answer(request: bytes) -> bytes:
    kind, said, data = msgspec.json.decode(request)
    try:
        with unbounded():
            return ANSWER + msgspec.json.encode(EVALUATORS[kind](said, data))
    except ConditionFailed as failed:
        return NO_ANSWER + str(failed).encode(errors="replace")


if __name__ == "__main__":
    serve(answer)
