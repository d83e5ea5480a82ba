"""Finding what looks like a secret, so that it stays out of packages. Pure; what is found is never repeated.

Shapes are those the providers document for their tokens. What has no shape is judged by its mixture of characters,
strictly enough that prose, identifiers, hashes and paths pass.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from channels.errors import PostroomError

SHAPES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "a Telegram bot token": r"(?<!\d)\d{6,12}:[A-Za-z0-9_-]{30,}",
        "a Slack token": r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}",
        "a Slack webhook address": r"hooks\.slack\.com/services/T\w+/B\w+/\w+",
        "a Twilio credential": r"\b(?:AC|SK)[0-9a-f]{32}\b",
        "an API key": r"\bsk-[A-Za-z0-9_-]{20,}",
        "a GitHub token": r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{22,}",
        "a GitLab token": r"\bglpat-[\w-]{20,}",
        "an AWS key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        "a Google key": r"\bAIza[\w-]{35}|\bya29\.[\w-]{20,}|\bGOCSPX-[\w-]{20,}",
        "a Stripe key": r"\b[sr]k_(?:live|test)_[0-9A-Za-z]{16,}|\bwhsec_[0-9A-Za-z]{16,}",
        "a SendGrid key": r"\bSG\.[\w-]{16,}\.[\w-]{16,}",
        "an access token": r"\b(?:npm|hf)_[A-Za-z0-9]{30,}|\bpypi-[\w-]{40,}",
        "a JSON web token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
        "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    }.items()
}

_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:([^\s/:@]{3,})@", re.IGNORECASE)

_ASSIGNED = re.compile(
    r"\b(?:\w*(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key))\b"
    r"""["'`]?\s*(?::|=|\bis\b)\s*["'`]?([^\s"'`,;<>{}$]{8,})""",
    re.IGNORECASE,
)

_WORD = re.compile(r"(?<![\w/+=.-])[A-Za-z0-9+/_-]{32,64}={0,2}(?![\w/+=.-])")

_STAND_IN = re.compile(r"x{4,}|\*{3,}|\.{3}|…|example|your|change|placeholder|redacted|none|null", re.IGNORECASE)
"""What is plainly not the thing itself."""

MIXED = 4
"""Capitals, small letters and digits that a shapeless secret has of each, at least."""

BITS = 4.2
"""Bits per character of a shapeless secret, at least; 32 random letters and digits have about 4.6."""


class SecretFound(PostroomError):
    """Something that would go into a package looks like a secret."""

    code = "secret_found"


@dataclass(frozen=True, slots=True)
class Hit:
    """Where something looks like a secret, and like what. `line` counts from 1."""

    line: int
    kind: str


def find_secrets(text: str) -> list[Hit]:
    """Every line that seems to hold a secret, once."""
    return [Hit(number, kind) for number, line in enumerate(text.splitlines(), 1) if (kind := _kind(line))]


def refuse_secrets(values: Mapping[str, JsonValue]) -> None:
    """Raise SecretFound that names the first field with one, wherever it is nested."""
    for field, text in _texts(values):
        hits = find_secrets(text)
        if hits:
            where = field if len(text.splitlines()) < 2 else f"{field}, line {hits[0].line}"
            raise SecretFound(
                f"{where} holds what looks like {hits[0].kind}.",
                fix="Leave it out: secrets belong to connections (postroom connection add) or the environment.",
            )


def _texts(value: JsonValue | Mapping[str, JsonValue], field: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield field or "the text", value
        case Mapping():
            for name, inside in value.items():
                yield from _texts(inside, f"{field}.{name}" if field else name)
                yield from ((f"a name in {field or 'the input'}", name) for _ in (1,))
        case list():
            for number, inside in enumerate(value):
                yield from _texts(inside, f"{field}.{number}")
        case _:
            return


def _kind(line: str) -> str:
    for kind, shape in SHAPES.items():
        if any(not _STAND_IN.search(found[0]) for found in shape.finditer(line)):
            return kind
    if any(
        not _STAND_IN.search(found[1]) and not found[1].startswith(("<", "$", "{")) for found in _IN_URL.finditer(line)
    ):
        return "an address with a password"
    if any(_assigned(found[1]) for found in _ASSIGNED.finditer(line)):
        return "a password or a key"
    if "base64," not in line and any(_random(found[0]) for found in _WORD.finditer(line)):
        return "a key"
    return ""


def _assigned(value: str) -> bool:
    """Whether what stands after `password:` is one, and not a word about it."""
    kinds = sum(bool(re.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]", r"[^\w\s]"))
    plain = value.rstrip(".)]")
    path = "/" in plain or plain.count("_") > 1 or (plain.isidentifier() and plain.isupper())
    return kinds >= 2 and bool(re.search(r"\d", plain)) and not path and not _STAND_IN.search(plain)


def _random(word: str) -> bool:
    counts = [sum(map(test, word)) for test in (str.isupper, str.islower, str.isdigit)]
    if min(counts) < MIXED or _STAND_IN.search(word):
        return False
    if max(len(part) for part in re.split(r"[/_-]", word)) < 20:
        return False
    return _entropy(word) >= BITS


def _entropy(word: str) -> float:
    return -sum(n / len(word) * math.log2(n / len(word)) for n in Counter(word).values())
