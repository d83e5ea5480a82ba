"""Numbered steps that lead from one version of the tables to the next."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources.abc import Traversable

from channels.errors import PostroomError


class LedgerTooNew(PostroomError):
    """The ledger was written by a newer version than this one."""

    code = "ledger_too_new"


@dataclass(frozen=True, slots=True)
class Step:
    """One migration: the version it leads to, and its SQL."""

    version: int
    sql: str


def read_steps(folder: Traversable) -> list[Step]:
    """The steps in a folder, in order: files named by their number."""
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [Step(int(f.name.split("_")[0]), f.read_text("utf-8")) for f in files]
