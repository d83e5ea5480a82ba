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
from itertools import pairwise

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
        "a SendGrid key": r"\bSG\.[\w-]{16,64}\.[\w-]{16,}",
        "an access token": r"\b(?:npm|hf)_[A-Za-z0-9]{30,}|\bpypi-[\w-]{40,}",
        "a JSON web token": r"\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,2000}\.[\w-]{10,}",
        "a private key": r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
    }.items()
}

_IN_URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]{1,100}:([^\s/:@]{3,200})@", re.IGNORECASE)

_WORDS_FOR_IT = (
    r"password|passwd|pwd|passphrase|passcode|passwort|kennwort|contraseña|senha|пароль|密码|密碼|パスワード"
)
_ASSIGNED = re.compile(
    rf"(?<![^\W_])(?:\w{{0,40}}(?P<password>{_WORDS_FOR_IT})"
    r"|\w{0,40}(?:secret|token|(?:api|access|private|auth|signing|encryption)[\s_-]?key))"
    r"""["'`]?\s{0,5}(?::|：|=|\bis\b)\s{0,5}["'`]?(?P<value>[^\s"'`,;<>{}$]{6,300})""",
    re.IGNORECASE,
)
"""A name for a secret, and what is said to be its value."""

_BARE = re.compile(
    r"""^[\s>*+-]*["'`*]*(?:password|passwd|pwd|passphrase)["'`*]*\s*[:=]"""
    r"""\s*["'`]?(?P<value>[^\s"'`]{6,100}?)["'`,]*\s*$""",
    re.IGNORECASE,
)
"""A password on a line of its own, which may be a plain word."""

_ABOUT = re.compile(
    r"string|text|required|optional|hidden|missing|wrong|invalid|forgot\w*|reset|secret|unknown|unset|empty|strong|"
    r"password|numeric|integer|boolean|varchar\w*|env\w*|vault\w*|prompt\w*|expired|changed|protected|encrypted|\W+",
    re.IGNORECASE,
)
"""What is said about a password, in its place."""

_CODE = re.compile(r"[A-Za-z_][\w.]*[(\[]|[A-Za-z_]+(?:\.\w+)+$")
"""A call, or the name of something in a module."""

_BEARER = re.compile(r"\b(?:Bearer|Basic)\s+(?P<value>[A-Za-z0-9._~+/-]{16,}={0,2})")

_WORD = re.compile(r"(?<![\w/+.-])[A-Za-z0-9+/_-]{32,64}={0,2}(?![\w/+=-]|\.\w)")

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S+", re.IGNORECASE)

_DIGEST = re.compile(
    r"\b(?:sha-?\d{1,3}|md5|blake\w{0,4}|hash(?:es)?|digest|checksum|integrity|etag|base64)\b", re.IGNORECASE
)
"""Words near what is a digest or an encoded file, and no key."""

_STAND_IN = re.compile(
    r"x{4,}|\*{3,}|\.{3}|…|example|\byour|your[_-]|change[_-]?(?:me|it|this)|placeholder|redacted|dummy|"
    r"\b(?:none|null|undefined|user|pass|password|secret|token)\b",
    re.IGNORECASE,
)
"""What is plainly not the thing itself."""

MIXED = 2
"""Capitals, small letters and digits that a shapeless secret has of each, at least."""

TURNS = 0.4
"""How often the kind of character changes in a shapeless secret, by character; words with capitals: 0.3 and less."""

BITS = 4.2
"""Bits per character of a shapeless secret, at least; 32 random letters and digits have about 4.6."""

KEY_MIN = 8
"""Characters of a token or a key that is named as one, at least; a password may have six."""


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
                # The name first: it is told with what is inside it, and so must be no secret itself.
                yield f"a name in {field or 'the input'}", name
                yield from _texts(inside, f"{field}.{name}" if field else name)
        case list():
            for number, inside in enumerate(value):
                yield from _texts(inside, f"{field}.{number}")
        case _:
            return


def _kind(line: str) -> str:
    for kind, shape in SHAPES.items():
        if any(not _STAND_IN.search(found[0]) for found in shape.finditer(line)):
            return kind
    if any(not _STAND_IN.search(found[1]) and found[1][0] not in "<${" for found in _IN_URL.finditer(line)):
        return "an address with a password"
    if any(_assigned(found) for found in _ASSIGNED.finditer(line)) or any(
        _mixed(found["value"]) for found in _BEARER.finditer(line)
    ):
        return "a password or a key"
    bare = _BARE.match(line)
    if bare and not _ABOUT.fullmatch(bare["value"]) and _is_value(bare["value"]):
        return "a password or a key"
    if not _DIGEST.search(line) and any(_random(found[0]) for found in _WORD.finditer(_ADDRESS.sub(" ", line))):
        return "a key"
    return ""


def _assigned(found: re.Match[str]) -> bool:
    """Whether what stands after `password:` is one, and not a word about it."""
    value = found["value"].rstrip(".)]")
    if len(value) < (6 if found["password"] else KEY_MIN) or not re.search(r"[^\W\d_]", value):
        return False
    return bool(re.search(r"\d", value)) and _is_value(value)


def _is_value(value: str) -> bool:
    """Whether it is neither a stand-in, nor a path, nor the name of a variable or a call."""
    plain = value.rstrip(".)]")
    path = "/" in plain and not _mixed(plain)
    name = plain.isidentifier() and (plain.isupper() or plain.count("_") > 1)
    return not (path or name or _STAND_IN.search(plain) or _CODE.match(plain))


def _mixed(word: str) -> bool:
    """Whether letters and digits are mixed as at random, and enough of them."""
    return len(word) >= 20 and not _STAND_IN.search(word) and _entropy(word) >= 3.5 and min(_kinds(word)) > 1


def _kinds(word: str) -> list[int]:
    return [sum(map(test, word)) for test in (str.isupper, str.islower, str.isdigit)]


def _random(word: str) -> bool:
    if min(_kinds(word)) < MIXED or _STAND_IN.search(word):
        return False
    if max(len(part) for part in re.split(r"[/_-]", word)) < 20:
        return False
    return _entropy(word) >= BITS and _turns(word) >= TURNS


def _turns(word: str) -> float:
    kinds = [1 if char.isupper() else 2 if char.islower() else 3 for char in word if char.isalnum()]
    return sum(a != b for a, b in pairwise(kinds)) / len(word)


def _entropy(word: str) -> float:
    return -sum(n / len(word) * math.log2(n / len(word)) for n in Counter(word).values())
