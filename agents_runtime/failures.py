"""What a model's error means: a plain sentence, and whether waiting can help. Never a key, a header or a raw body.

Imports pydantic_ai, so it is imported only by what runs a model.
"""

from __future__ import annotations

from collections.abc import Sequence

import aiohttp
from pydantic_ai import exceptions as e

from agents_runtime.run import ModelFailed


class InputTooLong(ModelFailed):
    """More than the model can read at once."""

    code = "model_input_too_long"


_MEANINGS: tuple[tuple[type[Exception], bool, str, str], ...] = (
    (e.ModelQuotaExceededError, False, "has used up its quota or credit", "Check the provider's billing page."),
    (e.ModelRateLimitError, True, "is refusing requests for now (rate limit)", ""),
    (e.ModelOverloadedError, True, "is overloaded", ""),
    (e.ModelUnavailableError, True, "is not available right now", ""),
    (e.ModelServerError, True, "failed on the provider's side", ""),
    (e.ModelRequestTimeout, True, "did not answer in time", ""),
    (e.ModelTimeoutError, True, "did not answer in time", ""),
    (e.ModelConnectionError, True, "can't be reached", "Check the network and the base URL."),
    (e.ModelContextWindowExceededError, False, "can't read that much at once", "Shorten the skill or the session."),
    (e.ModelAuthenticationError, False, "did not accept the key", "Check the provider's API key."),
    (e.ModelNotFoundError, False, "is not known to the provider", "Check the model's name and the base URL."),
    (e.ModelRequestRejectedError, False, "rejected the request", "Check that the model takes tools and this input."),
    (e.ContentFilterError, False, "was stopped by its content filter", ""),
    (e.UnexpectedModelBehavior, True, "sent an answer that can't be read", ""),
    (e.UserError, False, "can't take this request", "Check that the model takes tools."),
)
"""Error type → passing, what the model did, what to do; the first that fits."""


def model_failed(name: str, error: Exception) -> ModelFailed | None:
    """The failure an error of pydantic_ai stands for, or None for an error that is none of a model's."""
    for kind, passing, what, fix in _MEANINGS:
        if isinstance(error, kind) and not (kind is e.ModelTimeoutError and _unreachable(error)):
            failed = InputTooLong if kind is e.ModelContextWindowExceededError else ModelFailed
            return failed(f"The model {name} {what}{_status(error)}.", passing=passing, fix=fix)
    if isinstance(error, e.ModelHTTPError):
        passing = error.status_code in {408, 409, 425}
        return ModelFailed(f"The model {name} failed{_status(error)}.", passing=passing)
    if isinstance(error, e.AgentRunError):
        return ModelFailed(f"The model {name} sent an answer that can't be read.", passing=True)
    return None


def refuses_input(error: Exception) -> bool:
    """Whether a request with images was refused for what is in it, so that it may pass without them.

    Providers word that in many ways, so it is told by what it is not. Only where the status says something else the
    answer must speak of images: llama.cpp says 500, and OpenRouter 404.
    """
    if isinstance(error, e.ModelAuthenticationError | e.ModelQuotaExceededError):
        return False
    if isinstance(error, e.ModelNotFoundError | e.ModelServerError):
        body = str(error.body).lower() if isinstance(error, e.ModelHTTPError) else ""
        return "image" in body or "multimodal" in body
    return isinstance(error, e.ModelRequestRejectedError) or (
        isinstance(error, e.ModelHTTPError) and error.status_code in {413, 415, 422}
    )


def all_failed(failures: Sequence[ModelFailed]) -> ModelFailed:
    """One failure for a whole list of models: passing as soon as one of them may answer later."""
    if len(failures) == 1:
        return failures[0]
    kind = InputTooLong if any(isinstance(f, InputTooLong) for f in failures) else ModelFailed
    return kind(
        " ".join(f.message for f in failures),
        passing=any(f.passing for f in failures),
        fix=" ".join(dict.fromkeys(f.fix for f in failures if f.fix)),
    )


def _unreachable(error: BaseException | None) -> bool:
    """Whether a time-out is none: the openai client's aiohttp transport takes every broken connection for one."""
    while error is not None:
        if isinstance(error, aiohttp.ClientConnectionError):
            return not isinstance(error, TimeoutError)
        error = error.__cause__
    return False


def _status(error: Exception) -> str:
    return f" (HTTP {error.status_code})" if isinstance(error, e.ModelHTTPError) else ""
