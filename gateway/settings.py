"""What the environment says: where things live and which models answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from channels.errors import PostroomError


class SettingInvalid(PostroomError):
    """An environment variable that can't be used as it is."""

    code = "setting_invalid"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process.

    `home` holds the ledger, the key, the user's agents and logs. `public_url` is where providers reach the gateway,
    without a trailing slash, or empty. `database_url` leads to a PostgreSQL ledger, which several gateways can share;
    where it is empty, the embedded one is used. `models` are POSTROOM_MODEL's entries in order of fallback.
    `auto_approve` are the builder's tools that a model may call without asking the owner, `*` for all. `trusted_proxy`
    says that a proxy with TLS stands in front of whatever is listened on. `retention_days` is how long what has ended
    is kept; 0 is for good.
    """

    home: Path
    public_url: str = ""
    database_url: str = ""
    models: tuple[str, ...] = ()
    auto_approve: frozenset[str] = frozenset()
    trusted_proxy: bool = False
    retention_days: int = 0

    @property
    def ledger_path(self) -> Path:
        """The embedded ledger's file."""
        return self.home / "ledger.db"

    @property
    def agents_dir(self) -> Path:
        """The user's agent packages."""
        return self.home / "agents"

    @property
    def published_dir(self) -> Path:
        """The agents that were published to all gateways, as this one has them."""
        return self.home / "published"

    @property
    def key_path(self) -> Path:
        """The vault's key where POSTROOM_KEY is not set."""
        return self.home / "key"

    def hook_url(self, connection_id: str, hook_secret: str) -> str:
        """Where a provider delivers this connection's webhooks, or an empty string without a public URL."""
        return f"{self.public_url}/hooks/{connection_id}/{hook_secret}" if self.public_url else ""

    @staticmethod
    def from_env(env: Mapping[str, str] | None = None) -> Settings:
        """Read the POSTROOM_ variables that make the fields. Raises SettingInvalid."""
        values = os.environ if env is None else env
        public_url = values.get("POSTROOM_PUBLIC_URL", "").strip().rstrip("/")
        if public_url and (urlsplit(public_url).scheme not in {"http", "https"} or not urlsplit(public_url).hostname):
            raise SettingInvalid(
                "POSTROOM_PUBLIC_URL is not a web address.", fix="Set it to something like https://bots.example.com."
            )
        database_url = values.get("POSTROOM_DATABASE_URL", "").strip()
        if database_url and urlsplit(database_url).scheme not in {"postgresql", "postgres"}:
            raise SettingInvalid(
                "POSTROOM_DATABASE_URL is not the address of a PostgreSQL database.",
                fix="Set it to something like postgresql://postroom:…@db.example.com/postroom, or unset it.",
            )
        days = values.get("POSTROOM_RETENTION_DAYS", "").strip() or "0"
        if not days.isascii() or not days.isdigit():
            raise SettingInvalid(
                "POSTROOM_RETENTION_DAYS is not a number of days.", fix="Set it to something like 90, or unset it."
            )
        return Settings(
            retention_days=int(days),
            home=Path(values.get("POSTROOM_HOME") or Path.home() / ".postroom").expanduser().absolute(),
            public_url=public_url,
            database_url=database_url,
            auto_approve=frozenset(t.strip() for t in values.get("POSTROOM_AUTO_APPROVE", "").split(",") if t.strip()),
            trusted_proxy=values.get("POSTROOM_TRUSTED_PROXY", "").strip().lower() in {"1", "true", "yes"},
            models=tuple(m.strip() for m in values.get("POSTROOM_MODEL", "").split(",") if m.strip()),
        )
