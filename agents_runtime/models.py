"""Which models answer: their specs, in order of fallback, and what to say about them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents_runtime.package import AgentPackage
from agents_runtime.providers import RETRIES, WHOLE_SECONDS, Clients
from agents_runtime.run import ModelFailed

if TYPE_CHECKING:
    from pydantic_ai.models import Model

FORMS = "anthropic:NAME, openai-chat:NAME or extractive"


class ModelUnknown(ModelFailed):
    """A model spec that names nothing there is."""

    code = "model_unknown"


class ModelKeyMissing(ModelFailed):
    """A model whose provider wants a key, and none is set."""

    code = "model_key_missing"


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One entry of POSTROOM_MODEL: a provider, and the provider's name for the model."""

    provider: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}" if self.name else self.provider


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model ready to be asked, under the name its spec gave it. `image_bytes` is its largest image, 0 for none."""

    name: str
    model: Model
    image_bytes: int = 0


EXTRACTIVE = ModelSpec("extractive")

IMAGE_BYTES = {"anthropic": 3_900_000, "openai-chat": 20_000_000, "extractive": 0}
"""The largest image a provider takes: Anthropic refuses more than 5 MiB of base64, OpenAI's guide says 20 MB."""


def parse_spec(text: str) -> ModelSpec:
    """Read `anthropic:NAME`, `openai-chat:NAME` or `extractive`. Raises ModelUnknown."""
    provider, _, name = (part.strip() for part in text.partition(":"))
    if (provider == "extractive" and not name) or (provider in {"anthropic", "openai-chat"} and name):
        return ModelSpec(provider, name)
    raise ModelUnknown(f"There is no model '{text}'.", passing=False, fix=f"Write {FORMS}.")


class ModelCatalogue:
    """The models of one process.

    What is behind them takes up to two seconds to import, so it is imported when first used; `warm` does that in a
    thread.
    """

    def __init__(
        self,
        specs: Sequence[str],
        env: Mapping[str, str],
        *,
        retries: int = RETRIES,
        seconds: float = WHOLE_SECONDS,
    ) -> None:
        """`specs` are POSTROOM_MODEL's entries in order of fallback. Raises ModelUnknown or ModelKeyMissing."""
        self._configured = tuple(parse_spec(spec) for spec in specs)
        self._env = env
        self._clients = Clients(env, retries=retries, seconds=seconds)
        self._models: dict[ModelSpec, Model] = {}
        self._lock = threading.Lock()
        for spec in self._configured:
            self._need_key(spec)

    def warm(self) -> None:
        """Import what the configured models need and make their clients. Slow once; call it in a thread."""
        with self._lock:
            import agents_runtime.turn  # noqa: F401 - the runner's own heavy half
            from agents_runtime.history import decode

            # pydantic_ai builds the schema of its messages when it first reads some.
            decode(b"[]")

            for spec in self._configured:
                if spec != EXTRACTIVE:
                    self._shared(spec)

    def chain(self, package: AgentPackage) -> tuple[NamedModel, ...]:
        """The models that answer for an agent, in order of fallback: its own list, or else the configured one.

        Slow the first time a provider is used. Raises ModelUnknown or ModelKeyMissing.
        """
        with self._lock:
            return tuple(self._named(spec, package) for spec in self._specs(package))

    def takes_images(self, package: AgentPackage) -> bool:
        """Whether a model of an agent's may be shown images. Imports nothing. Raises ModelUnknown."""
        return any(IMAGE_BYTES[spec.provider] for spec in self._specs(package))

    def describe(self) -> str:
        """Which models answer, in one sentence; never a key."""
        if not self._configured:
            return "No model is configured: agents answer with passages of their own skills (extractive)."
        names = ", then ".join(str(spec) for spec in self._configured)
        elsewhere = any(s.provider == "openai-chat" for s in self._configured) and not self._clients.is_openai
        return f"Agents answer with {names}{f' (openai-chat at {self._clients.openai_host})' if elsewhere else ''}."

    def advice(self) -> str:
        """What to set so that a model answers where none is configured, or an empty string."""
        if self._configured:
            return ""
        for key, example in (("ANTHROPIC_API_KEY", "anthropic:NAME"), ("OPENAI_API_KEY", "openai-chat:NAME")):
            if self._env.get(key, "").strip():
                return f"{key} is set, but no model is named: set POSTROOM_MODEL={example}."
        return f"Set POSTROOM_MODEL to {FORMS} (a comma list falls back in order), and the provider's key."

    async def close(self) -> None:
        """Close the clients' connections."""
        self._models.clear()
        await self._clients.close()

    def _specs(self, package: AgentPackage) -> tuple[ModelSpec, ...]:
        own = tuple(parse_spec(spec) for spec in package.manifest.models)
        return own or self._configured or (EXTRACTIVE,)

    def _named(self, spec: ModelSpec, package: AgentPackage) -> NamedModel:
        model = self._model(spec, package)
        takes = model.profile.get("supports_image_input", True)
        return NamedModel(str(spec), model, IMAGE_BYTES[spec.provider] if takes else 0)

    def _model(self, spec: ModelSpec, package: AgentPackage) -> Model:
        if spec != EXTRACTIVE:
            return self._shared(spec)
        from agents_runtime.extractive import ExtractiveModel

        return ExtractiveModel(package)

    def _shared(self, spec: ModelSpec) -> Model:
        if spec not in self._models:
            self._need_key(spec)
            make = self._clients.openai_chat if spec.provider == "openai-chat" else self._clients.anthropic
            self._models[spec] = make(spec.name)
        return self._models[spec]

    def _need_key(self, spec: ModelSpec) -> None:
        keys = {
            "anthropic": ("ANTHROPIC_API_KEY", self._clients.anthropic_key),
            "openai-chat": ("OPENAI_API_KEY", self._clients.openai_key),
        }
        variable, key = keys.get(spec.provider, ("", "none"))
        if not key:
            raise ModelKeyMissing(f"{spec} needs a key, and none is set.", passing=False, fix=f"Set {variable}.")
