"""What the environment says, and whether it goes together."""

from __future__ import annotations

from collections.abc import Iterator

from builder_skill.tools import CATALOGUE
from channels import registry
from channels.adapter import Finding
from channels.errors import PostroomError
from gateway.ports import in_the_clear
from gateway.settings import Settings

BIG_LEDGER = 5_000_000_000
"""Bytes of an embedded ledger past which keeping everything for good should be a choice."""


def about_settings(settings: Settings) -> list[Finding]:
    """Every check of POSTROOM_ variables."""
    return [_public_url(settings), *_approve(settings), _retention(settings), *_left_behind(settings), *_channels()]


def _public_url(settings: Settings) -> Finding:
    if not settings.public_url:
        return Finding("public_url", True, "No public address is set: bots are polled, or use sockets.")
    if not in_the_clear(settings.public_url):
        return Finding("public_url", True, f"Providers reach this gateway at {settings.public_url}.")
    text = "POSTROOM_PUBLIC_URL is http: messages and their secret paths travel in the clear."
    return Finding("public_url", False, text, "Put TLS in front, and set it to https://…")


def _approve(settings: Settings) -> Iterator[Finding]:
    unknown = sorted(settings.auto_approve - {*CATALOGUE, "*"})
    if unknown:
        text = f"POSTROOM_AUTO_APPROVE names {', '.join(unknown)}, which no tool is called."
        yield Finding("auto_approve", False, text, f"Tools are: {', '.join(CATALOGUE)}.")


def _retention(settings: Settings) -> Finding:
    if settings.retention_days:
        return Finding("retention", True, f"What ended is kept for {settings.retention_days} days.")
    size = settings.ledger_path.stat().st_size if settings.ledger_path.exists() else 0
    fix = "Set POSTROOM_RETENTION_DAYS=90, or as long as you need." if size > BIG_LEDGER else ""
    return Finding(
        "retention", True, f"Everything is kept for good{f' ({size / 1e9:.1f} GB so far)' * bool(fix)}.", fix
    )


def _left_behind(settings: Settings) -> Iterator[Finding]:
    if settings.database_url and settings.ledger_path.exists():
        text = "The ledger is in the database, and an embedded one is still in the home."
        fix = f"If it was never copied: postroom db copy. If it was, move {settings.ledger_path.name} away."
        yield Finding("two_ledgers", True, text, fix)


def _channels() -> Iterator[Finding]:
    for name in registry.names():
        try:
            registry.load(name)
        except PostroomError as error:
            yield Finding(error.code, False, error.message, error.fix)
