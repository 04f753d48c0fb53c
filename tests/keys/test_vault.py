"""The vault: a sealed secret opens where it was sealed for, and nowhere else; no data key is kept
unwrapped.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from daemon.keys.keyring import KeyFileRefused, KeyRing, change_ring, mark, read_ring, write_ring
from daemon.keys.vault import (
    AUTH_TOKEN,
    REWRAPPED_AT_ONCE_MAX,
    UNWRAPPED_MAX,
    DataKey,
    KeyRotation,
    Rewrapped,
    SealBroken,
    Vault,
    prune,
    unwrapped,
    wrapped,
)
from tests.memory_database import MemoryRepositories

if TYPE_CHECKING:
    from pathlib import Path

PLACE = ("company-1", "lab", AUTH_TOKEN)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def utc() -> datetime:
    return NOON


@pytest.fixture
def ring() -> KeyRing:
    return KeyRing("", {}).rotated()


@pytest.fixture
def keys() -> MemoryRepositories:
    return MemoryRepositories()


@pytest.fixture
def vault(ring: KeyRing, keys: MemoryRepositories) -> Vault:
    return Vault(ring, keys, utc)


async def test_what_is_sealed_opens_in_its_place(ring: KeyRing, keys: MemoryRepositories, vault: Vault) -> None:
    sealed = await vault.seal(*PLACE, "s3cr\u00e9t")
    assert await vault.open(*PLACE, sealed) == "s3cr\u00e9t"
    assert await Vault(ring, keys, utc).open(*PLACE, sealed) == "s3cr\u00e9t"


async def test_a_secret_is_known_again_in_its_place_and_no_other(vault: Vault) -> None:
    sealed = await vault.seal(*PLACE, "s3cr\u00e9t")
    assert await vault.holds(*PLACE, sealed, "s3cr\u00e9t")
    assert not await vault.holds(*PLACE, sealed, "s3cret")
    assert not await vault.holds(*PLACE, sealed[:-1], "s3cr\u00e9t")
    assert not await vault.holds("company-1", "other", AUTH_TOKEN, sealed, "s3cr\u00e9t")


async def test_the_sealed_form_holds_nothing_of_the_secret(vault: Vault) -> None:
    assert b"canary" not in await vault.seal(*PLACE, "canary-canary")
    assert await vault.seal(*PLACE, "x") != await vault.seal(*PLACE, "x")


@pytest.mark.parametrize(
    "place",
    [
        ("company-2", "lab", AUTH_TOKEN),
        ("company-none", "lab", AUTH_TOKEN),
        ("company-1", "other", AUTH_TOKEN),
        ("company-1", "lab", "other"),
        ("company-1", "lab\x00", AUTH_TOKEN),
        ("company-1lab", "", AUTH_TOKEN),
        ("", "", ""),
    ],
)
async def test_a_row_moved_elsewhere_does_not_open(vault: Vault, place: tuple[str, str, str]) -> None:
    sealed = await vault.seal(*PLACE, "secret")
    await vault.seal("company-2", "lab", AUTH_TOKEN, "theirs")
    with pytest.raises(SealBroken):
        await vault.open(*place, sealed)


async def test_even_under_one_data_key_a_secret_opens_only_in_its_place() -> None:
    key = DataKey(secrets.token_bytes(32))
    sealed = key.seal(PLACE, "secret")
    for place in (("company-2", *PLACE[1:]), ("company-1", "other", AUTH_TOKEN), ("company-1", "lab", "other")):
        with pytest.raises(SealBroken):
            key.open(place, sealed)


async def test_a_companys_key_moved_to_another_company_does_not_unwrap(
    ring: KeyRing, keys: MemoryRepositories, vault: Vault
) -> None:
    sealed = await vault.seal(*PLACE, "secret")
    kept = await keys.company_key("company-1")
    assert kept is not None
    await keys.add_company_key(replace(kept, company_id="company-2"))
    for mine in (vault, Vault(ring, keys, utc)):
        with pytest.raises(SealBroken, match="another company's"):
            await mine.open("company-2", "lab", AUTH_TOKEN, sealed)
        with pytest.raises(SealBroken):
            await mine.seal("company-2", "lab", AUTH_TOKEN, "secret")


async def test_any_changed_bit_is_noticed(vault: Vault) -> None:
    sealed = await vault.seal(*PLACE, "secret")
    for index in range(len(sealed)):
        for bit in (1, 128):
            changed = bytearray(sealed)
            changed[index] ^= bit
            with pytest.raises(SealBroken):
                await vault.open(*PLACE, bytes(changed))


async def test_what_is_cut_off_does_not_open(vault: Vault) -> None:
    sealed = await vault.seal(*PLACE, "secret")
    for length in range(len(sealed)):
        with pytest.raises(SealBroken):
            await vault.open(*PLACE, sealed[:length])


async def test_a_changed_wrapping_does_not_unwrap(ring: KeyRing) -> None:
    kept = wrapped(ring, "company-1", secrets.token_bytes(32), NOON)
    for length in range(len(kept.wrapped)):
        with pytest.raises(SealBroken):
            unwrapped(ring, replace(kept, wrapped=kept.wrapped[:length]))


async def test_the_first_secrets_of_a_company_share_one_key_even_when_they_come_at_once(
    ring: KeyRing, keys: MemoryRepositories
) -> None:
    vaults = [Vault(ring, keys, utc) for _ in range(5)]
    sealed = await asyncio.gather(*(vault.seal(*PLACE, "secret") for vault in vaults for _ in range(5)))
    for one in sealed:
        assert await vaults[0].open(*PLACE, one) == "secret"


async def test_no_data_key_is_kept_unwrapped(ring: KeyRing, keys: MemoryRepositories, vault: Vault) -> None:
    await vault.seal(*PLACE, "secret")
    kept = await keys.company_key("company-1")
    assert kept is not None
    assert (kept.key_id, kept.created_at) == (ring.current, NOON)
    assert unwrapped(ring, kept) not in kept.wrapped
    assert ring.keys[ring.current] not in kept.wrapped


async def test_after_a_rotation_everything_opens_and_the_old_key_is_not_needed(
    ring: KeyRing, keys: MemoryRepositories, vault: Vault
) -> None:
    companies = [f"company-{n:04}" for n in range(2 * REWRAPPED_AT_ONCE_MAX + 3)]
    sealed = {company: await vault.seal(company, *PLACE[1:], company) for company in companies}
    await vault.use_ring(ring.rotated())
    assert [await vault.open(company, *PLACE[1:], one) for company, one in sealed.items()] == companies
    assert await vault.rewrap() == Rewrapped(len(companies), 0)
    assert await vault.rewrap() == Rewrapped(0, 0)
    later = Vault(vault._ring.pruned(), keys, utc)
    assert [await later.open(company, *PLACE[1:], one) for company, one in sealed.items()] == companies
    with pytest.raises(SealBroken, match="not here"):
        await Vault(ring, keys, utc).open(companies[0], *PLACE[1:], sealed[companies[0]])


async def test_a_key_taken_from_the_ring_too_early_is_still_known_until_the_end(
    ring: KeyRing, keys: MemoryRepositories, vault: Vault
) -> None:
    sealed = await vault.seal(*PLACE, "secret")
    alone = ring.rotated().pruned()
    await vault.use_ring(alone)
    assert await vault.rewrap() == Rewrapped(1, 0)
    assert await Vault(alone, keys, utc).open(*PLACE, sealed) == "secret"


async def test_keys_that_nobody_can_unwrap_are_counted_and_hold_nothing_up(
    keys: MemoryRepositories, vault: Vault
) -> None:
    strange = KeyRing("", {}).rotated()
    for n in range(REWRAPPED_AT_ONCE_MAX + 1):
        await keys.add_company_key(wrapped(strange, f"a-{n:04}", secrets.token_bytes(32), NOON))
    await vault.seal(*PLACE, "secret")
    await vault.use_ring(KeyRing("", {}).rotated())
    assert await vault.rewrap() == Rewrapped(1, REWRAPPED_AT_ONCE_MAX + 1)


async def test_the_unwrapped_keys_in_memory_are_bounded(
    vault: Vault, keys: MemoryRepositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert UNWRAPPED_MAX >= 1_000
    monkeypatch.setattr("daemon.keys.vault.UNWRAPPED_MAX", 3)
    sealed = {f"company-{n}": await vault.seal(f"company-{n}", *PLACE[1:], str(n)) for n in range(9)}
    assert [await vault.open(company, *PLACE[1:], one) for company, one in sealed.items()] == list("012345678")
    assert len(vault._unwrapped) == 3


@pytest.mark.parametrize("size", [16, 33, 64])
def test_a_key_of_another_size_is_refused(keys: MemoryRepositories, size: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Vault(KeyRing("x", {"x": secrets.token_bytes(size)}), keys, utc)


@pytest.fixture
def file(tmp_path: Path, ring: KeyRing) -> Path:
    path = tmp_path / "vault.key"
    write_ring(path, ring)
    return path


def spoil(file: Path, content: str) -> None:
    file.write_text(content, encoding="utf-8")


def give(file: Path, mode: int) -> None:
    file.chmod(mode)


async def test_the_file_of_the_ring_is_followed(
    file: Path, ring: KeyRing, keys: MemoryRepositories, vault: Vault
) -> None:
    sealed = await vault.seal(*PLACE, "secret")
    rotation = KeyRotation(file, vault)
    await rotation.run_once()
    assert await keys.company_keys(ring.current, "", 9) == []
    fresh = change_ring(file, KeyRing.rotated)
    await rotation.run_once()
    assert await keys.company_keys(fresh.current, "", 9) == []
    assert await Vault(fresh.pruned(), keys, utc).open(*PLACE, sealed) == "secret"


async def test_a_rotation_that_nobody_watched_is_made_up_for_at_the_first_look(
    file: Path, keys: MemoryRepositories, vault: Vault
) -> None:
    await vault.seal(*PLACE, "secret")
    fresh = change_ring(file, KeyRing.rotated)
    await KeyRotation(file, Vault(fresh, keys, utc)).run_once()
    assert await keys.company_keys(fresh.current, "", 9) == []


async def test_a_broken_file_changes_nothing_and_a_mended_one_is_followed(
    file: Path, ring: KeyRing, keys: MemoryRepositories, vault: Vault
) -> None:
    sealed = await vault.seal(*PLACE, "secret")
    rotation = KeyRotation(file, vault)
    for content in ("{", json.dumps({"current": "x", "keys": {"x": "eHh4"}})):
        spoil(file, content)
        await rotation.run_once()
    write_ring(file, KeyRing("long", {"long": secrets.token_bytes(48)}))
    await rotation.run_once()
    assert await keys.company_keys(ring.current, "", 9) == []
    write_ring(file, ring.rotated())
    give(file, 0o644)
    await rotation.run_once()
    assert await vault.open(*PLACE, sealed) == "secret"
    give(file, 0o600)
    await rotation.run_once()
    assert await keys.company_keys(read_ring(file).current, "", 9) == []


async def test_an_earlier_key_goes_only_when_it_wraps_nothing(
    file: Path, keys: MemoryRepositories, vault: Vault
) -> None:
    await vault.seal(*PLACE, "secret")
    fresh = change_ring(file, KeyRing.rotated)
    with pytest.raises(KeyFileRefused, match="start the service"):
        await prune(file, keys)
    assert read_ring(file) == fresh
    await KeyRotation(file, vault).run_once()
    assert await prune(file, keys) == (fresh.pruned(), 1)
    assert read_ring(file) == fresh.pruned()
    assert await prune(file, keys) == (fresh.pruned(), 0)


def test_a_key_file_that_goes_or_is_replaced_is_noticed(file: Path, ring: KeyRing) -> None:
    first = mark(file)
    write_ring(file, ring)
    second = mark(file)
    file.unlink()
    assert len({first, second, mark(file)}) == 3
