"""A strict reader of Telegram's HTML, after the Bot API's formatting options: what they don't document is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

TAGS = {"b", "i", "u", "s", "a", "code", "pre", "blockquote"}
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}

_TOKEN = re.compile(
    r"<(/?)([a-z]+)((?:\s+[a-z-]+=\"[^\"<>]*\")*)>|&(#\d+|#x[0-9a-fA-F]+|[a-z]+);|([^<>&]+)|(.)", re.DOTALL
)
_ATTRIBUTE = re.compile(r'\s+([a-z-]+)="([^"]*)"')


class ParseError(Exception):
    """Telegram would answer `can't parse entities`."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A stretch of the text in UTF-16 units."""

    kind: str
    offset: int
    length: int
    value: str = ""


def read(html: str) -> tuple[str, list[Entity]]:
    """The text and its entities. Raises ParseError for markup that isn't allowed, unbalanced, or wrongly nested."""
    text: list[str] = []
    units = 0
    open_tags: list[tuple[str, int, str]] = []
    entities: list[Entity] = []
    for match in _TOKEN.finditer(html):
        closing, tag, attributes, reference, plain, stray = match.groups()
        if stray:
            raise ParseError(f"stray {stray!r} at {match.start()} of {html!r}")
        if tag is None:
            piece = plain if plain is not None else _decoded(reference)
            text.append(piece)
            units += len(piece.encode("utf-16-le")) // 2
        elif not closing:
            value = _checked(tag, attributes, [name for name, _, _ in open_tags])
            open_tags.append((tag, units, value))
        else:
            if not open_tags or open_tags[-1][0] != tag:
                raise ParseError(f"unexpected </{tag}> in {html!r}")
            _, offset, value = open_tags.pop()
            if not (tag == "code" and open_tags and open_tags[-1][0] == "pre"):
                entities.append(Entity(tag, offset, units - offset, value))
    if open_tags:
        raise ParseError(f"unclosed {open_tags} in {html!r}")
    return "".join(text), entities


def _decoded(reference: str) -> str:
    if reference.startswith("#x"):
        return chr(int(f"0{reference[1:]}", 0))
    if reference.startswith("#"):
        return chr(int(reference[1:]))
    if reference not in NAMED:
        raise ParseError(f"unknown entity &{reference};")
    return NAMED[reference]


def _checked(tag: str, attributes: str, around: list[str]) -> str:
    """The tag's value if it may stand inside those around it."""
    if tag not in TAGS:
        raise ParseError(f"unsupported <{tag}>")
    values = dict(_ATTRIBUTE.findall(attributes))
    language = values.pop("class", "")
    if language and not (tag == "code" and around[-1:] == ["pre"] and re.fullmatch(r"language-\S+", language)):
        raise ParseError(f"class {language!r} on <{tag}>")
    href = values.pop("href", "")
    if values or (tag == "a") != bool(href):
        raise ParseError(f"attributes {attributes!r} on <{tag}>")
    if "pre" in around and not (tag == "code" and around[-1] == "pre" and language):
        raise ParseError(f"<{tag}> inside <pre>")
    if "code" in around or (tag in ("code", "pre") and set(around) - {"blockquote"} - ({"pre"} if language else set())):
        raise ParseError(f"<{tag}> inside {around}")
    if tag in ("a", "blockquote") and tag in around:
        raise ParseError(f"<{tag}> inside <{tag}>")
    if tag in ("blockquote", "pre") and set(around) - {"blockquote"}:
        raise ParseError(f"<{tag}> inside {around}")
    return re.sub(r"&(#\d+|[a-z]+);", lambda match: _decoded(match[1]), href) or language
