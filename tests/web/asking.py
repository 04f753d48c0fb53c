"""Actions as their agents ask for them, by the parts of the service itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from actors.core.actions.deciding import Call, Way
from actors.core.messages import Rejected
from actors.core.run import Run
from daemon.actions.deciding import Held
from daemon.actions.making import ActionTemplates, AgentPatience, Making
from daemon.runtime.clock import new_id
from tests.web.people import company
from tests.web.support import House, Person
from tests.web.test_api_keys import machine, made

ASKS: dict[str, Any] = {
    "id": "refunds",
    "tool": "stripe.*",
    "decision": "ask",
    "effect": "irreversible",
    "gate": {"editable": ["/amount"]},
}
ARGUMENTS = {"charge": "ch_1", "amount": 4900}


async def ruled(ann: Person, *rules: dict[str, Any]) -> None:
    """Let the company have these rules alone."""
    answer = await ann.put(f"{company(ann)}/action-rules", {"rules": list(rules)})
    assert answer.status == 200, answer.raw


class Agent:
    """An agent with a key, which asks for actions."""

    def __init__(self, house: House, ann: Person, key: dict[str, Any]) -> None:
        self.house, self.ann, self.key, self.person = house, ann, key, machine(house, key)

    @classmethod
    async def named(cls, house: House, ann: Person, name: str = "helper", model: str | None = None) -> Agent:
        return cls(house, ann, await made(ann, name=name, model=model))

    async def becomes(self, model: str | None) -> None:
        """Let the key have another model from now on."""
        answer = await self.ann.put(f"/api-keys/{self.key['id']}", {"model": model})
        assert answer.status == 200, answer.raw

    async def asks(self, arguments: dict[str, Any] | None = None, *, way: Way = "penstock", **said: Any) -> Run:
        """The run of an action that it asks for."""
        services, run_id = self.house.services, new_id()
        principal = await services.api_keys.principal(self.key["key"])
        about: dict[str, Any] = {"tool": "stripe.refund", "model": None, **said}
        given = ARGUMENTS if arguments is None else arguments
        call = Call(**about, arguments=given, agent=self.key["name"], agent_id=self.key["id"])
        decided = await services.deciding.decide(principal, call, run_id=run_id, way=way)
        assert not isinstance(decided, Held)
        making = Making(ActionTemplates(services.catalog), now=services.now)
        patience = AgentPatience("30m", timedelta(minutes=30))
        message, template = await making.start(principal, run_id, decided, patience=patience)
        done = await services.directory.ask((principal.company_id, run_id), message, template=template)
        assert not isinstance(done, Rejected), done
        return done.run
