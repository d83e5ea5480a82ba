"""The vault: secrets sealed with a key that is kept apart from the data."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from channels.errors import PostroomError


class VaultKeyInvalid(PostroomError):
    """The key can't be used, or is readable by others."""

    code = "vault_key_invalid"


class VaultSealBroken(PostroomError):
    """A secret was sealed with another key, or its bytes were changed."""

    code = "vault_seal_broken"


class Vault:
    """Seals and opens secrets with Fernet (AES-128-CBC and HMAC-SHA256)."""

    def __init__(self, key: str | bytes) -> None:
        try:
            self._fernet = Fernet(key)
        except ValueError as error:
            raise VaultKeyInvalid(
                "The vault key is not 32 bytes in URL-safe base64.",
                fix="Make one with `postroom key` and put it in POSTROOM_KEY.",
            ) from error

    def seal(self, secret: str, *, now: float | None = None) -> bytes:
        """The secret as ciphertext, which also says when it was sealed."""
        return self._fernet.encrypt_at_time(secret.encode(), int(time.time() if now is None else now))

    def open(self, sealed: bytes, *, lifetime: int | None = None, now: float | None = None) -> str:
        """The secret; with a `lifetime` in seconds, only if it was sealed no longer ago. Raises VaultSealBroken."""
        try:
            if lifetime is None:
                return self._fernet.decrypt(sealed).decode()
            at = int(time.time() if now is None else now)
            return self._fernet.decrypt_at_time(sealed, lifetime, at).decode()
        except InvalidToken as error:
            raise VaultSealBroken(
                "A stored secret can't be opened with this key.",
                fix="Set POSTROOM_KEY to the key it was sealed with, or add the connection again.",
            ) from error

    def open_all(self, sealed: Mapping[str, bytes]) -> dict[str, str]:
        """Every secret of a connection, by name."""
        return {name: self.open(value) for name, value in sealed.items()}


def new_key() -> str:
    """A fresh random key."""
    return Fernet.generate_key().decode()


def load_vault(key_path: Path, env: Mapping[str, str] | None = None) -> Vault:
    """The vault with the key from POSTROOM_KEY, else from a 0600 file, made on first use. Raises VaultKeyInvalid."""
    from_env = (os.environ if env is None else env).get("POSTROOM_KEY", "").strip()
    if from_env:
        return Vault(from_env)
    try:
        mode = stat.S_IMODE(key_path.stat().st_mode)
    except FileNotFoundError:
        return Vault(_create(key_path))
    if mode & 0o077:
        raise VaultKeyInvalid(
            f"The key file can be read by others (mode {mode:o}).", fix=f"Run: chmod 600 '{key_path}'"
        )
    return Vault(key_path.read_text().strip())


def _create(key_path: Path) -> str:
    key_path.parent.mkdir(parents=True, exist_ok=True)
    key = new_key()
    try:
        descriptor = os.open(key_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # another process made it a moment ago
        return key_path.read_text().strip()
    with os.fdopen(descriptor, "w") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    return key
