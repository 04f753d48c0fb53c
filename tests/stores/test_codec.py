"""The codec: what is read back is what was written, for every run, event and connector there can
be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
import rfc8785
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec import defstruct
from msgspec.structs import replace

from actors.core.calls import Connector
from actors.core.canonical import canonical
from actors.core.messages import Event, GateOpened, RunStarted
from actors.core.run import Run
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyRing
from daemon.model.audit_events import LogEvent
from daemon.stores import codec
from tests.histories import decide, start, work

KEYS = CommitKeys(KeyRing("", {}).rotated())
# A busy machine is no finding.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers().map(lambda n: n * 10**30) | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
LEAVES: dict[Any, st.SearchStrategy[Any]] = {
    msgspec.UnsetType: st.just(msgspec.UNSET),
    Any: JSON,
    str: TEXT,
    int: st.integers(),
    bool: st.booleans(),
    float: FLOATS,
    type(None): st.none(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    timedelta: st.timedeltas(min_value=timedelta(), max_value=timedelta(days=3_660)),
}


def of(hint: Any) -> st.SearchStrategy[Any]:
    """Every value that a type annotation of the core allows."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in LEAVES:
        return LEAVES[hint]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return st.builds(hint, **{name: of(one) for name, one in get_type_hints(hint).items()})
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is tuple:
        return st.lists(of(inner[0]), max_size=2).map(tuple)
    if origin in (dict, Mapping):
        return st.dictionaries(of(inner[0]), of(inner[1]), max_size=3)
    assert origin is Union or hint.__class__.__name__ == "UnionType", hint
    return st.one_of([of(one) for one in inner])


@PATIENT
@given(of(Run))
def test_every_run_is_read_back_as_it_was_written(run: Run) -> None:
    written = codec.encode_run(run)
    read = codec.decode_run(written)
    assert read == run
    assert codec.encode_run(read) == written


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"id"', b'"ID"'),  # a field less
        (b'Z"', b'Q"'),  # no time
        (b'"parked"', b'"parking"'),  # no status
        (b'"Sign', b'["Sign'),  # no JSON
    ],
)
def test_a_snapshot_of_another_shape_is_refused(old: bytes, new: bytes) -> None:
    written = codec.encode_run(start().run)
    assert old in written
    with pytest.raises(ValueError, match=r".+"):
        codec.decode_run(written.replace(old, new, 1))


def test_a_snapshot_of_another_schema_is_left_to_folding() -> None:
    run = start().run
    body, key = codec.encode_run(run), (run.company_id, run.id)
    for schema in (2, 5, codec.SNAPSHOT_SCHEMA):
        found = codec.decode_snapshot_if_current(
            KEYS, key, (run.version, schema, KEYS.snapshot_mac(key, run.version, schema, body), body)
        )
        assert found == (run if schema == codec.SNAPSHOT_SCHEMA else None)


@PATIENT
@given(st.lists(of(Event), max_size=4).map(tuple))
def test_all_events_are_read_back_as_they_were_written(events: tuple[Event, ...]) -> None:
    assume(events)
    written = codec.encode_events(events)
    read = codec.decode_events(*written)
    assert read == events
    assert [type(event) for event in read] == [type(event) for event in events]
    assert codec.encode_events(read) == written


@PATIENT
@given(st.lists(of(Event), min_size=1, max_size=4).map(tuple))
def test_stored_events_are_canonical_json(events: tuple[Event, ...]) -> None:
    written, _ = codec.encode_events(events)
    for line in written.split(b"\n"):
        value = json.loads(line)
        assert canonical(value).encode() == line
        with suppress(rfc8785.IntegerDomainError):  # we write integers beyond 2**53 exactly
            assert rfc8785.dumps(value) == line


@pytest.mark.parametrize(
    "value", [-0.0, 1.0, 12_000.0, 1e16, 1e20, 1e21, 5e-324, 2**63, -(2**64), 10**40, 0.1, 1, True]
)
def test_numbers_in_events_keep_their_value_and_their_type(value: float) -> None:
    begun = start(inputs={"value": value, "\U0001f600": [value]})
    read = codec.decode_events(*codec.encode_events(begun.events))
    assert isinstance(read[0], RunStarted)
    assert repr(read[0].inputs) == repr(begun.run.inputs)
    assert read == begun.events


def test_events_whose_exact_form_says_something_else_are_refused() -> None:
    written, exact = codec.encode_events(start(inputs={"value": 1.0}).events)
    assert exact is not None
    with pytest.raises(ValueError, match="something else"):
        codec.decode_events(written, exact.replace(b"1.0", b"1.5"))


@PATIENT
@given(of(LogEvent))
def test_every_event_of_the_log_is_read_back_as_it_was_written(event: LogEvent) -> None:
    written = codec.encode_log(event)
    assert canonical(json.loads(written)).encode() == written
    assert codec.encode_log(codec.decode_log(written)[0]) == written


