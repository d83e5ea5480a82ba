"""Structured logs on standard error, with secrets taken out by value and by pattern."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

MASK = "[secret]"

_known: set[str] = set()
_PATTERNS = re.compile(
    r"""(?<!\d)\d{6,}:[A-Za-z0-9_-]{30,}      # Telegram bot token
      | xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}   # Slack tokens
      | sk-[A-Za-z0-9_-]{16,}                 # model keys
      | (?<=/hooks/)[^/\s"']+/[^/\s"'?]+      # webhook paths carry their own secret
    """,
    re.VERBOSE,
)


def hide(secret: str) -> None:
    """Never print this value again, wherever it turns up."""
    if len(secret) >= 6:
        _known.add(secret)


def redact(text: str) -> str:
    """The text without known secrets and without anything shaped like a provider's token."""
    for secret in _known:
        if secret in text:
            text = text.replace(secret, MASK)
    return _PATTERNS.sub(MASK, text)


def configure(*, verbose: bool = False, quiet: bool = False, pretty: bool | None = None) -> None:
    """Send every log line, ours and the libraries', through one redacting formatter on standard error.

    `quiet` keeps warnings and errors only.
    """
    level = logging.DEBUG if verbose else logging.WARNING if quiet else logging.INFO
    if pretty is None:
        pretty = sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer(colors=True) if pretty else structlog.processors.JSONRenderer()
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _redact_event, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("postroom").setLevel(level)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: logging.getLogger("postroom"),
        cache_logger_on_first_use=True,
    )


def _redact_event(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:  # structlog's own processor signature
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = redact(value)
        elif not isinstance(value, (int, float, bool, type(None))):
            event[key] = redact(str(value))
    return event
