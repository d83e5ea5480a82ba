"""The vault: sealed with one key, opened with no other, its key file for its owner only."""

from __future__ import annotations

import stat

import pytest

from gateway.vault import Vault, VaultKeyInvalid, VaultSealBroken, load_vault, new_key


def test_a_sealed_secret_opens_with_its_key_and_shows_nothing_of_itself():
    vault = Vault(new_key())
    sealed = vault.seal("s3cret")
    assert b"s3cret" not in sealed
    assert vault.open_all({"token": sealed}) == {"token": "s3cret"}


def test_another_key_or_a_changed_byte_is_refused():
    sealed = Vault(new_key()).seal("s3cret")
    with pytest.raises(VaultSealBroken, match="POSTROOM_KEY"):
        Vault(new_key()).open(sealed)
    vault = Vault(new_key())
    mine = bytearray(vault.seal("s3cret"))
    mine[20] ^= 1
    with pytest.raises(VaultSealBroken):
        vault.open(bytes(mine))


def test_the_key_file_is_made_once_for_its_owner_only(tmp_path):
    path = tmp_path / "home" / "key"
    sealed = load_vault(path, {}).seal("x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_vault(path, {}).open(sealed) == "x"


def test_a_key_file_that_others_can_read_is_refused_with_the_command_that_mends_it(tmp_path):
    path = tmp_path / "key"
    load_vault(path, {})
    path.chmod(0o644)
    with pytest.raises(VaultKeyInvalid, match="chmod 600"):
        load_vault(path, {})


def test_the_variable_wins_over_the_file_and_must_be_a_key(tmp_path):
    key = new_key()
    sealed = Vault(key).seal("x")
    assert load_vault(tmp_path / "key", {"POSTROOM_KEY": key}).open(sealed) == "x"
    assert not (tmp_path / "key").exists()
    with pytest.raises(VaultKeyInvalid, match="postroom key"):
        load_vault(tmp_path / "key", {"POSTROOM_KEY": "hunter2"})
