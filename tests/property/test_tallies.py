"""Our own counters and histograms read on the page as the library's do, to the byte."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest

from daemon.observability.metrics import DECISION_S, REQUEST_S
from daemon.observability.tallies import Counts, Spreads

disable_created_metrics()  # type: ignore[no-untyped-call]
labels = st.tuples(st.sampled_from(["GET", "POST", 'a "quoted"\nname']), st.sampled_from(["200", "404"]))
bounds = st.sampled_from([REQUEST_S, DECISION_S, (1,)])
seconds = st.floats(min_value=0, max_value=1e7) | st.sampled_from([*REQUEST_S, *DECISION_S])


@given(st.lists(labels))
def test_counts_read_as_a_counter(counted: list[tuple[str, str]]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    counts, alone = Counts("asked", "How often.", ("method", "status")), Counts("turns", "How many.")
    turns = alone.labels()
    counter = Counter("asked", "How often.", ("method", "status"), registry=theirs)
    single = Counter("turns", "How many.", registry=theirs)
    for collector in (counts, alone):
        ours.register(collector)
    for one in counted:
        counts.labels(*one).inc()
        counter.labels(*one).inc()
        turns.inc()
        single.inc()
    assert generate_latest(ours) == generate_latest(theirs)


@given(bounds, st.lists(st.tuples(labels, seconds)))
@example(REQUEST_S, [(("GET", "200"), bound) for bound in REQUEST_S])
def test_spreads_read_as_a_histogram(bounds: tuple[float, ...], observed: list[tuple[tuple[str, str], float]]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    spreads = Spreads("took_seconds", "How long.", bounds, ("method", "status"))
    alone = Spreads("batch_seconds", "How long each.", bounds)
    batches = alone.labels()
    histogram = Histogram("took_seconds", "How long.", ("method", "status"), buckets=bounds, registry=theirs)
    single = Histogram("batch_seconds", "How long each.", buckets=bounds, registry=theirs)
    for collector in (spreads, alone):
        ours.register(collector)
    for one, value in observed:
        spreads.labels(*one).observe(value)
        histogram.labels(*one).observe(value)
        batches.observe(value)
        single.observe(value)
    assert generate_latest(ours) == generate_latest(theirs)
