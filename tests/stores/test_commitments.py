"""What the chain covers of an event that holds values, computed as the guide says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.core.calls import CallRequest, Difference, PlannedCall, RecordedCall
from actors.core.canonical import canonical
from actors.core.messages import (
    CallSettled,
    Event,
    Failure,
    GateOpened,
    JudgeAnswered,
    PanelAsked,
    PanelDecided,
    RunEnded,
    RunStarted,
    StepCleared,
)
from actors.core.messages.votes import JudgeCall, Vote
from daemon.model.commitments.salted import SALTED, hashed, plain, values, with_salts
from daemon.stores import codec
from tests.covered import covered
from tests.effort import grows_with_its_size
from tests.histories import ACME, NOON

CALL = CallRequest(
    tool="pay", mode="live", body={"url": "/inputs", "amount": 3}, url="https://x.test/a?b=c", method="POST"
)
PLAN = PlannedCall(decisions=("approved",), label="Pay", mode="live", request=CALL, step_id="a", tool="a")
STEP: Any = {"at": NOON, "step_id": "pay", "visit": 1}
NAMES = {f"{nth}/~\u00e9": {"inputs": {str(nth): "request"}} for nth in range(11)}
EVENTS: list[tuple[Event, list[str]]] = [
    (
        RunStarted(
            at=NOON,
            auto_resolve=True,
            business_key='a "key"',
            by="ann",
            company_id=ACME,
            inputs=NAMES,
            recorded=(RecordedCall(request=CALL, step_id="a"),),
            run_id="run-1",
            template_digest="sha256:a",
            template_version=1,
            vertical="line",
        ),
        ["/business_key", *(f"/inputs/{nth}~1~0\u00e9" for nth in (0, 1, 10, *range(2, 10))), "/recorded"],
    ),
    (StepCleared(**STEP, reason="clear", request=CALL), ["/request/body", "/request/url"]),
    (
        CallSettled(**STEP, error=Failure(code="no", detail="not now"), output=[1, 1.5], signal="hit"),
        ["/error", "/output", "/signal"],
    ),
    (CallSettled(**STEP, output={"request": None, "output": {"a": 1}}), ["/output/output", "/output/request"]),
    (
        GateOpened(
            **STEP,
            decisions=("approved",),
            digest="sha256:b",
            effects=(
                PlannedCall(decisions=("approved",), label="Pay", mode="live", request=CALL, step_id="a", tool="a"),
            ),
            label="Pay?",
            question="Pay 3?",
            differences=(Difference(now="3", pointer="/body/amount", recorded="2"),),
            reason="tier",
        ),
        ["/differences", "/digest", "/effects", "/question"],
    ),
    (RunEnded(at=NOON, status="cancelled", reason="by mistake"), ["/reason"]),
    (
        PanelAsked(
            **STEP,
            digest="sha256:c",
            quorum=1,
            request=CALL,
            calls=(JudgeCall("model", "A model", CALL),),
            votes=(Vote("small", "Is it small?", "clear", 0.9),),
        ),
        ["/calls", "/digest", "/request/body", "/request/url", "/votes"],
    ),
    (JudgeAnswered(**STEP, digest="sha256:c", vote=Vote("model", "A model", "flag", 0.5, "no")), ["/digest", "/vote"]),
    (PanelDecided(**STEP, digest="sha256:c", clear=1, quorum=1), ["/digest"]),
]


@pytest.mark.parametrize(("event", "paths"), EVENTS)
def test_each_value_of_an_event_has_a_commitment_of_its_own(event: Event, paths: list[str]) -> None:
    line, _ = codec.stored_events((event,))
    assert list(values(line)) == paths
    assert hashed(line) == covered(json.loads(line))
    assert plain(line) == codec.encode_events((event,))[0]
    assert codec.decode_events(line) == (event,)
    assert line != codec.stored_events((event,))[0]


def test_an_event_without_values_is_stored_and_hashed_as_it_is() -> None:
    events: tuple[Event, ...] = (
        StepCleared(**STEP, reason="no other branch", branch="b"),
        CallSettled(**STEP, output={}, request=CallRequest(tool="a", mode="shadow")),
        RunEnded(at=NOON, status="completed"),
    )
    written, exact = codec.stored_events(events)
    assert SALTED not in written
    assert (written, exact) == codec.encode_events(events)
    assert [hashed(line) for line in written.split(b"\n")] == written.split(b"\n")


@pytest.mark.parametrize("change", [(b'","at"', b'00","at"'), (b'"$salt":"', b'"$salt":"x')])
def test_a_salt_of_another_form_is_refused(change: tuple[bytes, bytes]) -> None:
    line, _ = codec.stored_events((EVENTS[-1][0],))
    with pytest.raises(ValueError, match=r"salt|hex"):
        hashed(line.replace(*change, 1))


def test_the_time_for_commitments_grows_with_the_number_of_values() -> None:
    """Salts that were copied for each value took 15 s of the writer for a body of 1 MiB."""
    assert grows_with_its_size(hashed, _started_with, 320_000)


def _started_with(count: int) -> bytes:
    event = {"at": "2026-01-01T00:00:00Z", "inputs": {f"{nth:06x}": 0 for nth in range(count)}, "type": "run_started"}
    salted, _ = with_salts(["run_started"], canonical(event).encode(), None)
    return salted
