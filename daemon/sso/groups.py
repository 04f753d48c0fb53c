"""Groups that the provider decides: a person's are set at each log-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import structlog

from daemon.identity.people import People
from daemon.model import Account, Group, GroupEdit
from daemon.model.audit_events import GroupChanged, Logged
from daemon.sso.verification import Identified
from daemon.stores.store import Store

SSO = "sso"
ATTEMPTS_MAX, TOLD_MAX = 5, 20
_log = structlog.get_logger("penstock")


def parse_groups(text: str) -> Mapping[str, str]:
    """Groups by what the claim calls them, from a list like `physicians, nurses=/hospital/nurses`.

    A slash in front does not count: Keycloak names groups by their path.
    """
    pairs = (one.partition("=") for one in filter(None, map(str.strip, text.split(","))))
    return {name.strip().removeprefix("/"): (claim or name).strip().removeprefix("/") for name, _, claim in pairs}


class GroupSync:
    """Adds a person to the groups that the claim names, and takes them out of the others.

    Only groups that the operator lists are changed, and only those that the company has.
    """

    def __init__(self, store: Store, people: People, listed: str, now: Callable[[], datetime]) -> None:
        self._store = store
        self._people = people
        self._listed = parse_groups(listed)
        self._now = now

    def relevant(self, identified: Identified) -> Identified:
        """A person with those groups alone that are listed."""
        found = identified.groups or frozenset()
        listed = frozenset(one for one in found if one.removeprefix("/") in self._listed.values())
        return identified if identified.groups is None else identified._replace(groups=listed)

    async def apply(self, account: Account, identified: Identified) -> None:
        """Set the groups; none when the token has no claim of groups."""
        if identified.groups is None or not self._listed:
            return
        claimed = {one.removeprefix("/") for one in identified.groups}
        if claimed and claimed.isdisjoint(self._listed.values()):
            who, told = account.user.id, sorted(identified.groups)[:TOLD_MAX]
            _log.warning("sso_groups_unmatched", user=who, claimed=told, listed=sorted(self._listed.values()))
        for name, claim in sorted(self._listed.items()):
            for _ in range(ATTEMPTS_MAX):
                group = await self._group(account.company.id, name)
                if group is None or await self._set(account, group, inside=claim in claimed):
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
