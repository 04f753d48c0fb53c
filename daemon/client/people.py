"""The API of people: members, invitations, groups and companies, as methods."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import RootModel, TypeAdapter

from daemon.client.transport import ApiRequest, BaseClient, keyed, path
from daemon.contract.accounts import Session
from daemon.contract.autonomy import Calibration
from daemon.contract.company import Autonomy, Calendar, Function, GatedChange, Holidays
from daemon.contract.people import Delegation, Group, InvitationDetails, InvitedMember, Member

MEMBERS = TypeAdapter(list[Member])
GROUPS = TypeAdapter(list[Group])
CHANGES = TypeAdapter(list[GatedChange])
DELEGATIONS = TypeAdapter(list[Delegation])
FUNCTIONS = RootModel[dict[str, Function]]


class PeopleClient(BaseClient):
    """The people of companies."""

    def members(self, company_id: str) -> AsyncIterator[Member]:
        """The people of the company, and those invited to it."""
        return self._all(path("companies", company_id, "members"), MEMBERS)

    async def invite(self, company_id: str, email: str, role: str, *, key: str | None = None) -> InvitedMember:
        """Invite a person, or replace an invitation; this response alone has the token."""
        body = {"email": email, "role": role}
        return await self._post(InvitedMember, path("companies", company_id, "members"), body, key=key)

    async def change_role(self, company_id: str, member_id: str, role: str) -> Member:
        """Give a member another role, which counts from the answer on."""
        request = ApiRequest("PATCH", path("companies", company_id, "members", member_id), body={"role": role})
        return (await self._transport.send(request)).read(Member)

    async def remove_member(self, company_id: str, member_id: str) -> None:
        """End a membership or withdraw an invitation; no error when there is none."""
        await self._delete("companies", company_id, "members", member_id)

    async def hand_over(self, company_id: str, member_id: str, *, key: str | None = None) -> Member:
        """Make another member the owner; the caller becomes an admin."""
        return await self._post(Member, path("companies", company_id, "owner"), {"member_id": member_id}, key=key)

    async def invitation(self, token: str) -> InvitationDetails:
        """What an invitation is for."""
        return await self._post_once(InvitationDetails, "auth", "invitation", body={"token": token})

    async def accept_invitation(self, token: str, *, key: str | None = None) -> Session:
        """Join a company, and go on there."""
        request = ApiRequest("POST", "/invitations/accept", body={"token": token}, headers=keyed(key))
        return await self._enter(request)

    async def switch(self, company_id: str) -> Session:
        """Go on in another company of the same person."""
        return await self._enter(ApiRequest("POST", "/auth/switch", body={"company_id": company_id}, repeatable=False))

    def groups(self, company_id: str) -> AsyncIterator[Group]:
        return self._all(path("companies", company_id, "groups"), GROUPS)

    async def put_group(self, company_id: str, name: str, members: Sequence[str]) -> Group:
        """Create a group, or replace its members, given by their ids."""
        return await self._put(Group, "companies", company_id, "groups", name, body={"members": list(members)})

    async def delete_group(self, company_id: str, name: str) -> None:
        """Delete a group; no error when there is none."""
        await self._delete("companies", company_id, "groups", name)

    async def functions(self, company_id: str) -> dict[str, Function]:
        """The functions that templates name, and those that are bound, by id."""
        return (await self._get(FUNCTIONS, "companies", company_id, "functions")).root

    async def put_functions(
        self, company_id: str, bindings: Mapping[str, Mapping[str, Sequence[str]]]
    ) -> dict[str, Function]:
        """Bind functions to `groups` and `members`; those that are left out stay as they are."""
        body = {name: {member: list(one) for member, one in each.items()} for name, each in bindings.items()}
        return (await self._put(FUNCTIONS, "companies", company_id, "functions", body=body)).root

    def changes(self, company_id: str) -> AsyncIterator[GatedChange]:
        """Changes that wait for another person, and those that were decided, newest first."""
        return self._all(path("companies", company_id, "changes"), CHANGES)

    async def approve_change(
        self, company_id: str, change_id: str, digest: str, *, comment: str | None = None, key: str | None = None
    ) -> GatedChange:
        """Do what another person asked for, by the digest that was shown."""
        address = path("companies", company_id, "changes", change_id, "approve")
        return await self._post(GatedChange, address, _verdict(digest, comment), key=key)

    async def deny_change(
        self, company_id: str, change_id: str, digest: str, *, comment: str | None = None, key: str | None = None
    ) -> GatedChange:
        """Close a change without doing it."""
        address = path("companies", company_id, "changes", change_id, "deny")
        return await self._post(GatedChange, address, _verdict(digest, comment), key=key)

    async def autonomy(self, company_id: str) -> Autonomy:
        """What a company lets be cleared without a human."""
        return await self._get(Autonomy, "companies", company_id, "autonomy")

    async def calibration(self, company_id: str) -> Calibration:
        """What people's decisions tell of the steps that panels hear."""
        return await self._get(Calibration, "companies", company_id, "autonomy", "calibration")

    async def put_autonomy(self, /, company_id: str, **changes: Any) -> Autonomy:
        """Change members of the autonomy; those that are left out stay as they are."""
        return await self._put(Autonomy, "companies", company_id, "autonomy", body=changes)

    async def calendar(self, company_id: str) -> Calendar:
        """The company's time zone, weekend and holidays."""
        return await self._get(Calendar, "companies", company_id, "calendar")

    async def put_calendar(self, /, company_id: str, **changes: Any) -> Calendar:
        """Change members of the calendar; those that are left out stay as they are."""
        return await self._put(Calendar, "companies", company_id, "calendar", body=changes)

    async def holidays(self, company_id: str, country: str, year: int, subdivision: str | None = None) -> Holidays:
        """The public holidays of a country in a year, for a calendar."""
        query = {"country": country, "year": str(year), **({} if subdivision is None else {"subdivision": subdivision})}
        return await self._get(Holidays, "companies", company_id, "calendar", "holidays", query=query)

    def delegations(self) -> AsyncIterator[Delegation]:
        """Delegations that have not ended: the caller's, and to the caller; an admin's are all."""
        return self._all("/delegations/", DELEGATIONS)

    async def delegate(
        self,
        to: str,
        begins: datetime,
        until: datetime,
        *,
        verticals: Sequence[str] | None = None,
        key: str | None = None,
    ) -> Delegation:
        """Let another member decide as the caller for a time; without verticals, in all of them."""
        body: dict[str, Any] = {"to": to, "from": begins.isoformat(), "until": until.isoformat()}
        if verticals is not None:
            body["verticals"] = list(verticals)
        return await self._post(Delegation, "/delegations/", body, key=key)

    async def end_delegation(self, delegation_id: str) -> None:
        """End a delegation; no error when it has ended."""
        await self._delete("delegations", delegation_id)

    async def _enter(self, request: ApiRequest) -> Session:
        """Send what gives a session, and go on with its token."""
        session = (await self._transport.send(request)).read(Session)
        self._transport.token = session.token
        return session


def _verdict(digest: str, comment: str | None) -> dict[str, Any]:
    return {"digest": digest} if comment is None else {"digest": digest, "comment": comment}
