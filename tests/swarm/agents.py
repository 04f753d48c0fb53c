"""Agents that want calls made: by the service, by themselves, or through the gateway of tools."""

from __future__ import annotations

import asyncio
import random
import re
import time
import uuid
from typing import Any

import aiohttp
import orjson

from tests.crash.wire import HOST, Answer, Lost, Unsent, Wire
from tests.swarm.law import SERVER
from tests.swarm.notes import Intent, Notes, Use

PATIENCE_S = 60.0
GIVES_UP_S = 600.0
PAUSE_S = 0.3
ASKS_EACH = 40
UNSURE = 503
TOOLS = {"pay": 34, "count": 7, "sum": 7, "spend": 6, "edit": 12, "shift": 14, "look": 8, "never": 4, "odd": 8}
WAYS = {"penstock": 45, "aap": 35, "mcp": 20}
AMOUNT = 120
TWICE, AGAIN, RACES, SILENT, CANCELS = 0.04, 0.05, 0.1, 0.06, 0.03
"""How often one sends the same request at once, or the same call anew; uses an approval up twice at
once; does not tell the outcome; and takes back what nobody has decided.
"""
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Caller:
    """Somebody with a credential, who asks any daemon, and again until the answer is sure."""

    def __init__(self, ports: list[int], token: str, notes: Notes, seed: str) -> None:
        self.notes, self._ports, self.token = notes, ports, token
        self.random = random.Random(seed)
        self._wires: dict[int, Wire] = {}

    async def ask(self, method: str, path: str, body: Any = None, key: str = "", *, other: bool = False) -> Answer:
        """The first answer that says for sure what happened; `other` than by a kept connection."""
        headers, until, last = {"Idempotency-Key": key} if key else {}, time.monotonic() + GIVES_UP_S, b"no answer"
        while time.monotonic() < until:
            port = self.random.choice(self._ports)
            wire = Wire(port, self.token) if other else self._wires.setdefault(port, Wire(port, self.token))
            try:
                answer = await wire.ask(method, path, body, headers, PATIENCE_S)
            except (Lost, Unsent):
                self.notes.statuses[0] += 1
            else:
                self.notes.statuses[answer.status] += 1
                if answer.status != UNSURE:
                    return answer
                last = answer.body
            finally:
                if other:
                    wire.close()
            await asyncio.sleep(PAUSE_S)
        raise AssertionError(f"{method} {path} was not answered for {GIVES_UP_S:.0f} s: {last!r}")

    def port(self) -> int:
        return self.random.choice(self._ports)


