"""The token that a program shows to call the builder's tools over HTTP."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path

from channels.errors import PostroomError
from gateway.settings import Settings

SHORTEST = 32
"""Characters below which a token is a truncated file, and opens nothing."""


class AccessTokenInvalid(PostroomError):
    """The token's file can't be used, or is readable by others."""

    code = "access_token_invalid"


def access_token(settings: Settings) -> str:
    """The token of this home, made on first use in a file that only the owner can read. Raises AccessTokenInvalid."""
    path = _path(settings)
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        _write(path, replace=False)
    if (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
        raise AccessTokenInvalid(
            f"The access token can be read by others (mode {mode:o}).",
            fix=f"Run: chmod 600 '{path}' && postroom mcp token --new",
        )
    token = path.read_text(encoding="utf-8").strip()
    if len(token) < SHORTEST:
        raise AccessTokenInvalid("The access token's file is cut short.", fix="Run: postroom mcp token --new")
    return token


def new_access_token(settings: Settings) -> str:
    """A fresh token; the one before no longer works."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write(_path(settings), replace=True)
    return access_token(settings)


def shows_token(header: str, token: str) -> bool:
    """Whether an Authorization header carries the token, compared in constant time."""
    scheme, _, given = header.partition(" ")
    shown = given.strip().encode("utf-8", "surrogateescape")
    return scheme.lower() == "bearer" and hmac.compare_digest(shown, token.encode())


def _write(path: Path, *, replace: bool) -> None:
    """Put a whole file there at once; without `replace`, one that another process put there first stays."""
    fresh = path.with_name(f".{path.name}-{secrets.token_hex(6)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32))
            file.flush()
            os.fsync(file.fileno())
        if replace:
            fresh.replace(path)
        else:
            path.hardlink_to(fresh)
    except FileExistsError:
        pass
    finally:
        fresh.unlink(missing_ok=True)


def _path(settings: Settings) -> Path:
    return settings.home / "access-token"
