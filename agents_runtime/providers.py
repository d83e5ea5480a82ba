"""The clients of the model providers: one each, made when first asked for, shared by every run.

Their HTTP goes over aiohttp: under many requests at once the clients' own transport takes half as much CPU again.
The libraries are imported inside the functions, so that only the providers in use are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI
    from pydantic_ai.models import Model

CONNECT_SECONDS = 5.0
WHOLE_SECONDS = 120.0
"""How long one request to one model may take, the client's own retries included."""

RETRIES = 2
"""How often a client tries again by itself after a rate limit, a server error or a broken connection."""

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
UNUSED_KEY = "not-needed"
"""What a server of one's own is sent where no key is set: the client insists on one."""


class Clients:
    """The clients of one process. `env` gives keys and base URLs under the providers' own names."""

    def __init__(self, env: Mapping[str, str], *, retries: int = RETRIES, seconds: float = WHOLE_SECONDS) -> None:
        self.openai_url = env.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL
        self.anthropic_url = env.get("ANTHROPIC_BASE_URL", "").strip() or ANTHROPIC_URL
        self.openai_key = env.get("OPENAI_API_KEY", "").strip() or ("" if self.is_openai else UNUSED_KEY)
        self.anthropic_key = env.get("ANTHROPIC_API_KEY", "").strip()
        self._retries = retries
        self._seconds = seconds
        self._openai: AsyncOpenAI | None = None
        self._anthropic: AsyncAnthropic | None = None

    @property
    def openai_host(self) -> str:
        """Where `openai-chat` requests go, without a scheme, a path or credentials."""
        parts = urlsplit(self.openai_url)
        return f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}"

    @property
    def is_openai(self) -> bool:
        """Whether `openai-chat` goes to OpenAI itself, not to a server that speaks like it."""
        return self.openai_host == urlsplit(OPENAI_URL).hostname

    def openai_chat(self, name: str) -> Model:
        """A model behind /chat/completions, at OpenAI or at a compatible server."""
        from openai import DefaultAioHttpClient, Timeout
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.profiles import ModelProfile
        from pydantic_ai.providers.openai import OpenAIProvider
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
        from pydantic_ai.settings import ModelSettings

        from agents_runtime.chat_client import ChatClient

        if self._openai is None:
            self._openai = ChatClient(
                api_key=self.openai_key,
                base_url=self.openai_url,
                timeout=Timeout(self._seconds, connect=CONNECT_SECONDS),
                max_retries=self._retries,
                http_client=DefaultAioHttpClient(),
            )
        return OpenAIChatModel(
            name,
            provider=OpenAIProvider(openai_client=self._openai)
            if self.is_openai
            else OpenAICompatibleProvider("openai-chat", openai_client=self._openai),
            # Tool schemas are made once and fit as they are; the transformer would walk them on every request.
            profile=ModelProfile(json_schema_transformer=None),
            settings=ModelSettings(request_timeout=self._seconds),
        )

    def anthropic(self, name: str) -> Model:
        """A model behind Anthropic's /v1/messages, with its prompt cache on: an agent's prompt is stable."""
        from anthropic import AsyncAnthropic, DefaultAioHttpClient, Timeout
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.profiles import ModelProfile
        from pydantic_ai.providers.anthropic import AnthropicProvider
        from pydantic_ai.settings import ModelSettings

        if self._anthropic is None:
            self._anthropic = AsyncAnthropic(
                api_key=self.anthropic_key,
                base_url=self.anthropic_url,
                timeout=Timeout(self._seconds, connect=CONNECT_SECONDS),
                max_retries=self._retries,
                http_client=DefaultAioHttpClient(),
            )
        return AnthropicModel(
            name,
            provider=AnthropicProvider(anthropic_client=self._anthropic),
            profile=ModelProfile(json_schema_transformer=None),
            settings=ModelSettings(request_timeout=self._seconds, cache=True),
        )

    async def close(self) -> None:
        """Close the connections."""
        for client in (self._openai, self._anthropic):
            if client is not None:
                await client.close()
        self._openai = self._anthropic = None
