"""The model that needs no key: it answers with the passage of the agent's own skills that fits best, word for word.

It never invents: where no passage fits, it says so. Imports pydantic_ai, so it is imported only when it answers.
"""

from __future__ import annotations

import re

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from agents_runtime.package import AgentPackage
from agents_runtime.passages import Passages
from agents_runtime.user_turn import question
from agents_runtime.words import fold

NOTHING = "I have nothing written about that."
WELCOME = "You're welcome."

_GREETING = re.compile(
    r"/?(start|help)( .*)?|"
    r"(hi|hello|hey|hallo|hola|salut|bonjour|ciao|good (morning|afternoon|evening|day))( there| all)?|"
    r"what (can|do) you do|who are you|what is this"
)
_THANKS = re.compile(r"(many |ok |great |perfect |super )*(thanks|thank you|thx|cheers)( .*)?")


class ExtractiveModel(Model):
    """Answers for one agent, from an index of its entry skill and sub-skills that is made once."""

    def __init__(self, package: AgentPackage) -> None:
        super().__init__()
        entry = package.entry
        others = [skill for name, skill in sorted(package.skills.items()) if name != entry.name]
        self._passages = Passages(skill.body for skill in (entry, *others))
        about = f"{package.manifest.label}: {package.manifest.description}"
        self._greeting = self._passages.greeting or about

    @property
    def model_name(self) -> str:
        """Its name."""
        return "extractive"

    @property
    def system(self) -> str:
        """Its provider: itself."""
        return "extractive"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer the newest message. Nothing leaves the process, and no tool is called."""
        return ModelResponse(parts=[TextPart(self.answer(question(_asked(messages))))], model_name="extractive")

    def answer(self, asked: str) -> str:
        """The greeting, a passage word for word, or the sentence that says there is none."""
        plain = re.sub(r"[^\w\s/]+", "", fold(asked)).strip()
        if _GREETING.fullmatch(plain):
            return self._greeting
        if _THANKS.fullmatch(plain):
            return WELCOME
        return self._passages.best(asked) or NOTHING


def _asked(messages: list[ModelMessage]) -> str:
    newest = messages[-1]
    if not isinstance(newest, ModelRequest):
        return ""
    return "\n".join(
        part.content for part in newest.parts if isinstance(part, UserPromptPart) and isinstance(part.content, str)
    )
