"""Sessions: begun, replaced, listed and ended, together with what the log says of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from daemon.model import EpochChange, RefreshHashes, SessionEnd, SessionKind, SessionQuery, TokenEpoch, UserSession
from daemon.model.audit_events import Logged, LoggedIn, SessionEnded, SessionsEnded
from daemon.stores.store import Store
from tests.histories import ACME, NOON, account

USER = "user-ann"
UNTIL = NOON + timedelta(days=30)
HASHES = RefreshHashes(b"\x00family", b"current\xff", b"", NOON)
EVENT = Logged(ACME, LoggedIn(at=NOON, by="ann", token="t", until=UNTIL))


def session(name: str, *, refresh: RefreshHashes | None = None, used: datetime = NOON) -> UserSession:
    kind: SessionKind = "api" if refresh is None else "page"
    return UserSession(ACME, name, USER, kind, NOON, UNTIL, used, "2001:db8::1", "Firefox «ü»", refresh=refresh)


def ended(name: str) -> SessionEnd:
    event = SessionEnded(at=NOON, by="ann", reason="ended", session=name, until=UNTIL, via="session")
    return SessionEnd(ACME, name, NOON + timedelta(hours=1), UNTIL, Logged(ACME, event))


def advanced(number: int, kept: str, password_hash: str | None = None) -> tuple[EpochChange, datetime, Logged]:
    event = SessionsEnded(at=NOON, by="ann", epoch=number, kept=kept, until=UNTIL, user=USER, via="session")
    change = EpochChange(ACME, USER, TokenEpoch(number, kept, UNTIL), password_hash)
    return change, NOON + timedelta(hours=1), Logged(ACME, event)


async def live(store: Store, *, at: datetime = NOON, idle_since: datetime = NOON - timedelta(days=1)) -> list[str]:
    found = await store.sessions_of(SessionQuery(USER, at, idle_since, None, 50))
    return [one.id for one in found]


async def logged(store: Store) -> int:
    return len(await store.logged(ACME, None, 50))


@pytest.fixture
async def store(store: Store) -> Store:
    await store.register(account(), None, (), session("a"))
    return store


async def test_a_session_is_kept_as_it_was_given(store: Store) -> None:
    assert await store.session("a") == session("a")
    page = session("b", refresh=HASHES)
    assert await store.begin_session(page, 0, EVENT)
    assert await store.session("b") == page
    assert await store.session("c") is None
    assert await logged(store) == 1


async def test_sessions_by_a_provider_are_found_by_user_by_its_session_or_by_both(store: Store) -> None:
    amr = ("sso:https://login.example",)
    for name, sid in (("b", "s-1"), ("c", "s-2"), ("d", "s-1")):
        one = replace(session(name), provider_sid=sid, amr=amr, via="sso")
        assert await store.begin_session(one, 0, EVENT)
        assert await store.session(name) == one
    assert await store.end_session(ended("d"))
    asked = [(USER, ""), ("", "s-1"), (USER, "s-2"), ("user-bob", "s-2")]
    found = [sorted(one.id for one in await store.provider_sessions(*who, NOON)) for who in asked]
    assert found == [["b", "c"], ["b"], ["c"], []]


async def test_sessions_are_listed_newest_first_and_by_pages(store: Store) -> None:
    for name in "bcd":
        assert await store.begin_session(session(name), 0, EVENT)
    assert await live(store) == ["d", "c", "b", "a"]
    page = await store.sessions_of(SessionQuery(USER, NOON, NOON, "c", 1))
    assert [one.id for one in page] == ["b"]
    assert await store.sessions_of(SessionQuery("user-bob", NOON, NOON, None, 50)) == []


async def test_sessions_that_expired_or_are_idle_are_not_listed(store: Store) -> None:
    assert await store.begin_session(session("b", refresh=HASHES, used=NOON + timedelta(hours=2)), 0, EVENT)
    assert await live(store, idle_since=NOON + timedelta(hours=1)) == ["b", "a"]
    assert await live(store, idle_since=NOON + timedelta(hours=3)) == ["a"]
    assert await live(store, at=UNTIL) == []


async def test_a_refresh_token_is_replaced_once(store: Store) -> None:
    page = session("b", refresh=HASHES)
    assert await store.begin_session(page, 0, EVENT)
    later = NOON + timedelta(hours=1)
    newer = RefreshHashes(HASHES.family, b"newer", HASHES.current, later)
    assert await store.rotate_session(page, newer)
    assert await store.session("b") == replace(page, refresh=newer, last_used_at=later)
    assert not await store.rotate_session(page, newer._replace(current=b"another"))
    assert await store.end_session(ended("b"))
    assert not await store.rotate_session(page, RefreshHashes(b"f", b"third", b"newer", later))


async def test_an_ended_session_is_ended_once_and_revoked(store: Store) -> None:
    assert await store.end_session(ended("a"))
    assert not await store.end_session(ended("a"))
    assert not await store.end_session(ended("unknown"))
    kept = await store.session("a")
    assert kept is not None
    assert kept.ended_at == NOON + timedelta(hours=1)
    assert await store.revoked() == {"a": UNTIL}
    assert await live(store) == []
    assert await logged(store) == 1


async def test_an_epoch_ends_all_sessions_but_one_and_may_replace_the_password(store: Store) -> None:
    for name in "bc":
        assert await store.begin_session(session(name), 0, EVENT)
    assert await store.epochs(NOON) == {}
    assert await store.advance_epoch(*advanced(1, "b"))
    assert await live(store) == ["b"]
    assert await store.epochs(NOON) == {USER: TokenEpoch(1, "b", UNTIL)}
    assert await store.epochs(UNTIL) == {}
    assert await store.advance_epoch(*advanced(2, "", "$argon2id$another"))
    assert await live(store) == []
    found = await store.account(USER, ACME)
    assert found is not None
    assert (found.user.epoch, found.user.password_hash) == (2, "$argon2id$another")
    assert await logged(store) == 4


async def test_a_stale_epoch_changes_nothing(store: Store) -> None:
    assert await store.advance_epoch(*advanced(1, "a"))
    for number in (1, 3):
        assert not await store.advance_epoch(*advanced(number, "", "$argon2id$another"))
    assert not await store.begin_session(session("b"), 0, EVENT)
    assert await store.session("b") is None
    assert await store.begin_session(session("c"), 1, EVENT)
    assert await live(store) == ["c", "a"]
    found = await store.account(USER, ACME)
    assert found is not None
    assert found.user.password_hash == "$argon2id$hash"
    assert await logged(store) == 2


async def test_when_sessions_were_used_only_moves_on(store: Store) -> None:
    assert await store.begin_session(session("b"), 0, EVENT)
    late, early = NOON + timedelta(minutes=2), NOON + timedelta(minutes=1)
    await store.touch_sessions(["a", "unknown"], late)
    await store.touch_sessions({"a", "b"}, early)
    found = [await store.session(name) for name in "ab"]
    assert [one and one.last_used_at for one in found] == [late, early]


async def test_expired_sessions_are_dropped_and_counted(store: Store) -> None:
    assert await store.begin_session(replace(session("b"), expires_at=NOON), 0, EVENT)
    assert await store.drop_sessions(NOON) == 1
    assert await store.drop_sessions(NOON) == 0
    assert await store.session("a") is not None
