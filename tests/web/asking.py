"""Actions as their agents ask for them, by the parts of the service itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from actors.core.actions.deciding import Call, Way
from actors.core.messages import Rejected
from actors.core.run import Run
from daemon.actions.deciding import Held
from daemon.actions.making import ActionTemplates, AgentPatience, Making
from daemon.identity.tokens import Principal
from daemon.runtime.clock import new_id, utc_now
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

    def __init__(self, house: House, ann: Person, key: dict[str, Any], model: str | None = None) -> None:
        self.house, self.key, self.model, self.person = house, key, model, machine(house, key)
        self._company_id = ann.session["company"]["id"]

    @classmethod
    async def named(cls, house: House, ann: Person, name: str = "helper", model: str | None = None) -> Agent:
        agent = cls(house, ann, await made(ann, name=name), model)
        await agent.becomes(model)
        return agent

    async def becomes(self, model: str | None) -> None:
        """Let the key have another model from now on."""
        statement, services = "UPDATE api_keys SET model = $1 WHERE id = $2", self.house.services
        values = (model, self.key["id"])
        await services.store._write(self._company_id, lambda db: db.execute(statement, *values))
        services.identity.companies.changed(self._company_id)
        self.model = model

    async def asks(self, arguments: dict[str, Any] | None = None, *, way: Way = "penstock", **said: Any) -> Run:
        """The run of an action that it asks for."""
        services, run_id = self.house.services, new_id()
        principal = Principal(
            *(self.key["id"], self._company_id, self.key["role"], self.key["name"], self.key["id"], utc_now()),
            via="api_key",
            kind=self.key["kind"],
            made_by=self.key["created_by"],
        )
        about: dict[str, Any] = {"tool": "stripe.refund", "model": self.model, **said}
        given = ARGUMENTS if arguments is None else arguments
        call = Call(**about, arguments=given, agent=self.key["name"], agent_id=self.key["id"])
        decided = await services.deciding.decide(principal, call, run_id=run_id, way=way)
        assert not isinstance(decided, Held)
        making = Making(ActionTemplates(services.catalog), now=services.now)
        patience = AgentPatience("30m", timedelta(minutes=30))
        message, template = await making.start(principal, run_id, decided, patience=patience)
        done = await services.directory.ask((self._company_id, run_id), message, template=template)
        assert not isinstance(done, Rejected), done
        return done.run
