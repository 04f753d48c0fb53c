"""JSON in pieces is the same JSON."""

from __future__ import annotations

from typing import Any

import pytest

from actors.core.messages import CallSettled
from actors.core.messages.votes import Vote
from daemon.runtime.json_codec import PIECES_MAX, dumps, dumps_in_pieces
from daemon.stores.codec import RUN_PIECES_BYTES, decode_run, encode_run
from daemon.web.resources.run_json import run_body, run_json
from tests.histories import NOON, decide, start, work

RUN = work(start(inputs={"a": 1.0, "b": [None, True, "é"], "c": {"d": {}}}).run).run


@pytest.mark.parametrize(
    "value",
    [
        None,
        "é\N{GRINNING FACE}\u2028\x00",
        {},
        [],
        (1, 2.5, {"a": [1, {"b": (True, None)}]}),
        {"": {"x": [[[[[[[[[[1]]]]]]]]]]}},
        list(range(PIECES_MAX + 1)),
        {str(number): number for number in range(PIECES_MAX + 1)},
        RUN,
        decide(RUN).run,
        run_json(RUN),
        CallSettled(at=NOON, step_id="a", visit=1),
        {"at": NOON},
        (Vote("small", "Small", "clear"), Vote("model", "Model", "flag", model="j-1")),
    ],
)
def test_pieces_are_the_same_bytes(value: Any) -> None:
    assert dumps_in_pieces(value) == dumps(value)


def test_a_large_run_is_rendered_and_kept_as_it_is() -> None:
    run = start(inputs={f"x{number}": ["x" * 1_000] * 100 for number in range(20)}).run
    for _ in range(3):
        run = work(run, 200_000).run
    assert run.size_bytes > RUN_PIECES_BYTES
    assert run_body(run) == dumps(run_json(run))
    assert encode_run(run) == dumps(run)
    assert decode_run(encode_run(run)) == run


def test_a_large_run_that_is_damaged_is_a_value_error() -> None:
    written = dumps(start(inputs={"x": "x" * RUN_PIECES_BYTES}).run)
    with pytest.raises(ValueError, match=r"Invalid|Expected|truncated"):
        decode_run(written.replace(b'"kind":"gate"', b'"kind":"gape"'))
