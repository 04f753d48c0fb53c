"""What an agent did, as a checker of approvals reads it: a trace in the form of AgentAck."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from actors.core.canonical import digest
from actors.core.run import DONE, RETRY
from actors.core.template import APPROVED, merged
from daemon.actions.oversight import stop_entry

SCHEMA_VERSION = 2
"""The version of the form, which is AgentAck's own."""
_Event = Mapping[str, Any]


class Attested(NamedTuple):
    """An event, or a line of a trace, and where in the evidence it stands."""

    place: int
    said: dict[str, Any]


class NothingEnded(Exception):
    """The evidence has no call of that agent that was made or has ended."""


def trace_of(entries: Iterable[_Event], agent: str) -> list[dict[str, Any]]:
    """The lines of a trace of an agent, from the entries of an export, in the order of that.

    Calls that still wait for people are left out, and so are those whose events the export lacks.
    """
    runs: dict[str, list[Attested]] = {}
    log: list[Attested] = []
    place, company = 0, None
    for entry in entries:
        company = entry.get("company", company)
        stream = entry.get("stream", "")
        for event in entry.get("events", ()):
            place += 1
            if stream == company:
                log.append(Attested(place, event))
            elif stream in runs or _begins(event, agent):
                runs.setdefault(stream, []).append(Attested(place, event))
    calls = [_Call(agent, run_id) for run_id in runs]
    lines = [line for call in calls for line in call.read(runs[call.id])]
    if not lines:
        raise NothingEnded(f"no call of {agent} was made or has ended")
    sent = [span for call in calls for span in call.sent]
    lines += [Attested(place, _said(event, agent, "interrupt")) for place, event in _stops(log, agent, sent)]
    lines.sort(key=lambda one: one.place)
    return [*(one.said for one in lines), _said({"at": lines[-1].said["timestamp"]}, agent, "session_end")]


def _begins(event: _Event, agent: str) -> bool:
    return event["type"] == "run_started" and (event.get("action") or {}).get("agent") == agent


def _said(event: _Event, agent: str, kind: str, **members: Any) -> dict[str, Any]:
    """A line about an event."""
    head = {"schema_version": SCHEMA_VERSION, "type": kind, "timestamp": event["at"], "session_id": f"agent {agent}"}
    return {**head, **members}


def _stops(log: Iterable[Attested], agent: str, sent: Iterable[tuple[int, int]]) -> Iterator[Attested]:
    """The stops of an agent that were not lifted, or that a call was sent under.

    The form has no word for a stop that is lifted, behind which calls may be made again.
    """
    begun: dict[str | None, Attested] = {}
    for one in log:
        entry = stop_entry(one.said) if one.said["type"] == "action_pauses_changed" else {}
        if not entry or entry["agent"] not in (None, agent):
            continue
        if entry["kind"] == "stop":
            begun.setdefault(entry["agent"], one)
        elif (stop := begun.pop(entry["agent"], None)) and any(
            stop.place < first and last < one.place for first, last in sent
        ):
            yield stop
    yield from begun.values()


