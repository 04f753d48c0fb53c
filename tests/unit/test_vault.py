"""The vault: a sealed secret opens where it was sealed for, and nowhere else."""

from __future__ import annotations

import secrets

import pytest

from daemon.connectors.secrets import AUTH_TOKEN, SealBroken, Vault
from daemon.keyring import KeyRing

PLACE = ("company-1", "lab", AUTH_TOKEN)


@pytest.fixture
def ring() -> KeyRing:
    return KeyRing("", {}).rotated()


def test_what_is_sealed_opens_in_its_place(ring: KeyRing) -> None:
    sealed = Vault(ring).seal(*PLACE, "s3cr\u00e9t")
    assert Vault(ring).open(*PLACE, sealed) == "s3cr\u00e9t"


def test_the_sealed_form_holds_nothing_of_the_secret(ring: KeyRing) -> None:
    vault = Vault(ring)
    assert b"canary" not in vault.seal(*PLACE, "canary-canary")
    assert vault.seal(*PLACE, "x") != vault.seal(*PLACE, "x")


@pytest.mark.parametrize(
    "place",
    [
        ("company-2", "lab", AUTH_TOKEN),
        ("company-1", "bank", AUTH_TOKEN),
        ("company-1", "lab", "other"),
        ("company-1lab", "", AUTH_TOKEN),
    ],
)
def test_a_secret_that_was_moved_does_not_open(ring: KeyRing, place: tuple[str, str, str]) -> None:
    vault = Vault(ring)
    with pytest.raises(SealBroken):
        vault.open(*place, vault.seal(*PLACE, "secret"))


def test_a_changed_byte_anywhere_breaks_the_seal(ring: KeyRing) -> None:
    vault = Vault(ring)
    sealed = vault.seal(*PLACE, "secret")
    for at in range(len(sealed)):
        changed = bytearray(sealed)
        changed[at] ^= 1
        with pytest.raises(SealBroken):
            vault.open(*PLACE, bytes(changed))


def test_a_secret_that_was_cut_off_does_not_open(ring: KeyRing) -> None:
    vault = Vault(ring)
    sealed = vault.seal(*PLACE, "secret")
    for length in range(len(sealed)):
        with pytest.raises(SealBroken):
            vault.open(*PLACE, sealed[:length])


def test_old_secrets_open_after_a_rotation_and_are_pointed_out(ring: KeyRing) -> None:
    old = Vault(ring).seal(*PLACE, "secret")
    rotated = Vault(ring.rotated())
    new = rotated.seal(*PLACE, rotated.open(*PLACE, old))
    assert rotated.stale(old)
    assert not rotated.stale(new)


def test_a_secret_of_a_dropped_key_does_not_open(ring: KeyRing) -> None:
    sealed = Vault(ring).seal(*PLACE, "secret")
    with pytest.raises(SealBroken, match="not here"):
        Vault(KeyRing("", {}).rotated()).open(*PLACE, sealed)


def test_bytes_open_only_for_their_purpose(ring: KeyRing) -> None:
    vault = Vault(ring)
    sealed = vault.seal_bytes("webhooks", b"\x00\xff")
    assert vault.open_bytes("webhooks", sealed) == b"\x00\xff"
    with pytest.raises(SealBroken):
        vault.open_bytes("backups", sealed)
    with pytest.raises(SealBroken):
        vault.open("webhooks", "", "", sealed)


def test_a_key_without_a_usable_id_is_refused() -> None:
    with pytest.raises(ValueError, match="key id"):
        Vault(KeyRing("x" * 256, {"x" * 256: secrets.token_bytes(32)}))
