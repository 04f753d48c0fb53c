"""A company whose report of suspicions is closed to all but those who need to know of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.web.people import colleague, company, give, member_id
from tests.web.support import Answer, Person
from tests.web.test_own_templates import publish

SECRET = "quicksilver-0451"
KEY = "harbour-7733"
"""What stands in the inputs of closed runs, and in their business keys."""
SUBJECT = "sam@sam.test"
STEPS: list[dict[str, Any]] = [
    {"id": "look", "kind": "task", "label": "Look it up", "tool": "lookup", "effect": "read", "next": "signoff"},
    {"id": "signoff", "kind": "gate", "label": "Suspicion", "groups": ["officers"],
     "next": {"approved": "filed", "denied": "dropped"}},
    {"id": "filed", "kind": "end", "label": "Filed", "outcome": "filed"},
    {"id": "dropped", "kind": "end", "label": "Dropped", "outcome": "dropped"},
]  # fmt: skip
READERS = {"groups": ["auditors"], "role": "owner"}


def document(**more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"story": {"type": "string"}, "about": {"type": "string"}}}
    about = {"vertical": "suspicion", "title": "Suspicion", "inputs_schema": schema, "example": {}}
    return {**about, "steps": STEPS, "readers": READERS, "subjects": ["inputs.about"], **more}


@dataclass
class Office:
    """Ann owns the company; the others are named after what they are."""

    ann: Person
    people: dict[str, Person] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Person:
        return self.people[name]

    async def group(self, name: str, *members: str) -> None:
        ids = [await member_id(self[one]) for one in members]
        assert (await self.ann.put(f"{company(self.ann)}/groups/{name}", {"members": ids})).status == 200

    async def start(self, who: str = "boss", *, about: str | None = SUBJECT, **more: Any) -> Any:
        inputs = {"story": SECRET} if about is None else {"story": SECRET, "about": about}
        body = {"vertical": "suspicion", "inputs": inputs, "business_key": KEY, **more}
        answer = await self[who].post("/process-runs/", body)
        assert answer.status in {201, 202}, answer.raw
        return answer.json

    async def become(self, who: str, role: str) -> Answer:
        return await give(self.ann, self[who], role)

    async def key(self, name: str, kind: str, role: str, **terms: Any) -> Person:
        made = await self.ann.post("/api-keys", {"name": name, "kind": kind, "role": role, **terms})
        assert made.status == 201, made.raw
        return Person(self.ann.house, {**self.ann.session, "token": made.json["key"]})


async def office(ann: Person, **template: Any) -> Office:
    """An officer decides, an auditor and the owner read, and the others do neither."""
    roles = {"boss": "admin", "officer": "manager", "auditor": "viewer", "manager": "manager", "member": "member"}
    found = Office(ann, {"ann": ann})
    for name, role in {**roles, "sam": "manager", "viewer": "viewer"}.items():
        found.people[name] = await colleague(ann, name, role)
    await found.group("officers", "officer", "sam")
    await found.group("auditors", "auditor")
    await publish(ann, document(**template))
    return found
