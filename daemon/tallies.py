"""Counters and histograms that cost a tenth of the library's, for what happens with every request.

They are counted on the event loop alone, and read there, so there is nothing to lock.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Tally(Collector):
    """A counter; with labels, one for each that was counted."""

    def __init__(self, name: str, text: str, *labels: str) -> None:
        """Begin at nought."""
        self._name, self._text, self._labels = name, text, labels
        self._counts: Counter[tuple[str, ...]] = Counter() if labels else Counter({(): 0})

    def count(self, *labels: str) -> None:
        """Count one more."""
        self._counts[labels] += 1

    def collect(self) -> Iterator[CounterMetricFamily]:
        """All counts, as the library writes them down."""
        family = CounterMetricFamily(self._name, self._text, labels=self._labels)
        for labels, count in self._counts.items():
            family.add_metric(labels, count)
        yield family


class Spread(Collector):
    """A histogram for each of its labels."""

    def __init__(self, name: str, text: str, bounds: Sequence[float], *labels: str) -> None:
        """Begin with nothing seen."""
        self._name, self._text, self._labels = name, text, labels
        self._bounds = (*map(float, bounds), math.inf)
        self._seen: dict[tuple[str, ...], tuple[list[int], list[float]]] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Take note of a value."""
        seen = self._seen.get(labels)
        if seen is None:
            seen = self._seen[labels] = ([0] * len(self._bounds), [0.0])
        seen[0][bisect_left(self._bounds, value)] += 1
        seen[1][0] += value

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """All histograms, as the library writes them down."""
        family = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        names = [floatToGoString(bound) for bound in self._bounds]  # type: ignore[no-untyped-call]
        for labels, (counts, (total,)) in self._seen.items():
            family.add_metric(labels, list(zip(names, accumulate(counts), strict=True)), total)
        yield family
