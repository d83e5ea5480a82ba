"""Who is in: one-time links that let a person in, and the sealed cookie that keeps them there."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from channels.errors import PostroomError
from gateway.settings import Settings
from gateway.vault import Vault

Role = Literal["viewer", "operator", "owner"]

ROLES: tuple[Role, ...] = ("viewer", "operator", "owner")
"""From the least to the most: each may do what those before it may."""

LINK_SECONDS = 15 * 60
SESSION_SECONDS = 12 * 3600

TRIES = 10
TRY_SECONDS = 60.0
"""So many logins may be tried in so long a time, by everybody together: a link has 32 random bytes."""


class NotLetIn(PostroomError):
    """The link is used up, too old, or none."""

    code = "not_let_in"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who is logged in. `csrf` must come with every write; `until` ends the session."""

    name: str
    role: Role
    csrf: str
    until: float

    def may(self, role: Role) -> bool:
        """Whether they have at least this role."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Keys:
    """Makes and takes links, seals and opens sessions. Links are files, so that the command line can make one."""

    def __init__(self, settings: Settings, vault: Vault, clock: Callable[[], float] = time.time) -> None:
        self._folder = settings.home / "console-links"
        self._vault = vault
        self._clock = clock
        self._tries: deque[float] = deque(maxlen=TRIES)

    def make_link(self, role: Role, name: str) -> str:
        """A token that lets one person in, once, within 15 minutes."""
        token = secrets.token_urlsafe(32)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._sweep()
        path = self._path(token)
        path.touch(mode=0o600)
        path.write_text(json.dumps({"role": role, "name": name, "until": self._clock() + LINK_SECONDS}))
        return token

    def let_in(self, token: str) -> Person:
        """Use a link up. Raises NotLetIn."""
        now = self._clock()
        if len(self._tries) == TRIES and now - self._tries[0] < TRY_SECONDS:
            raise NotLetIn("Too many tries.", fix="Wait a minute.")
        self._tries.append(now)
        path = self._path(token)
        try:
            said = json.loads(path.read_text())
            path.unlink()  # whoever takes the file away is let in: two at once are one
        except (OSError, ValueError) as error:
            raise _used_up() from error
        if said["until"] < now:
            raise _used_up()
        return Person(said["name"], said["role"], secrets.token_urlsafe(24), now + SESSION_SECONDS)

    def seal(self, person: Person) -> str:
        """The session as a cookie's value."""
        return self._vault.seal(json.dumps(asdict(person))).decode()

    def person(self, cookie: str) -> Person | None:
        """Who a cookie's value stands for, or None."""
        try:
            person = Person(**json.loads(self._vault.open(cookie.encode())))
        except (PostroomError, ValueError, TypeError):
            return None
        return person if person.until > self._clock() and person.role in ROLES else None

    def _path(self, token: str) -> Path:
        return self._folder / hashlib.sha256(token.encode()).hexdigest()

    def _sweep(self) -> None:
        """Take away links that nobody used."""
        for path in self._folder.iterdir():
            if self._clock() - path.stat().st_mtime > LINK_SECONDS:
                path.unlink(missing_ok=True)


def _used_up() -> NotLetIn:
    return NotLetIn("This link is used up or too old.", fix="Make another one: postroom console link")
