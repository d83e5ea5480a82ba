"""The vault: secrets sealed with keys that are kept apart from the data."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import structlog
from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from agents_runtime.tree import Stamp, stamp_of
from channels.errors import PostroomError
from gateway.private_file import open_mode, write_private

log = structlog.get_logger()


class VaultKeyInvalid(PostroomError):
    """The key can't be used, or is readable by others."""

    code = "vault_key_invalid"


class VaultSealBroken(PostroomError):
    """A secret was sealed with another key, or its bytes were changed."""

    code = "vault_seal_broken"


class Vault:
    """Seals with the newest of its keys and opens with any of them (Fernet: AES-128-CBC and HMAC-SHA256).

    `keys` are apart by white space or commas, newest first. A vault with a `file` reads its keys again when that
    changes, so that a running gateway follows `postroom key rotate`. Raises VaultKeyInvalid.
    """

    def __init__(self, keys: str | bytes, file: Path | None = None) -> None:
        self._file = file
        self._stamp: Stamp = None
        self._fernets = _fernets(keys)

    @property
    def older_keys(self) -> int:
        """How many keys there are beside the newest."""
        return len(self._now_held()) - 1

    def seal(self, secret: str, *, now: float | None = None) -> bytes:
        """The secret as ciphertext, which also says when it was sealed."""
        return self._now_held()[0].encrypt_at_time(secret.encode(), int(time.time() if now is None else now))

    def open(self, sealed: bytes, *, lifetime: int | None = None, now: float | None = None) -> str:
        """The secret; with a `lifetime` in seconds, only if it was sealed no longer ago. Raises VaultSealBroken."""
        fernet = MultiFernet(self._now_held())
        try:
            if lifetime is None:
                return fernet.decrypt(sealed).decode()
            at = int(time.time() if now is None else now)
            return fernet.decrypt_at_time(sealed, lifetime, at).decode()
        except InvalidToken as error:
            raise _broken() from error

    def reseal(self, sealed: bytes) -> bytes:
        """The same secret sealed with the newest key, as of when it was sealed first. Raises VaultSealBroken."""
        try:
            return MultiFernet(self._now_held()).rotate(sealed)
        except InvalidToken as error:
            raise _broken() from error

    def open_all(self, sealed: Mapping[str, bytes]) -> dict[str, str]:
        """Every secret of a connection, by name."""
        return {name: self.open(value) for name, value in sealed.items()}

    def _now_held(self) -> list[Fernet]:
        if self._file is not None and (stamp := stamp_of(str(self._file))) != self._stamp:
            self._stamp = stamp
            try:
                self._fernets = _fernets(read_keys(self._file))
            except (VaultKeyInvalid, OSError) as error:  # what is open stays open
                log.error("key_file_not_read", error=str(error))
        return self._fernets


def new_key() -> str:
    """A fresh random key."""
    return Fernet.generate_key().decode()


def split_keys(keys: str) -> list[str]:
    """The keys of POSTROOM_KEY or of a key file, newest first."""
    return keys.replace(",", " ").split()


def keys_from_env(env: Mapping[str, str] | None = None) -> str:
    """What POSTROOM_KEY says, or an empty string."""
    return (os.environ if env is None else env).get("POSTROOM_KEY", "").strip()


def load_vault(key_path: Path, env: Mapping[str, str] | None = None) -> Vault:
    """The vault with POSTROOM_KEY's keys, else those of a 0600 file, made on first use. Raises VaultKeyInvalid."""
    from_env = keys_from_env(env)
    if from_env:
        return Vault(from_env)
    try:
        return Vault(read_keys(key_path), key_path)
    except FileNotFoundError:
        write_keys(key_path, [new_key()], replace=False)
        return Vault(read_keys(key_path), key_path)


def read_keys(key_path: Path) -> str:
    """What a key file holds. Raises VaultKeyInvalid where others can read it, FileNotFoundError where it isn't."""
    if mode := open_mode(key_path):
        raise VaultKeyInvalid(
            f"The key file can be read by others (mode {mode:o}).", fix=f"Run: chmod 600 '{key_path}'"
        )
    return key_path.read_text().strip()


def write_keys(key_path: Path, keys: Sequence[str], *, replace: bool = True) -> None:
    """Put a whole 0600 file of keys in place at once, newest first; see `write_private`."""
    write_private(key_path, "".join(f"{key}\n" for key in keys), replace=replace)


def _fernets(keys: str | bytes) -> list[Fernet]:
    try:
        fernets = [Fernet(key) for key in split_keys(keys.decode() if isinstance(keys, bytes) else keys)]
    except ValueError as error:
        raise _no_key() from error
    if not fernets:
        raise _no_key()
    return fernets


def _no_key() -> VaultKeyInvalid:
    return VaultKeyInvalid(
        "The vault key is not 32 bytes in URL-safe base64.",
        fix="Make one with `postroom key` and put it in POSTROOM_KEY.",
    )


def _broken() -> VaultSealBroken:
    return VaultSealBroken(
        "A stored secret can't be opened with this key.",
        fix="Set POSTROOM_KEY to the key it was sealed with, or add the connection again.",
    )
