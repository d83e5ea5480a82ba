"""The token that a program shows to call the builder's tools over HTTP."""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path

from channels.errors import PostroomError
from gateway.private_file import open_mode, write_private
from gateway.settings import Settings

SHORTEST = 32
"""Characters below which a token is a truncated file, and opens nothing."""


class AccessTokenInvalid(PostroomError):
    """The token's file can't be used, or is readable by others."""

    code = "access_token_invalid"


def access_token(settings: Settings) -> str:
    """The token of this home, made on first use in a file that only the owner can read. Raises AccessTokenInvalid."""
    path = _path(settings)
    if not path.exists():
        write_private(path, _fresh(), replace=False)
    if mode := open_mode(path):
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
    write_private(_path(settings), _fresh(), replace=True)
    return access_token(settings)


def shows_token(header: str, token: str) -> bool:
    """Whether an Authorization header carries the token, compared in constant time."""
    scheme, _, given = header.partition(" ")
    shown = given.strip().encode("utf-8", "surrogateescape")
    return scheme.lower() == "bearer" and hmac.compare_digest(shown, token.encode())


def _fresh() -> str:
    return secrets.token_urlsafe(32)


def _path(settings: Settings) -> Path:
    return settings.home / "access-token"
