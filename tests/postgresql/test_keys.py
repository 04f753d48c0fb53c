"""Daemons on one database have keys in common, or do not start; a rotation may reach them in any
order.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, get_args

import asyncpg
import pytest
from pydantic import SecretStr

from daemon.app import Lifecycle, opened
from daemon.keys.commit_keys import CommitKeys
from daemon.keys.keyring import KeyFileRefused, KeyRing, change_ring, open_ring, read_ring
from daemon.keys.vault import Vault
from daemon.model.audit_events import KeyPurpose, KeysChanged
from daemon.runtime.clock import utc_now
from daemon.settings import Settings, key_files
from daemon.stores.codec import decode_log
from daemon.stores.key_files import KeyFileWatcher, check
from daemon.stores.postgres.store import PostgresStore
from daemon.web.services import Services
from tests.crash.service import command, environment
from tests.histories import ACME
from tests.postgres import KEYS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path


PURPOSES: tuple[KeyPurpose, ...] = get_args(KeyPurpose)
OTHERS = [purpose for purpose in PURPOSES if purpose != "commits"]
"""Those that the store can be opened without."""


class Site:
    """Daemons on one database, each with a data folder of its own and the first one's keys in
    it.
    """

    def __init__(self, url: str, folder: Path, stack: AsyncExitStack) -> None:
        self.url, self.folder, self.stack = url, folder, stack

    def settings(self, name: str) -> Settings:
        return Settings(database_url=SecretStr(self.url), data_dir=self.folder / name)

    def given(self, name: str) -> dict[KeyPurpose, Path]:
        """The key files of a daemon, as they were handed out."""
        files, ours = key_files(self.settings(name)), key_files(self.settings("first"))
        (self.folder / name).mkdir(mode=0o700)
        for purpose, path in files.items():
            if name == "first":
                open_ring(path, create=True)
            else:
                path.touch(mode=0o600)
                path.write_bytes(ours[purpose].read_bytes())
        return files

    async def runs(self, name: str) -> PostgresStore:
        """A daemon as far as its store and its keys go."""
        files = key_files(self.settings(name))
        store = await self.joined(CommitKeys.open(files["commits"], create=False))
        await check(files, store)
        await KeyFileWatcher(files, store, utc_now).begin()
        return store

    async def joined(self, keys: CommitKeys = KEYS) -> PostgresStore:
        """The store of a daemon that has not looked at other keys yet."""
        return await self.stack.enter_async_context(PostgresStore.open(self.url, keys))

    async def said(self, purpose: KeyPurpose) -> Sequence[KeysChanged]:
        """What the service's log tells of the keys for this, in order."""
        db = await asyncpg.connect(self.url)
        rows = await db.fetch("SELECT events FROM commits WHERE company_id = '' AND run_id = '' ORDER BY version")
        await db.close()
        told = [decode_log(row[0])[-1] for row in rows]
        return [one for one in told if isinstance(one, KeysChanged) and one.purpose == purpose]

    async def ran(self, name: str) -> None:
        """A daemon that came and went."""
        async with AsyncExitStack() as stack:
            await Site(self.url, self.folder, stack).runs(name)


def vault(files: dict[KeyPurpose, Path], store: PostgresStore) -> Vault:
    return Vault(read_ring(files["secrets"]), store, utc_now)


@pytest.fixture
async def site(url: str, tmp_path: Path) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        yield Site(url, tmp_path, stack)


def replaced(path: Path) -> None:
    """Another ring in place of the one in a file, which has no key of it."""
    change_ring(path, lambda _: KeyRing("", {}).rotated())


@pytest.mark.parametrize("purpose", OTHERS)
async def test_a_daemon_with_other_keys_than_those_that_run_does_not_start(site: Site, purpose: KeyPurpose) -> None:
    site.given("first")
    files = site.given("second")
    replaced(files[purpose])
    await site.runs("first")
    with pytest.raises(KeyFileRefused, match=f"{files[purpose]} has no key .{purpose}. in common"):
        await site.runs("second")


@pytest.mark.parametrize("purpose", OTHERS)
async def test_a_daemon_without_keys_does_not_make_its_own_beside_others(site: Site, purpose: KeyPurpose) -> None:
    site.given("first")
    files = site.given("second")
    files[purpose].unlink()
    await site.runs("first")
    with pytest.raises(KeyFileRefused, match="give all of them the same key files"):
        await site.runs("second")
    assert not files[purpose].exists()


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_of_two_with_different_keys_that_begin_in_the_same_moment_one_does_not_start(
    site: Site, purpose: KeyPurpose
) -> None:
    names = ("first", "second")
    given = [site.given(name) for name in names]
    replaced(given[1][purpose])
    stores = [await site.joined() for _ in names]
    for files, store in zip(given, stores, strict=True):
        await check(files, store)  # nobody has written anything yet
    watches = [KeyFileWatcher(files, store, utc_now) for files, store in zip(given, stores, strict=True)]
    refused = await asyncio.gather(*(watch.begin() for watch in watches), return_exceptions=True)
    ((started, _),) = [(place, one) for place, one in enumerate(refused) if one is None]
    assert isinstance(refused[1 - started], KeyFileRefused)
    assert [one.after.current for one in await site.said(purpose)] == [read_ring(given[started][purpose]).current]


