"""The models: those of everybody, and those that an agent with a live route names itself."""

from __future__ import annotations

import os
from collections.abc import Set
from contextlib import suppress

from agents_runtime.models import ModelCatalogue
from agents_runtime.registry import Registry
from channels.adapter import Finding
from channels.errors import PostroomError
from gateway.settings import Settings


def about_models(settings: Settings, registry: Registry, served: Set[str]) -> list[Finding]:
    """`served` are the agents with a live route. Nothing is asked of a provider."""
    try:
        catalogue = ModelCatalogue(settings.models, os.environ)
    except PostroomError as error:
        return [Finding(error.code, False, error.message, error.fix)]
    findings = [Finding("models", True, catalogue.describe(), catalogue.advice())]
    for agent_id in sorted(served):
        with suppress(PostroomError):  # an agent that can't be loaded is told of elsewhere
            package = registry.get(agent_id)
            try:
                ModelCatalogue(package.manifest.models, os.environ)
            except PostroomError as error:
                text = f"Agent '{agent_id}' names a model of its own: {error.message}"
                findings.append(Finding("agent_model", False, text, error.fix))
    return findings
