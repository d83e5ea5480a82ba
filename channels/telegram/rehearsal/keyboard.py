"""The buttons of a call, checked as the Bot API server, and then Telegram's, checks them."""

from __future__ import annotations

from typing import Any

from channels.telegram.rehearsal.entities.links import checked
from channels.telegram.rehearsal.errors import ApiError, bad_request
from channels.telegram.rehearsal.params import Json, field_of, unpacked

CALLBACK_MAX = 64
"""Bytes of a button's data, from the Bot API's documentation."""

ROW_MAX, BUTTONS_MAX = 12, 300
"""Buttons that are kept in a row and in all."""

ACTIONS = {
    "url": str, "callback_data": str, "callback_game": dict, "pay": bool, "switch_inline_query": str,
    "switch_inline_query_chosen_chat": dict, "switch_inline_query_current_chat": str, "login_url": dict,
    "web_app": dict, "copy_text": dict,
}  # fmt: skip


def keyboard(params: Json) -> Json | None:
    """The reply markup of a call, or None. Raises ApiError."""
    markup = unpacked(params, "reply_markup", "can't parse reply keyboard markup JSON object")
    if markup is None or markup == "":
        return None
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    rows = field_of(markup, "keyboard", list, _complaint)
    if rows:
        return {**markup, "keyboard": [[_plain(button) for button in row] for row in rows]}
    rows = field_of(markup, "inline_keyboard", list, _complaint)
    if not rows:
        return markup if markup.get("remove_keyboard") or markup.get("force_reply") else None
    if not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    return _kept([[_button(button) for button in row] for row in rows])


def check_data(markup: Json | None) -> None:
    """What only Telegram's own servers refuse, after all else was found right. Raises ApiError."""
    for row in (markup or {}).get("inline_keyboard", []):
        for button in row:
            if len(button.get("callback_data", "").encode()) > CALLBACK_MAX:
                raise bad_request("BUTTON_DATA_INVALID")


def inline(markup: Json | None) -> Json:
    """The field that a message shows of its markup: inline buttons only."""
    return {"reply_markup": markup} if markup and "inline_keyboard" in markup else {}


def shown(markup: Json | None) -> list[Json]:
    """The buttons in a row, as a person sees them."""
    rows = (markup or {}).get("inline_keyboard") or (markup or {}).get("keyboard") or []
    buttons = [button for row in rows for button in row]
    return [
        {"text": b["text"], **({"url": b["url"]} if "url" in b else {"data": b.get("callback_data", "")})}
        for b in buttons
    ]


def _kept(rows: list[list[Json]]) -> Json | None:
    """Buttons without a text are left out, and so are those beyond what fits."""
    kept: list[list[Json]] = []
    left = BUTTONS_MAX
    for row in rows:
        some = [button for button in row if button["text"]][: min(ROW_MAX, left)]
        left -= len(some)
        if some:
            kept.append(some)
    return {"inline_keyboard": kept} if kept else None


def _button(button: Any) -> Json:
    if not isinstance(button, dict):
        raise _unreadable("InlineKeyboardButton must be an Object")
    text = field_of(button, "text", str, _unreadable, required=True)
    for name, kind in ACTIONS.items():
        value = field_of(button, name, kind, _unreadable)
        if value or (value is not None and name.startswith(("switch", "callback_game"))):
            if name == "url":
                value = _address(value)
            return {"text": text, name: value}
    raise _unreadable("Text buttons are unallowed in the inline keyboard")


def _address(url: str) -> str:
    address = checked(url)
    if not address:
        raise bad_request(f"inline keyboard button URL '{url}' is invalid: Wrong HTTP URL")
    return address


def _plain(button: Any) -> Json:
    if isinstance(button, str):
        return {"text": button}
    if not isinstance(button, dict):
        raise bad_request("can't parse keyboard button: KeyboardButton must be a String or an Object")
    field_of(button, "text", str, lambda words: bad_request(f"can't parse keyboard button: {words}"), required=True)
    return button


def _unreadable(problem: str) -> ApiError:
    return bad_request(f"can't parse inline keyboard button: {problem}")


def _complaint(problem: str) -> ApiError:
    return bad_request(problem[0].lower() + problem[1:])