@pytest.mark.parametrize("number", [1.0, -0.0, 1e16, 1e21, 5e-324, 1e-7, 123456789012345680000.0, 2**70, 0.1])
@pytest.mark.parametrize("name", ["a", "\uffff\U0001f600"])
def test_what_the_fast_encoder_writes_otherwise_is_written_as_the_rfc_says(number: float, name: str) -> None:
    begun = start(inputs={name: number, "\U00010000": [number], "\uffff": {"x": number}})
    for line in codec.encode_events(begun.events)[0].split(b"\n"):
        assert canonical(json.loads(line)).encode() == line


@PATIENT
@given(of(Connector))
def test_every_connector_is_read_back_as_it_was_written(connector: Connector) -> None:
    assert codec.decode_connector(codec.encode_connector(connector)) == connector


@pytest.mark.parametrize("value", [-0.0, 0.1, 2**63, -(2**64), 10**400, 1.0, 1, True])
def test_numbers_keep_their_value_and_their_type(value: float) -> None:
    run = codec.decode_run(codec.encode_run(start(inputs={"value": value}).run))
    assert repr(run.inputs["value"]) == repr(value)


@pytest.mark.parametrize("depth", [150, 195, 200, 220])
def test_whatever_can_be_written_can_be_read_however_deep_it_is(depth: int) -> None:
    inputs: dict[str, Any] = {}
    for _ in range(depth):
        inputs = {"a": inputs}
    begun = start(inputs=inputs)
    assert codec.decode_run(codec.encode_run(begun.run)) == begun.run
    assert codec.decode_events(*codec.encode_events(begun.events)) == begun.events


@pytest.mark.parametrize("data", [b"", b"[", b"[{}]", b'[{"type": "unheard_of"}]', b"\xff"])
def test_what_is_no_history_is_refused(data: bytes) -> None:
    for decode in (codec.decode_events, codec.decode_run):
        with pytest.raises(ValueError, match=r".+"):
            decode(data)


def test_events_name_their_type_each_in_a_line_of_its_own() -> None:
    written = [json.loads(line) for line in codec.encode_events(start().events)[0].split(b"\n")]
    assert [event["type"] for event in written] == ["run_started", "step_entered", "gate_opened"]


def test_a_history_folds_to_the_run_from_its_beginning_and_from_any_place() -> None:
    begun = start()
    ended = decide(begun.run)
    assert codec.fold((*begun.events, *ended.events)) == ended.run
    assert codec.fold(ended.events, begun.run) == ended.run


def test_an_empty_history_is_no_run() -> None:
    with pytest.raises(ValueError, match="without a history"):
        codec.fold(())


def test_a_small_run_has_a_snapshot_with_every_commit() -> None:
    commit = start()
    for _ in range(20):
        assert codec.snapshot(commit) == codec.encode_run(commit.run)
        commit = work(commit.run)


def test_a_large_run_has_a_snapshot_whenever_its_history_has_grown_by_a_quarter() -> None:
    commit, kept = start(inputs={"text": "x" * codec.SNAPSHOT_BYTES_MAX}), []
    for _ in range(200):
        if codec.snapshot(commit) is not None:
            kept.append(commit.run.version)
        commit = work(commit.run)
    assert all(later <= earlier * 5 // 4 + 3 for earlier, later in pairwise(kept))
    assert kept[-1] >= 600 * 3 // 4
    assert len(kept) < 25


def test_a_run_of_another_shape_has_another_snapshot_schema() -> None:
    members = {member.split(":")[0] for one in codec.shape(Run) for member in one}
    assert {"inputs", "gate", "verdict", "decisions", "deadline"} <= members
    earlier = defstruct("Earlier", [("text", str)])
    renamed, grown = defstruct("Renamed", [("text", str)]), defstruct("Earlier", [("text", str), ("more", int)])
    shapes = [codec.shape(defstruct("Whole", [("part", part)])) for part in (earlier, renamed, grown)]
    assert shapes[0] == shapes[1] != shapes[2]
    assert codec.SNAPSHOT_SCHEMA not in (2, 5, 6)


def test_a_run_that_cannot_be_written_is_refused_before_it_is_stored() -> None:
    begun = start()
    with pytest.raises(ValueError, match="surrogates"):
        codec.encode_run(replace(begun.run, inputs={"half": "\ud800"}))


def test_a_history_whose_events_do_not_follow_from_each_other_is_refused() -> None:
    begun = start()
    verdict = decide(begun.run).events[0]
    unopened = [one for one in begun.events if not isinstance(one, GateOpened)]
    with pytest.raises(ValueError, match="does not follow"):
        codec.fold((*unopened, verdict))