class _Call:
    """A call that an agent wanted, while its history is read.

    Where a person changes its arguments, it goes on as another call that the person proposes.
    """

    def __init__(self, agent: str, run_id: str) -> None:
        self.id = run_id
        self.sent: list[tuple[int, int]] = []
        """From where to where a call that was made may have been sent."""
        self._agent, self._lines = agent, list[Attested]()
        self._facts: dict[str, Any] = {}
        self._arguments: dict[str, Any] = {}
        self._about: dict[str, Any] = {}
        self._action: dict[str, Any] = {}
        self._calls = self._approvals = 0
        self._asks: Attested | None = None
        self._shown: Attested | None = None
        self._approval: dict[str, Any] = {}
        self._cleared: Attested | None = None
        self._is_made = self._is_handed = False

    def read(self, events: Iterable[Attested]) -> Iterable[Attested]:
        """The lines that its history gives; none while it waits."""
        ended = None
        for one in events:
            if (reads := _READS.get(one.said["type"])) is not None:
                reads(self, one)
            ended = one if one.said["type"] == "run_ended" else ended
        if ended is None and not self.sent:
            return ()
        if ended is not None and not self._is_made:
            outcome = ended.said.get("outcome") or ended.said["status"]
            self._block(ended, "recorded, not sent" if outcome == "made" else outcome)
        return self._lines

    def started(self, one: Attested) -> None:
        self._facts = one.said["action"]
        self._propose(one, one.said["inputs"])

    def opened(self, one: Attested) -> None:
        if "arguments" in one.said:
            self._change(one, one.said["arguments"])
        self._asks = one

    def judged(self, one: Attested) -> None:
        if one.said.get("open"):
            return
        if one.said["decision"] == DONE:  # it says what has happened, and lets nothing be sent
            self._asks = None
            return
        if given := one.said.get("inputs"):
            self._change(one, merged(self._arguments, given))
            self._asks = one
        self._decide(one, allowed=one.said["decision"] in (APPROVED, RETRY))

    def expired(self, one: Attested) -> None:
        self._decide(one, allowed=one.said["decision"] == APPROVED)

    def cleared(self, one: Attested) -> None:
        self._cleared = one

    def granted(self, one: Attested) -> None:
        self._is_handed = True
        if self._approval:
            self._approval["expires_at"] = one.said["expires_at"]

    def consumed(self, one: Attested) -> None:
        self._make(one, one)

    def settled(self, one: Attested) -> None:
        error = one.said.get("error")
        sent = one.said.get("attempts", 0) > 0 if error is None else error.get("maybe_sent") is not False
        if sent and not self._is_handed:
            self._make(self._cleared or one, one)

    def ended(self, one: Attested) -> None:
        if self._asks is not None:
            self._decide(one, allowed=False)

    def _tell(self, one: Attested, kind: str, **members: Any) -> dict[str, Any]:
        said = _said(one.said, self._agent, kind, **self._about, **members)
        self._lines.append(Attested(one.place, said))
        return said

    def _propose(self, one: Attested, arguments: dict[str, Any]) -> None:
        self._calls += 1
        self._about = {"action_id": f"{self.id}/{self._calls}", "intent_id": self._facts["fingerprint"]}
        whole = digest([self._facts.get("server"), self._facts["tool"], arguments])
        tool = self._facts["tool"].strip() or "blank"
        self._action = {"tool": tool, "operation": self._facts["decision"], "parameters": {"sha256": whole}}
        self._arguments, self._approval, self._is_made = arguments, {}, False
        self._tell(one, "action_proposed", action=self._action)

    def _change(self, one: Attested, arguments: dict[str, Any]) -> None:
        """What was asked for is not made, but what a person puts in its place."""
        if self._asks is not None:
            self._decide(one, allowed=False)
        if not self._is_made:
            self._block(one, "changed by a person")
        self._propose(one, arguments)

    def _decide(self, one: Attested, *, allowed: bool) -> None:
        self._approvals += 1
        self._shown, self._asks, self._cleared = self._asks, None, one
        which = {"approval_id": f"{self.id}/{self._approvals}"}
        if self._shown is not None:
            self._tell(self._shown, "approval_requested", action=self._action, **which)
        self._approval = self._tell(one, "approval_decision", decision="allow" if allowed else "deny", **which)

    def _block(self, one: Attested, reason: str) -> None:
        self._tell(one, "action_blocked", reason=reason, **self._approved)

    def _make(self, begun: Attested, settled: Attested) -> None:
        """It was sent; that it is the call that was shown is held against the evidence of both."""
        self._is_made = True
        self.sent.append((begun.place, settled.place))
        action = self._action
        sent, shown = ({} if one is None else one.said.get("request") or {} for one in (self._cleared, self._shown))
        if self._approval and sent != shown:
            action = {**action, "parameters": {"sha256": digest(sent)}}
        self._tell(begun, "action_executed", action=action, **self._approved)

    @property
    def _approved(self) -> dict[str, Any]:
        return {name: one for name, one in self._approval.items() if name == "approval_id"}


_READS: dict[str, Callable[[_Call, Attested], None]] = {
    "run_started": _Call.started,
    "gate_opened": _Call.opened,
    "verdict_given": _Call.judged,
    "gate_expired": _Call.expired,
    "step_cleared": _Call.cleared,
    "call_granted": _Call.granted,
    "call_consumed": _Call.consumed,
    "call_settled": _Call.settled,
    "run_ended": _Call.ended,
}
"""What a trace tells of, by the type of the event."""