class Agent(Caller):
    """An agent with a key; what waits for people it looks at again later."""

    def __init__(self, name: str, caller: tuple[list[int], str, Notes, str], http: aiohttp.ClientSession, api: str):
        super().__init__(*caller)
        self.name, self._http, self._api = name, http, api
        self._waiting: list[Intent] = []

    async def want(self, n: int) -> None:
        """Want one call, and look at one that waited."""
        intent = self._thought_of(n)
        self.notes.intents[n] = intent
        await getattr(self, intent.way)(intent)
        if self._waiting and self.random.random() < 0.5:
            await self.look_again()

    async def look_again(self) -> None:
        """Look at the oldest that waits."""
        intent = self._waiting.pop(0)
        await (self.mcp(intent) if intent.way == "mcp" else self._decided(intent, intent.told[-1][2]))

    async def finish(self, until: float) -> None:
        """Look at what waits until it does not any more, or the time is over."""
        while self._waiting and time.monotonic() < until:
            await self.look_again()
            await asyncio.sleep(PAUSE_S)

    def _thought_of(self, n: int) -> Intent:
        [way], [tool] = (self.random.choices(list(one), list(one.values())) for one in (WAYS, TOOLS))
        return Intent(n, self.name, way, tool, self.random.randint(1, AMOUNT), str(uuid.uuid4()), time.time())

    def _told(self, intent: Intent, status: int, run: str) -> None:
        intent.told.append((time.time(), status, run))

    async def penstock(self, intent: Intent) -> None:
        """Have the service make the call."""
        body = {"tool": intent.tool, "arguments": intent.arguments}

        async def once(other: bool) -> None:
            answer = await self.ask("POST", "/actions/", body, intent.key, other=other)
            assert answer.status in (201, 202), (answer.status, answer.body)
            self._told(intent, answer.status, answer.json["id"])

        twice = self.random.random() < TWICE
        await asyncio.gather(once(False), *([once(True)] if twice else []))
        if self.random.random() < AGAIN:
            anew = Intent(-intent.n, self.name, "penstock", intent.tool, intent.amount, str(uuid.uuid4()), time.time())
            self.notes.intents[anew.n] = anew
            answer = await self.ask("POST", "/actions/", body, anew.key)
            assert answer.status in (201, 202), (answer.status, answer.body)
            self._told(anew, answer.status, answer.json["id"])

    async def aap(self, intent: Intent) -> None:
        """Ask whether the call may be made."""
        body = {"tool": intent.tool, "arguments": intent.arguments, "timeout": "30m"}
        answer = await self.ask("POST", "/aap/v1/requests", body, intent.key)
        assert answer.status in (200, 201), (answer.status, answer.body)
        self._told(intent, answer.status, answer.json["id"])
        await self._taken(intent, answer)

    async def _decided(self, intent: Intent, run: str) -> None:
        if self.random.random() < CANCELS:
            await self.ask("DELETE", f"/aap/v1/requests/{run}")
        await self._taken(intent, await self.ask("GET", f"/aap/v1/requests/{run}"))

    async def _taken(self, intent: Intent, answer: Answer) -> None:
        """Go on by what was decided: wait, or make the call."""
        found = answer.json
        if found["status"] == "pending":
            self._waiting.append(intent)
        elif found["status"] == "approved":
            races = 2 if self.random.random() < RACES else 1
            used = await asyncio.gather(*(self._used(found["id"], one > 0) for one in range(races)))
            if any(used):
                await self._make(intent, found["id"])
            elif "not_approved" in str(self._refusal):  # its rule has changed: people are asked once more
                self._waiting.append(intent)

    _refusal = b""

    async def _used(self, run: str, other: bool) -> bool:
        key, sent = str(uuid.uuid4()), time.time()
        answer = await self.ask("POST", f"/aap/v1/requests/{run}/consume", None, key, other=other)
        self.notes.uses.append(Use(run, key, sent, time.time(), answer.status))
        self._refusal = answer.body if answer.status != 200 else self._refusal
        return answer.status == 200

    async def _make(self, intent: Intent, run: str) -> None:
        """Make the call oneself, and tell what came of it."""
        headers = {"X-Penstock-Run": run}
        async with self._http.post(f"{self._api}/aap/{intent.tool}", json=intent.arguments, headers=headers) as made:
            assert made.status == 200, made.status
        if self.random.random() >= SILENT:
            answer = await self.ask("POST", f"/aap/v1/requests/{run}/outcome", {"status": "succeeded"})
            assert answer.status == 200, (answer.status, answer.body)

    async def mcp(self, intent: Intent) -> None:
        """Call the tool through the gateway, again where no answer came, later where it waits."""
        until, last = time.monotonic() + GIVES_UP_S, ""
        while time.monotonic() < until:
            try:
                status, said = await self._called(intent)
            except (aiohttp.ClientError, OSError, TimeoutError) as broken:
                last = repr(broken)
                self.notes.statuses[0] += 1
            else:
                self.notes.statuses[status] += 1
                last = text = str(said)
                if status == 200 and "paused: " not in text:
                    named = _ID.search(text)
                    self._told(intent, status, named.group() if named else "")
                    if "Make the same call again later" in text:
                        self._waiting.append(intent)
                    return
            await asyncio.sleep(PAUSE_S)
        raise AssertionError(f"the gateway did not answer: {last}")

    async def _called(self, intent: Intent) -> tuple[int, Any]:
        meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
        meta[f"{META}clientInfo"] = {"name": "swarm", "version": "1"}
        params = {"name": intent.tool, "arguments": intent.arguments, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": intent.n, "method": "tools/call", "params": params}
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json, text/event-stream",
            "Mcp-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": intent.tool,
        }
        url = f"http://{HOST}:{self.port()}/mcp/{SERVER}"
        async with self._http.post(url, json=body, headers=headers) as response:
            raw = await response.read()
            if response.status != 200 or response.content_type == "application/json":
                return response.status, orjson.loads(raw) if raw else None
            data = [line[5:] for line in raw.splitlines() if line.startswith(b"data:")]
            if not data:
                raise aiohttp.ClientPayloadError("no result")
            return response.status, orjson.loads(data[-1])
