"""People who decide what agents ask for, and an admin who changes rules and stops agents."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any

from tests.crash.wire import Answer
from tests.swarm.agents import PAUSE_S, Caller
from tests.swarm.law import AMOUNT_MAX, EDITABLE, rules
from tests.swarm.notes import Span, Verdict

PAGE = 20
DENIES, CHANGES, LEAVES, LATER = 0.2, 0.5, 0.4, 0.3
"""How often one denies; changes arguments; leaves what is in doubt; decides in another round."""
PAUSED_S = (1.5, 3.0)
BETWEEN_S = (1.0, 4.0)
ALL = 0.3


class Person(Caller):
    """One who looks at the inbox and decides."""

    async def work(self, over: asyncio.Event) -> None:
        """Decide until all is over."""
        while not over.is_set():
            if not await self.round():
                await asyncio.sleep(PAUSE_S)

    async def round(self) -> int:
        """Decide on some of what waits; how many."""
        path: str | None = f"/gates/?limit={PAGE}"
        waiting: list[Any] = []
        while path is not None and not waiting:  # what is left may fill the first pages
            answer = await self.ask("GET", path)
            assert answer.status == 200, (answer.status, answer.body)
            waiting, path = [one for one in answer.json if not self._leaves(one)], answer.next_path
        done = 0
        for one in waiting:
            if len(waiting) < PAGE or self.random.random() > LATER:
                await self._decide(one)
                done += 1
        return done

    @staticmethod
    def _leaves(found: Any) -> bool:
        """Whether nobody finds out about a call that is in doubt."""
        doubtful = "done" in found["gate"]["decisions"]
        return doubtful and int(found["run_id"][-6:], 16) / 16**6 < LEAVES

    async def _decide(self, found: Any) -> None:
        gate, run = found["gate"], found["run_id"]
        body: dict[str, Any] = {"gate": gate["step_id"], "decision": "approved", "digest": gate["digest"]}
        asked = gate["action"]
        if "done" in gate["decisions"]:
            body |= {"decision": "done", "output": {}}
        elif self.random.random() < DENIES:
            body |= {"decision": "denied", "comment": "not this"}
        elif asked["tool"] == EDITABLE and asked["way"] != "aap" and self.random.random() < CHANGES:
            body["arguments"] = {**asked["arguments"], "amount": self.random.randint(1, AMOUNT_MAX)}
        sent = time.time()
        answer = await self.ask("POST", f"/process-runs/{run}/resume", body, str(uuid.uuid4()))
        assert answer.status in (200, 202, 409, 412, 422), (answer.status, answer.body)
        self.notes.verdicts.append(Verdict(run, body["decision"], body.get("arguments"), sent, answer.status))


class Admin(Caller):
    """One who changes the rules and stops agents, and lets them go on."""

    def __init__(self, *caller: Any, company: str) -> None:
        super().__init__(*caller)
        self._rules, self._turn = f"/companies/{company}/action-rules", 0

    async def change(self) -> None:
        """Put the rules of the next turn in force."""
        sent = time.time()
        answer = await self._done("PUT", self._rules, {"rules": rules(self._turn)}, costly=True)
        versions = {one["id"]: one["version"] for one in answer.json["rules"]}
        now = Span(None, self._turn, versions, sent, time.time())
        turns = self.notes.turns
        if turns:
            turns[-1] = turns[-1]._replace(over=sent, ended=now.answered)
        turns.append(now)
        self._turn += 1

    async def oversee(self, names: list[str], over: asyncio.Event) -> None:
        """Change rules and stop agents in turn until all is over."""
        while not over.is_set():
            await asyncio.sleep(self.random.uniform(*BETWEEN_S))
            await (self.change() if self.random.random() < 0.5 else self._stop(names))

    async def _stop(self, names: list[str]) -> None:
        agent = None if self.random.random() < ALL else self.random.choice(names)
        named = {} if agent is None else {"agent": agent}
        sent = time.time()
        await self._done("PUT", f"{self._rules}/pause", {"reason": "Look at this.", **named})
        answered = time.time()
        await asyncio.sleep(self.random.uniform(*PAUSED_S))
        over = time.time()
        await self._done("DELETE", f"{self._rules}/pause{'' if agent is None else f'?agent={agent}'}")
        self.notes.pauses.append(Span(agent, 0, {}, sent, answered, over, time.time()))

    async def _done(self, method: str, path: str, body: Any = None, *, costly: bool = False) -> Answer:
        answer = await self.ask(method, path, body)
        while costly and answer.status == 422:  # a busy machine had no time to check them
            answer = await self.ask(method, path, body)
        assert answer.status in (200, 204), (answer.status, answer.body)
        return answer
