"""Counters and histograms at a fraction of the library's price, for what happens with every request.

They are counted on the event loop alone, and read there, so there is nothing to lock.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class Count:
    """How often something has happened."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        """Begin at nought."""
        self.value = 0

    def inc(self) -> None:
        """Count one more."""
        self.value += 1


class Counts(Collector):
    """A counter for each of its labels."""

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        """Begin with nothing counted."""
        self._name, self._text, self._labels = name, text, labels
        self._counts: dict[tuple[str, ...], Count] = {}

    def labels(self, *labels: str) -> Count:
        """The counter with these labels."""
        return self._counts.setdefault(labels, Count())

    def collect(self) -> Iterator[CounterMetricFamily]:
        """All counters, as the library writes them down."""
        family = CounterMetricFamily(self._name, self._text, labels=self._labels)
        for labels, count in self._counts.items():
            family.add_metric(labels, count.value)
        yield family


class Spread:
    """How large values were: how many lay within each bound, and their sum."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        """Begin with none."""
        self._bounds = bounds
        self.counts = [0] * len(bounds)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Take note of a value."""
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value


class Spreads(Collector):
    """A histogram for each of its labels."""

    def __init__(self, name: str, text: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        """Begin with nothing observed."""
        self._name, self._text, self._labels = name, text, labels
        self._bounds = (*map(float, bounds), math.inf)
        self._spreads: dict[tuple[str, ...], Spread] = {}

    def labels(self, *labels: str) -> Spread:
        """The histogram with these labels."""
        return self._spreads.setdefault(labels, Spread(self._bounds))

    def collect(self) -> Iterator[HistogramMetricFamily]:
        """All histograms, as the library writes them down."""
        family = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        names = [floatToGoString(bound) for bound in self._bounds]  # type: ignore[no-untyped-call]
        for labels, one in self._spreads.items():
            family.add_metric(labels, list(zip(names, accumulate(one.counts), strict=True)), one.total)
        yield family