async def test_one_that_does_not_start_has_signed_nothing(site: Site) -> None:
    names = ("first", "second")
    given = [site.given(name) for name in names]
    replaced(given[1]["audit"])

    async def served(name: str) -> Services:
        return await site.stack.enter_async_context(opened(site.settings(name), Lifecycle()))

    both = await asyncio.gather(*map(served, names), return_exceptions=True)
    ((started, services),) = [(place, one) for place, one in enumerate(both) if isinstance(one, Services)]
    assert isinstance(both[1 - started], KeyFileRefused)
    await services.sealer.seal()
    signed = {one.key_id for one in await services.store.checkpoints("", None, 99)}
    assert signed == {read_ring(given[started]["audit"]).current}


async def test_a_rotation_that_reaches_several_daemons_is_written_down_once(site: Site) -> None:
    files, names = site.given("first"), ("first", "second", "third")
    watches = [KeyFileWatcher(files, await site.joined(), utc_now) for _ in names]
    for watch in watches:
        await watch.begin()
    for purpose in PURPOSES:
        change_ring(files[purpose], KeyRing.rotated)
    await asyncio.gather(*(watch.run_once() for watch in watches))
    for purpose in PURPOSES:
        made, rotated = await site.said(purpose)
        assert (rotated.before, rotated.after.current) == (made.after, read_ring(files[purpose]).current)


@pytest.mark.parametrize("purpose", PURPOSES)
async def test_a_rotation_reaches_the_daemons_in_any_order(site: Site, purpose: KeyPurpose) -> None:
    first = site.given("first")
    ahead, behind = site.given("ahead"), site.given("behind")
    change_ring(ahead[purpose], KeyRing.rotated)
    await site.runs("first")
    await site.runs("ahead")
    await site.runs("behind")
    later = site.given("later")
    assert read_ring(later[purpose]) == read_ring(first[purpose]) == read_ring(behind[purpose])
    await site.runs("later")


@pytest.mark.parametrize("purpose", OTHERS)
async def test_other_keys_take_effect_once_nobody_runs(site: Site, purpose: KeyPurpose) -> None:
    files = site.given("first")
    await site.ran("first")
    replaced(files[purpose])
    await site.runs("first")


async def test_a_daemon_that_fell_silent_keeps_nobody_from_starting(site: Site) -> None:
    files = site.given("first")
    await site.ran("first")
    db = await asyncpg.connect(site.url)
    await db.execute("INSERT INTO daemons VALUES (999, 'killed', now(), now() - interval '1 s')")
    await db.close()
    replaced(files["tokens"])
    await site.runs("first")


async def test_a_daemon_that_cannot_open_what_is_stored_does_not_start_though_nobody_else_runs(site: Site) -> None:
    files = site.given("first")
    async with PostgresStore.open(site.url, CommitKeys.open(files["commits"], create=False)) as store:
        await vault(files, store).seal(ACME, "tool", "auth_token", "secret")
    needed = read_ring(files["secrets"]).current
    kept = files["secrets"].read_bytes()
    replaced(files["secrets"])
    with pytest.raises(KeyFileRefused, match=f"does not hold the key {needed}"):
        await site.runs("first")
    files["secrets"].write_bytes(kept)
    change_ring(files["secrets"], KeyRing.rotated)
    await site.runs("first")


async def test_a_key_that_is_lost_for_good_is_given_up_by_hand(site: Site) -> None:
    files = site.given("first")
    async with PostgresStore.open(site.url, CommitKeys.open(files["commits"], create=False)) as store:
        await vault(files, store).seal(ACME, "tool", "auth_token", "old")
    lost = read_ring(files["secrets"]).current
    replaced(files["secrets"])
    db = await asyncpg.connect(site.url)
    await db.execute("DELETE FROM company_keys WHERE key_id = $1", lost)
    await db.close()
    afresh = vault(files, await site.runs("first"))
    sealed = await afresh.seal(ACME, "tool", "auth_token", "new")
    assert await afresh.open(ACME, "tool", "auth_token", sealed) == "new"


async def test_the_command_says_why_and_ends_as_with_wrong_settings_and_the_doctor_says_it_before(
    site: Site, url: str
) -> None:
    site.given("first")
    files = site.given("second")
    replaced(files["tokens"])
    await site.runs("first")
    env = environment(site.folder, database_url=url, data_dir=str(site.folder / "second"))
    del env["PENSTOCK_TEMPLATES_DIR"]
    _, out, _ = await command("doctor", env=env)
    assert f"problem  keys: {files['tokens']} has no key (tokens) in common" in out
    assert "ok       keys: those of the daemons on this database (secrets, audit, commits)" in out
    code, _, said = await command("serve", "--port", "0", env=env)
    assert code == 78
    assert f"{files['tokens']} has no key (tokens) in common" in said
    async with PostgresStore.open(url, CommitKeys.open(files["commits"], create=False)) as store:
        last = await store.last_logged("", '"purpose":"tokens"')
    assert last is not None
    assert last.after.current != read_ring(files["tokens"]).current  # type: ignore[union-attr]
