"""The events of the company's log that tell of its members."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from daemon.model import Invitation, Member, MemberEdit, User
from daemon.model import audit_events as log
from daemon.model.audit_events import Logged

_TICK = timedelta(microseconds=1)


def changed_after(now: Callable[[], datetime], before: Member | None) -> datetime:
    """The time, but later than the last change of a member, which it tells apart."""
    return now() if before is None else max(now(), before.changed_at + _TICK)


def member_changed(
    edit: MemberEdit, by: str, via: str, invitation: Invitation | None = None, new_user: User | None = None
) -> Logged:
    """The event of an edit."""
    form = None
    if invitation is not None:
        form = log.InvitationForm(expires_at=invitation.expires_at, token_hash=invitation.token_hash.hex())
    event = log.MemberChanged(
        at=edit.after.changed_at,
        after=_form(edit.after),
        before=None if edit.before is None else _form(edit.before),
        by=by,
        invitation=form,
        member=edit.after.id,
        new_user=None if new_user is None else _user_form(new_user, edit.after.role),
        via=via,
    )
    return Logged(edit.after.company_id, event)


def _form(one: Member) -> log.MemberForm:
    return log.MemberForm(
        email=one.email,
        invited_at=one.invited_at,
        invited_by=one.invited_by,
        joined_at=one.joined_at,
        role=one.role,
        status=one.status,
        user=one.user_id,
    )


def _user_form(user: User, role: str) -> log.UserForm:
    return log.UserForm(
        created_at=user.created_at,
        email=user.email,
        id=user.id,
        name=user.name,
        password_digest=log.password_digest(user.password_hash),
        role=role,
    )
