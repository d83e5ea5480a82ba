"""Changing the vault's key: a new one seals, older ones open until they are retired."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from channels.errors import PostroomError
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings
from gateway.vault import Vault, keys_from_env, load_vault, new_key, read_keys, split_keys, write_keys


class NoNewKey(PostroomError):
    """POSTROOM_KEY has one key only, and no command can put another one there."""

    code = "no_new_key"


class KeyInChange(PostroomError):
    """Another command changes the key just now."""

    code = "key_in_change"


@dataclass(frozen=True, slots=True)
class Resealed:
    """What was done: how many secrets the newest key seals now, and how many older keys are kept beside it.

    `from_env` says that the keys are POSTROOM_KEY's, which only the operator can change.
    """

    secrets: int
    older_keys: int
    from_env: bool


async def rotate(settings: Settings, ledger: Ledger) -> Resealed:
    """Seal every connection's secrets with a new key, in one transaction; a gateway may run meanwhile.

    The new key is put before the others in the key file; POSTROOM_KEY has it already. A rotation that was cut off is
    simply done again. Raises NoNewKey, KeyInChange, VaultKeyInvalid, and VaultSealBroken where a secret's key is gone.
    """
    from_env = keys_from_env()
    if from_env:
        vault = Vault(from_env)
        if not vault.older_keys:
            raise NoNewKey(
                "POSTROOM_KEY has one key, and that one seals already.",
                fix="Put a new one first, POSTROOM_KEY=new,old, restart the gateway, and run this again.",
            )
        return Resealed(await ledger.reseal(vault.reseal), vault.older_keys, from_env=True)
    with _alone(settings):
        load_vault(settings.key_path)
        write_keys(settings.key_path, [new_key(), *split_keys(read_keys(settings.key_path))])
        vault = load_vault(settings.key_path)
        return Resealed(await ledger.reseal(vault.reseal), vault.older_keys, from_env=False)


async def retire(settings: Settings, ledger: Ledger) -> Resealed:
    """Let the newest key be the only one; what a command sealed with an older one meanwhile is sealed anew first.

    POSTROOM_KEY's older keys are the operator's to take away. Raises as `rotate` does, NoNewKey aside.
    """
    from_env = keys_from_env()
    if from_env:
        vault = Vault(from_env)
        return Resealed(await ledger.reseal(vault.reseal), vault.older_keys, from_env=True)
    with _alone(settings):
        done = await ledger.reseal(load_vault(settings.key_path).reseal)
        write_keys(settings.key_path, split_keys(read_keys(settings.key_path))[:1])
        return Resealed(done, 0, from_env=False)


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """Two changes at once would each write a key file, and one of the new keys would be lost."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = os.open(settings.home, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise KeyInChange("Another command changes the key just now.", fix="Try again in a moment.") from None
        yield
    finally:
        os.close(folder)
