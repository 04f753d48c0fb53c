"""Actions when the service is killed: what is held is sent once, and what may have been sent is in
doubt.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.crash.service import FarSide, Service, serving

RULES = [{"id": "pay", "tool": "pay", "when": "arguments.n < 10", "decision": "allow"}]
CALL = {"tool": "pay", "arguments": {"n": 1}}


async def prepared(service: Service, far_side: FarSide) -> str:
    """The address of the rules, which are there, as the connector is."""
    await service.register()
    await service.connect(far_side, "pay")
    _, session = await service.send("GET", "/auth/me")
    rules = f"/companies/{session['company']['id']}/action-rules"
    assert (await service.send("PUT", rules, {"rules": RULES}))[0] == 200
    return rules


async def ask(service: Service, key: str, n: int = 1, **headers: str) -> tuple[int, Any]:
    return await service.send("POST", "/actions/", {**CALL, "arguments": {"n": n}}, Idempotency_Key=key, **headers)


async def test_a_call_that_may_have_been_made_is_in_doubt_and_a_repeat_says_so(folder: Path, far_side: FarSide) -> None:
    async with serving(folder) as service:
        await prepared(service, far_side)
        status, begun = await ask(service, "k", Prefer="respond-async")
        assert (status, begun["status"]) == (202, "executing")
        await far_side.reached(1)
        await service.kill()
    far_side.released.set()
    async with serving(folder, service.token) as again:
        await again.stands_still(begun["id"])
        status, found = await again.send("GET", f"/actions/{begun['id']}")
        assert (status, found["status"], found["outcome"]) == (200, "parked", "unknown")
        status, repeated = await ask(again, "k")
        assert (status, repeated["id"]) == (202, begun["id"])
        _, other = await ask(again, "k2")
        assert (other["decision"], other["why"]) == ("ask", f"the same call may have happened: {begun['id']}")
    assert far_side.seen.total() == 1


async def test_a_call_that_is_held_is_made_once_after_the_restart(folder: Path, far_side: FarSide) -> None:
    far_side.released.set()
    async with serving(folder) as service:
        rules = await prepared(service, far_side)
        _, asked = await ask(service, "k", 50)
        assert asked["status"] == "parked"
        assert (await service.send("PUT", f"{rules}/pause", {"reason": "Look first."}))[0] == 200
        approved = await service.resume(asked["id"], "unruled", Prefer="wait=1")
        assert approved["status"] == "executing"
        await service.kill()
    async with serving(folder, service.token) as again:
        assert (await again.read(asked["id"]))["status"] == "executing"
        assert far_side.seen.total() == 0
        assert (await again.send("DELETE", f"{rules}/pause"))[0] == 204
        assert (await again.stands_still(asked["id"]))["outcome"] == "made"
    assert far_side.seen == {f"{asked['id']}:unruled:1": 1}
