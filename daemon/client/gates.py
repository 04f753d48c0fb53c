"""The API of gates: the inbox, previews, claims, verdicts, and messages, as methods."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from daemon.client.transport import ApiRequest, BaseClient, filters, path, waiting, without_none
from daemon.contract.agents.asked import GateQuestion
from daemon.contract.gates import GatePreview, OpenGate, OpenGateDetail, VerdictResults
from daemon.contract.lists import GateCount, GateRow
from daemon.contract.runs import Proposal, Run

GATES = TypeAdapter(list[OpenGate])
GATE_ROWS = TypeAdapter(list[GateRow])


class GatesClient(BaseClient):
    """The gates of a company's runs."""

    def gates(
        self,
        /,
        *,
        mine: bool = False,
        vertical: str | None = None,
        tier: str | None = None,
        due_before: datetime | None = None,
        q: str | None = None,
        limit: int = 50,
        **more: str | datetime | None,
    ) -> AsyncIterator[OpenGate]:
        """The open gates, most urgent first; `mine` are those that the caller may decide on.

        `more` are further filters, `role`, `group`, `run_id` and `opened_before`, and the `order`:
        `urgency`, `risk`, `oldest` or `newest`.
        """
        asked = filters(vertical=vertical, tier=tier, due_before=due_before, q=q, **more)
        return self._all("/gates/", GATES, {**asked, **_page(limit, mine=mine)})

    def gate_rows(
        self, /, *, mine: bool = False, limit: int = 50, **more: str | datetime | None
    ) -> AsyncIterator[GateRow]:
        """The same as rows: what a list shows of each, a fraction of the bytes."""
        return self._all("/gates/", GATE_ROWS, {**filters(**more), **_page(limit, mine=mine), "view": "row"})

    async def count_gates(self, /, **which: str | datetime | None) -> GateCount:
        """How many gates are open, and at how many of them the caller may decide."""
        return await self._get(GateCount, "gates", "count", query=filters(**which))

    async def gate(self, run_id: str, step_id: str) -> OpenGateDetail:
        """An open gate, and whether the caller may decide."""
        return await self._get(OpenGateDetail, "process-runs", run_id, "gates", step_id)

    async def preview(self, run_id: str, step_id: str) -> GatePreview:
        """What each decision leads to up to the next human; nothing is called."""
        return await self._get(GatePreview, "process-runs", run_id, "gates", step_id, "preview")

    async def claim(self, run_id: str, step_id: str, *, key: str | None = None) -> OpenGateDetail:
        """Say that one looks at a gate; it binds nobody."""
        return await self._post(OpenGateDetail, path("process-runs", run_id, "gates", step_id, "claim"), {}, key=key)

    async def release(self, run_id: str, step_id: str) -> OpenGateDetail:
        """End the claim of a gate, whoever made it."""
        request = ApiRequest("DELETE", path("process-runs", run_id, "gates", step_id, "claim"))
        return (await self._transport.send(request)).read(OpenGateDetail)

    async def resume(
        self,
        run_id: str,
        *,
        gate: str,
        decision: str,
        digest: str | None = None,
        comment: str | None = None,
        output: Any = None,
        inputs: Mapping[str, Any] | None = None,
        form: Mapping[str, Any] | None = None,
        code: str | None = None,
        on_behalf_of: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        version: int | None = None,
        wait_s: int | None = None,
        key: str | None = None,
    ) -> Run:
        """Decide at a gate; with the `digest` that was shown, refused if it has changed since.

        `inputs` are of those that the gate names in `missing`; `form` and `code` are what its
        policy asks for; `on_behalf_of` is the member who has delegated the decision. An action is
        made with all the `arguments`, changed where it is editable. While more verdicts are needed,
        the gate stays open with this one among its `verdicts`.
        """
        body = without_none(gate=gate, decision=decision, digest=digest, comment=comment, output=output)
        body |= without_none(inputs=_dict(inputs), form=_dict(form), code=code, on_behalf_of=on_behalf_of)
        body |= without_none(arguments=_dict(arguments))
        headers = waiting(wait_s)
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        return await self._post(Run, path("process-runs", run_id, "resume"), body, key=key, headers=headers)

    async def propose(
        self,
        run_id: str,
        *,
        gate: str,
        decision: str,
        comment: str | None = None,
        confidence: float | None = None,
        form: Mapping[str, Any] | None = None,
        digest: str | None = None,
        key: str | None = None,
    ) -> Proposal:
        """Say what one would decide at a gate, for the human who decides."""
        body = without_none(
            gate=gate, decision=decision, comment=comment, confidence=confidence, form=_dict(form), digest=digest
        )
        return await self._post(Proposal, path("process-runs", run_id, "proposals"), body, key=key)

    async def ask(self, run_id: str, step_id: str, text: str, *, key: str | None = None) -> GateQuestion:
        """Ask the agent of an action something; the gate stays open."""
        address = path("process-runs", run_id, "gates", step_id, "questions")
        return await self._post(GateQuestion, address, {"to": "agent", "text": text}, key=key)

    async def answer(
        self, run_id: str, step_id: str, question_id: str, text: str, *, key: str | None = None
    ) -> GateQuestion:
        """Answer a question that the caller, as the agent of an action, was asked."""
        address = path("process-runs", run_id, "gates", step_id, "questions", question_id, "answer")
        return await self._post(GateQuestion, address, {"text": text}, key=key)

    async def withdraw(self, run_id: str, step_id: str) -> Run:
        """Take one's own verdict back while the quorum is open."""
        address = path("process-runs", run_id, "gates", step_id, "verdict")
        return (await self._transport.send(ApiRequest("DELETE", address, repeatable=False))).read(Run)

    async def give_verdicts(self, verdicts: Sequence[Mapping[str, Any]], *, key: str | None = None) -> VerdictResults:
        """Decide at up to 100 gates: each verdict names `run_id` and `digest`, and counts alone."""
        return await self._post(
            VerdictResults, "/gates/verdicts", {"verdicts": [dict(one) for one in verdicts]}, key=key
        )

    async def deliver(self, run_id: str, name: str, payload: Any = None, *, key: str | None = None) -> Run:
        """Deliver a message; a step that waits for this name takes it, else it is kept."""
        body = {"name": name, **({} if payload is None else {"payload": payload})}
        return await self._post(Run, path("process-runs", run_id, "messages"), body, key=key)


def _page(limit: int, *, mine: bool) -> dict[str, str]:
    return {"limit": str(limit), **({"mine": "true"} if mine else {})}


def _dict(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if values is None else dict(values)
