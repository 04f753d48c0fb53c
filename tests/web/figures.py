"""The page of /metrics as somebody reads it who scrapes it."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import ClientSession
from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True)
class Figures:
    """One page: the samples by name and labels."""

    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]
    kinds: dict[str, str]

    def __call__(self, name: str, **labels: str) -> float:
        """A figure; 0 when it is not on the page."""
        return self.samples.get((f"penstock_{name}", frozenset(labels.items())), 0)

    def labelled(self, name: str) -> list[dict[str, str]]:
        """The labels under which a figure is given."""
        return [dict(labels) for found, labels in self.samples if found == f"penstock_{name}"]


def read(text: str) -> Figures:
    """The figures of a page in Prometheus's text format."""
    families = list(text_string_to_metric_families(text))
    samples = {
        (sample.name, frozenset(sample.labels.items())): sample.value for one in families for sample in one.samples
    }
    return Figures(samples, {one.name: one.type for one in families})


@dataclass(frozen=True)
class Page:
    """Where the figures of a service are."""

    address: str

    async def read(self) -> Figures:
        async with ClientSession() as session, session.get(self.address) as response:
            assert response.status == 200
            assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            return read(await response.text())
