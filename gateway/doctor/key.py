"""The vault's key, and whether it opens what is sealed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from channels.adapter import Finding
from channels.errors import PostroomError
from gateway.settings import Settings
from gateway.vault import Vault, keys_from_env, load_vault


def about_key(settings: Settings, sealed: Mapping[str, Mapping[str, bytes]]) -> list[Finding]:
    """The key, and every secret of every connection with it."""
    if not settings.home.is_dir() and not keys_from_env():
        return []
    try:
        vault = load_vault(settings.key_path)
    except PostroomError as error:
        return [Finding("key", False, error.message, error.fix)]
    return [_source(), *_older(vault), *_seals(vault, sealed)]


def _source() -> Finding:
    source = "POSTROOM_KEY" if keys_from_env() else "a file only you can read"
    return Finding("key", True, f"The vault's key comes from {source}.")


def _older(vault: Vault) -> Iterator[Finding]:
    if vault.older_keys:
        text = f"{vault.older_keys} older key(s) still open what was sealed before."
        yield Finding("older_keys", True, text, "A day after rotating: postroom key retire")


def _seals(vault: Vault, sealed: Mapping[str, Mapping[str, bytes]]) -> Iterator[Finding]:
    broken = 0
    for connection_id, secrets in sealed.items():
        try:
            vault.open_all(secrets)
        except PostroomError as error:
            broken += 1
            yield Finding("seal", False, f"Connection '{connection_id}': {error.message}", error.fix)
    if sealed and not broken:
        yield Finding("seal", True, f"It opens the secrets of {len(sealed)} connection(s).")
