"""Groups that the provider decides: a person's are set at each log-in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from daemon.identity.people import People
from daemon.model import Account, Group, GroupEdit, Store
from daemon.model.audit_events import GroupChanged, Logged
from daemon.sso.verification import Identified

SSO = "sso"
ATTEMPTS_MAX = 5


class GroupSync:
    """Adds a person to the groups that the claim names, and takes them out of the others.

    Only groups that the operator lists are changed, and only those that the company has.
    """

    def __init__(self, store: Store, people: People, listed: str, now: Callable[[], datetime]) -> None:
        self._store = store
        self._people = people
        self._listed = frozenset(filter(None, map(str.strip, listed.split(","))))
        self._now = now

    async def apply(self, account: Account, identified: Identified) -> None:
        """Set the groups; none when the token has no claim of groups."""
        if identified.groups is None or not self._listed:
            return
        for name in sorted(self._listed):
            for _ in range(ATTEMPTS_MAX):
                group = await self._group(account.company.id, name)
                if group is None or await self._set(account, group, inside=name in identified.groups):
                    break

    async def _group(self, company_id: str, name: str) -> Group | None:
        return next((one for one in await self._store.groups(company_id) if one.name == name), None)

    async def _set(self, account: Account, group: Group, *, inside: bool) -> bool:
        """Write the group if the person stands otherwise; False when it was changed meanwhile."""
        company_id, member_id = account.company.id, account.member.id
        if (member_id in group.members) == inside:
            return True
        others = set(group.members) - {member_id}
        after = tuple(sorted(others | {member_id} if inside else others))
        at, by = self._now(), account.user.email
        event = GroupChanged(at=at, after=after, before=group.members, by=by, group=group.name, via=SSO)
        edit = GroupEdit(company_id, group.name, group.members, after, by, at, Logged(company_id, event))
        return await self._people.edit_group(edit)
