"""The desk of the builder's tools, laid out on this gateway's ledger and home."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from agents_runtime.models import ModelCatalogue
from agents_runtime.registry import Registry
from agents_runtime.run import Run
from agents_runtime.runner import Runner
from builder_skill.desk import Desk
from gateway.builder import KNOWN
from gateway.deploying import Deployer
from gateway.ledger.protocol import Ledger
from gateway.settings import Settings


def lay_desk(settings: Settings, ledger: Ledger, registry: Registry, by: str) -> Desk:
    """A desk for one caller; `by` is the name under which the history keeps what it changes."""
    return Desk(
        registry=registry,
        agents_dir=settings.agents_dir,
        kept_dir=settings.home / "kept",
        provided=KNOWN,
        deploys=Deployer(ledger, registry, settings, by),
        running=partial(open_runner, settings),
    )


@asynccontextmanager
async def open_runner(settings: Settings) -> AsyncIterator[Run]:
    """A runner on the configured models, for as long as the context lasts."""
    models = ModelCatalogue(settings.models, os.environ)
    try:
        yield Runner(models, KNOWN).run
    finally:
        await models.close()
