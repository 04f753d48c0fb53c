"""Verification of redactions: each value that is gone by its record in the company's log."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from daemon.model.commitments.salted import REDACTED, Redacted, holds_redacted, values
from daemon.verification.findings import Counts, Finding


class _Place(NamedTuple):
    """A value: company, run, event, and its JSON pointer in that."""

    company_id: str
    run_id: str
    seq: int
    path: str

    @property
    def where(self) -> str:
        return f"run {self.run_id}, event {self.seq}, {self.path}"


class Redactions:
    """What histories have in place of values, and what logs say of it."""

    def __init__(self) -> None:
        self._found: dict[_Place, tuple[str, str]] = {}
        self._logged: dict[_Place, tuple[str, str]] = {}
        self._strange: list[Finding] = []
        self._records = 0

    def take(self, key: tuple[str, str], first_seq: int, events: bytes) -> None:
        """Note what is redacted in the events of a commit."""
        if not holds_redacted(events):
            return
        for seq, line in enumerate(events.split(b"\n"), first_seq):
            if line.startswith(REDACTED):
                try:
                    self._line(key, seq, line)
                except (ValueError, KeyError) as error:
                    self._strange.append(
                        Finding("redaction", f"run {key[1]}, event {seq}", f"it is damaged: {error!r}")
                    )

    def _line(self, key: tuple[str, str], seq: int, line: bytes) -> None:
        said, held = Redacted.read(line), values(line)
        if said.salts.keys() != held.keys() or not said.gone.keys() <= held.keys():
            raise ValueError("it names other values than the event has")
        for path, was in said.gone.items():
            self._found[_Place(*key, seq, path)] = (was, said.now(path, held[path]))

    def record(self, company_id: str, event: Mapping[str, Any]) -> None:
        """Note what a log says was redacted, as the event is stored."""
        self._records += 1
        for one in event["places"]:
            place = _Place(company_id, event["run_id"], one["seq"], one["path"])
            first, _ = self._logged.get(place, (one["was"], ""))
            self._logged[place] = (first, one["now"])
            if first != one["was"]:
                what = "a later record has another commitment to what stood there at first"
                self._strange.append(Finding("redaction", place.where, what))

    def findings(self, counts: Counts, gone: Collection[str] = ()) -> Iterator[Finding]:
        """What does not fit; of runs whose events are `gone` nothing can be compared."""
        counts.update({"redactions": self._records} if self._records else {})
        yield from self._strange
        for place, found in sorted(self._found.items()):
            logged = self._logged.get(place)
            if logged is None:
                yield Finding("redaction", place.where, "the value was removed, and no log says that it was redacted")
            elif found[0] != logged[0]:
                yield Finding("redaction", place.where, "the value that was removed is not the one that the log says")
            elif found != logged:
                yield Finding("redaction", place.where, "what stands in place of the value is not what the log says")
        for place in sorted(self._logged.keys() - self._found.keys()):
            if place.run_id not in gone:
                yield Finding("redaction", place.where, "the log says that it was redacted, and it is not")
