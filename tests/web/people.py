"""Colleagues: invited by one person, each with a role and a session."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from daemon.runtime.clock import utc_now
from tests.web.support import PASSWORD, Answer, Person


def company(person: Person) -> str:
    """The path of the person's company."""
    return f"/companies/{person.session['company']['id']}"


async def invited(person: Person, email: str, role: str = "member") -> Any:
    """A new invitation."""
    answer = await person.post(f"{company(person)}/members", {"email": email, "role": role})
    assert answer.status == 201, answer.raw
    return answer.json


async def colleague(person: Person, name: str, role: str = "member") -> Person:
    """A new person in the same company."""
    email = f"{name}@{name}.test"
    token = (await invited(person, email, role))["invitation"]["token"]
    body = {"email": email, "password": PASSWORD, "invitation": token, "name": name.title()}
    answer = await person.house.send("POST", "/auth/register", body)
    assert answer.status == 201, answer.raw
    one = Person(person.house, answer.json)
    return Person(person.house, {**answer.json, "member_id": await member_id(one)})


async def member_id(person: Person) -> str:
    """The id of the membership that the session is of."""
    found: str = (await person.get("/auth/me")).json["member_id"]
    return found


async def give(chief: Person, person: Person, role: str) -> Answer:
    """Give a person a role."""
    return await chief.send("PATCH", f"{company(chief)}/members/{await member_id(person)}", {"role": role})


async def delegate(giver: Person, to: Person, /, **said: Any) -> Answer:
    """Let another decide as the giver for a day from now."""
    now = utc_now()
    when = {"from": now.isoformat(), "until": (now + timedelta(days=1)).isoformat()}
    return await giver.post("/delegations", {"to": await member_id(to), **when, **said})
