"""Changing the vault's key."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.keyring import KeyInChange, NoNewKey, Resealed, retire, rotate
from gateway.ledger.protocol import Ledger
from gateway.ledger.sqlite import open_sqlite
from gateway.settings import Settings
from gateway.vault import Vault, VaultSealBroken, load_vault, new_key
from routes.connection import Connection


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("POSTROOM_KEY", raising=False)
    return Settings(tmp_path)


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[Ledger]:
    async with open_sqlite(settings.ledger_path, worker=True) as ledger:
        yield ledger


async def keep(ledger: Ledger, vault: Vault, name: str = "token") -> None:
    await ledger.put_connection(Connection("shop", "telegram"), {name: vault.seal(f"the {name}")})


async def test_a_rotation_reseals_and_the_old_key_opens_until_it_is_retired(settings: Settings, ledger: Ledger) -> None:
    running = load_vault(settings.key_path)
    before = settings.key_path.read_text().split()
    await keep(ledger, running)
    old = await ledger.secrets("shop")
    assert await rotate(settings, ledger) == Resealed(1, 1, from_env=False)
    new = await ledger.secrets("shop")
    assert settings.key_path.stat().st_mode & 0o077 == 0
    for vault in (running, load_vault(settings.key_path)):
        assert vault.open_all(old) == vault.open_all(new) == {"token": "the token"}
    with pytest.raises(VaultSealBroken):
        Vault(before[0]).open_all(new)
    await keep(ledger, Vault(before[0]), "late")  # by a command that began before the rotation
    assert await retire(settings, ledger) == Resealed(2, 0, from_env=False)
    assert running.open_all(await ledger.secrets("shop")) == {"token": "the token", "late": "the late"}
    with pytest.raises(VaultSealBroken):
        running.open_all(old)
    assert len(settings.key_path.read_text().split()) == 1


async def test_a_secret_without_its_key_stops_it_and_nothing_is_lost(settings: Settings, ledger: Ledger) -> None:
    vault = load_vault(settings.key_path)
    await keep(ledger, vault)
    await keep(ledger, Vault(new_key()), "foreign")
    before = await ledger.secrets("shop")
    for change in (rotate, retire):
        with pytest.raises(VaultSealBroken):
            await change(settings, ledger)
        assert await ledger.secrets("shop") == before
        assert vault.open(before["token"]) == "the token"


async def test_keys_of_the_environment_are_the_operators(
    settings: Settings, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = new_key(), new_key()
    monkeypatch.setenv("POSTROOM_KEY", old)
    await keep(ledger, Vault(old))
    with pytest.raises(NoNewKey) as refused:
        await rotate(settings, ledger)
    assert old not in f"{refused.value} {refused.value.fix}"
    monkeypatch.setenv("POSTROOM_KEY", f"{new},{old}")
    assert await rotate(settings, ledger) == Resealed(1, 1, from_env=True)
    assert Vault(new).open_all(await ledger.secrets("shop")) == {"token": "the token"}
    assert not settings.key_path.exists()


async def test_two_changes_at_once_lose_no_key(settings: Settings, ledger: Ledger) -> None:
    load_vault(settings.key_path)
    folder = os.open(settings.home, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        for change in (rotate, retire):
            with pytest.raises(KeyInChange):
                await change(settings, ledger)
    finally:
        os.close(folder)
    await asyncio.gather(rotate(settings, ledger), return_exceptions=True)
    assert len(settings.key_path.read_text().split()) == 2
