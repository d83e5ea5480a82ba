"""A running demo, as it writes itself down for the commands beside it. Light to import: `rehearse` starts with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ValidationError

from gateway.settings import Settings


class Running(BaseModel):
    """Which process, on which port, and a control address per channel."""

    pid: int
    port: int
    controls: dict[str, str]


def demo_settings(settings: Settings) -> Settings:
    """The demo's own home inside the user's, so that it never touches what is real."""
    return replace(settings, home=settings.home / "demo", database_url="")


def read_running(settings: Settings) -> Running | None:
    """The running demo, or None when there is none or its process is gone."""
    try:
        running = Running.model_validate_json(_path(settings).read_bytes())
        os.kill(running.pid, 0)
    except (OSError, ValidationError):
        return None
    return running


@contextmanager
def written_down(settings: Settings, running: Running) -> Iterator[None]:
    """Written down for as long as the context lasts."""
    path = _path(settings)
    path.write_text(running.model_dump_json())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _path(settings: Settings) -> Path:
    return demo_settings(settings).home / "running.json"
