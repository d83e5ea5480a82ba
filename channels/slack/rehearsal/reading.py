"""What a person reads of a message, and whom it pings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_PING = re.compile(r"<(?:!(?:channel|here|everyone)|!subteam\^S\w+|@[UW]\w+|#C\w+)(?:\|[^>]*)?>")
_WORD_PING = re.compile(r"(?<!\w)@(?:channel|here|everyone)\b")
_CODE = re.compile(r"(?:^|(?<=\n))(`{3,})[^`\n]*\n.*?\n\1`*(?=\n|$)|(`+)(?!`).*?(?<!`)\2(?!`)", re.DOTALL)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def read(text: str, blocks: list[Json]) -> str:
    """The text a person sees: that of the blocks where they have any, else `text`."""
    seen = [part for block in blocks if (part := _block(block))]
    return "\n".join(seen) if seen else unescaped(text)


def pings(params: Json, text: str, blocks: list[Json]) -> list[str]:
    """Every live ping in a message, as it was written."""
    written = [text, *_strings(blocks)]
    found = [match[0] for part in written for match in _PING.finditer(part)]
    if params.get("link_names") in (True, 1, "1", "true") or params.get("parse") == "full":
        found += _WORD_PING.findall(text)
    return found + list(_rich(blocks))


def unescaped(text: str) -> str:
    """Text without Slack's three escapes."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def escaped(text: str) -> str:
    """Text with Slack's three escapes."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _block(block: Json) -> str:
    match block["type"]:
        case "markdown":
            return _markdown(str(block["text"]))
        case "section":
            texts = [block["text"]] if "text" in block else []
            return "\n".join(_text(one) for one in [*texts, *block.get("fields", [])])
        case "header":
            return _text(block["text"])
        case "context":
            return " ".join(_text(one) for one in block["elements"] if "text" in one)
        case "rich_text":
            return "".join(str(one["text"]) for one in _walk(block) if one.get("type") == "text")
        case _:
            return ""


def _text(one: Json) -> str:
    return unescaped(str(one["text"])) if one["type"] == "mrkdwn" else str(one["text"])


def _markdown(text: str) -> str:
    """Markdown without its backslashes, which mean themselves in code only, and without Slack's escapes."""
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(text):
        parts += [_ESCAPED.sub(r"\1", text[at : code.start()]), code[0]]
        at = code.end()
    return unescaped("".join([*parts, _ESCAPED.sub(r"\1", text[at:])]))


def _strings(value: Any) -> Iterator[str]:
    """Every text that Slack reads its tokens in: not the plain ones."""
    for one in _walk(value):
        if one.get("type") in ("mrkdwn", "markdown"):
            yield str(one.get("text", ""))


def _rich(blocks: list[Json]) -> Iterator[str]:
    for block in blocks:
        if block.get("type") == "rich_text":
            for one in _walk(block):
                match one.get("type"):
                    case "user":
                        yield f"<@{one.get('user_id')}>"
                    case "broadcast":
                        yield f"<!{one.get('range')}>"
                    case "channel":
                        yield f"<#{one.get('channel_id')}>"
                    case "usergroup":
                        yield f"<!subteam^{one.get('usergroup_id')}>"


def _walk(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner)
