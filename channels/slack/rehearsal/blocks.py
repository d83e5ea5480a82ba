"""What Slack checks in the blocks of a message."""

from __future__ import annotations

import json
from typing import Any

from channels.slack.rehearsal.errors import ApiError

Json = dict[str, Any]

BLOCKS_MAX, ELEMENTS_MAX, CONTEXT_MAX, FIELDS_MAX, ID_MAX = 50, 25, 10, 10, 255
SECTION_MAX, FIELD_MAX, HEADER_MAX, BUTTON_MAX, VALUE_MAX, URL_MAX = 3000, 2000, 150, 75, 2000, 3000
MARKDOWN_MAX = 12_000
"""Characters of all `markdown` blocks of one message together."""

PAYLOAD_MAX = 13_200
"""Characters of the blocks as JSON from about which Slack was seen to refuse."""

_UNCHECKED = {"divider", "rich_text", "video", "table", "context_actions"}
_ELEMENTS = {
    "button", "checkboxes", "datepicker", "datetimepicker", "overflow", "radio_buttons", "static_select",
    "external_select", "users_select", "conversations_select", "channels_select", "multi_static_select",
    "multi_external_select", "multi_users_select", "multi_conversations_select", "multi_channels_select",
    "timepicker", "workflow_button",
}  # fmt: skip


def checked(given: Any) -> list[Json]:
    """The blocks of a call. Raises ApiError `invalid_blocks_format`, `invalid_blocks` or `msg_blocks_too_long`."""
    if isinstance(given, str):
        try:
            given = json.loads(given or "[]")
        except ValueError:
            raise ApiError("invalid_blocks_format") from None
    if not isinstance(given, list) or not all(isinstance(block, dict) for block in given):
        raise ApiError("invalid_blocks_format")
    check = _Check()
    check.blocks(given)
    if check.complaints:
        messages = [f"[ERROR] {words} [json-pointer:{where}]" for where, words in check.complaints]
        raise ApiError("invalid_blocks", errors=[m[8:] for m in messages], response_metadata={"messages": messages})
    if len(json.dumps(given, ensure_ascii=False, separators=(",", ":"))) > PAYLOAD_MAX:
        raise ApiError("msg_blocks_too_long")
    return given


def buttons(blocks: list[Json]) -> list[Json]:
    """The buttons a person can press, each with the block it is in."""
    found: list[Json] = []
    for block in blocks:
        inside = block.get("elements", []) if block["type"] == "actions" else [block.get("accessory") or {}]
        found += [{**one, "block_id": block.get("block_id", "")} for one in inside if one.get("type") == "button"]
    return found


class _Check:
    """Gathers every complaint, each with the place it is about."""

    def __init__(self) -> None:
        self.complaints: list[tuple[str, str]] = []

    def blocks(self, blocks: list[Json]) -> None:
        if len(blocks) > BLOCKS_MAX:
            self._complain("/blocks", f"no more than {BLOCKS_MAX} items allowed")
        ids = [block["block_id"] for block in blocks if "block_id" in block]
        for at, block in enumerate(blocks):
            where = f"/blocks/{at}"
            if "block_id" in block:
                self._text(block, "block_id", f"{where}", ID_MAX)
                if ids.count(block["block_id"]) > 1:
                    self._complain(f"{where}/block_id", f"`block_id` must be unique: {block['block_id']}")
            self._block(block, where)
        markdown = [str(block.get("text", "")) for block in blocks if block.get("type") == "markdown"]
        if sum(map(len, markdown)) > MARKDOWN_MAX:
            self._complain("/blocks", f"markdown blocks must have less than {MARKDOWN_MAX + 1} characters in all")

    def _block(self, block: Json, where: str) -> None:
        match block.get("type"):
            case "section":
                self._section(block, where)
            case "markdown":
                self._text(block, "text", where, MARKDOWN_MAX)
            case "header":
                self._object(block.get("text"), f"{where}/text", HEADER_MAX, ("plain_text",))
            case "actions":
                self._actions(block, where)
            case "context":
                for at, one in self._items(block, "elements", where, CONTEXT_MAX):
                    if one.get("type") != "image":
                        self._object(one, f"{where}/elements/{at}", SECTION_MAX)
            case "image":
                self._text(block, "alt_text", where, FIELD_MAX)
                if "slack_file" not in block:
                    self._text(block, "image_url", where, URL_MAX)
            case None:
                self._complain(where, "missing required field: type")
            case kind if kind not in _UNCHECKED:
                self._complain(f"{where}/type", f"unsupported type: {kind}")

    def _section(self, block: Json, where: str) -> None:
        if "text" not in block and "fields" not in block:
            self._complain(where, "must define either `text` or `fields`")
        if "text" in block:
            self._object(block["text"], f"{where}/text", SECTION_MAX)
        if "fields" in block:
            for at, one in self._items(block, "fields", where, FIELDS_MAX):
                self._object(one, f"{where}/fields/{at}", FIELD_MAX)
        if "accessory" in block:
            self._element(block["accessory"], f"{where}/accessory")

    def _actions(self, block: Json, where: str) -> None:
        seen: set[str] = set()
        for at, one in self._items(block, "elements", where, ELEMENTS_MAX):
            place = f"{where}/elements/{at}"
            self._element(one, place)
            name = str(one.get("action_id", ""))
            if name and name in seen:
                self._complain(f"{place}/action_id", f"`action_id` `{name}` already exists in this block")
            seen.add(name)

    def _element(self, one: Any, where: str) -> None:
        if not isinstance(one, dict) or one.get("type") not in _ELEMENTS | {"image"}:
            self._complain(f"{where}/type", f"unsupported type: {one.get('type') if isinstance(one, dict) else one}")
        elif one["type"] == "button":
            self._object(one.get("text"), f"{where}/text", BUTTON_MAX, ("plain_text",))
            for name, limit in (("action_id", ID_MAX), ("value", VALUE_MAX), ("url", URL_MAX)):
                if name in one:
                    self._text(one, name, where, limit)
            if one.get("style", "primary") not in ("primary", "danger"):
                self._complain(f"{where}/style", "must be one of: primary, danger")

    def _object(self, text: Any, where: str, limit: int, kinds: tuple[str, ...] = ("plain_text", "mrkdwn")) -> None:
        if not isinstance(text, dict):
            self._complain(where, "must provide an object")
        elif text.get("type") not in kinds:
            self._complain(f"{where}/type", f"must be one of: {', '.join(kinds)}")
        else:
            self._text(text, "text", where, limit)

    def _text(self, holder: Json, name: str, where: str, limit: int) -> None:
        value = holder.get(name)
        if value is None:
            self._complain(where, f"missing required field: {name}")
        elif not isinstance(value, str):
            self._complain(f"{where}/{name}", "must provide a string")
        elif not value:
            self._complain(f"{where}/{name}", "must be more than 0 characters")
        elif len(value) > limit:
            self._complain(f"{where}/{name}", f"must be less than {limit + 1} characters")

    def _items(self, block: Json, name: str, where: str, limit: int) -> list[tuple[int, Json]]:
        items = block.get(name)
        if not isinstance(items, list) or not items:
            self._complain(f"{where}/{name}", "no fewer than 1 items allowed")
            return []
        if len(items) > limit:
            self._complain(f"{where}/{name}", f"no more than {limit} items allowed")
        if not all(isinstance(item, dict) for item in items):
            self._complain(f"{where}/{name}", "must provide objects")
            return []
        return list(enumerate(items))

    def _complain(self, where: str, words: str) -> None:
        self.complaints.append((where, words))
