"""The token that a program shows to call the builder's tools over HTTP."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path

from gateway.settings import Settings


def access_token(settings: Settings) -> str:
    """The token of this home, made on first use in a file that only the owner can read."""
    path = _path(settings)
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text().strip()
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(32))
    return path.read_text().strip()


def new_access_token(settings: Settings) -> str:
    """A fresh token; the one before no longer works."""
    _path(settings).unlink(missing_ok=True)
    return access_token(settings)


def shows_token(header: str, token: str) -> bool:
    """Whether an Authorization header carries the token, compared in constant time."""
    scheme, _, given = header.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())


def _path(settings: Settings) -> Path:
    return settings.home / "access-token"
