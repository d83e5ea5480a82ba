"""What a user can be told to do, as the control API takes it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from channels.rehearsal.server import Unsayable

Kind = Literal["dm", "group", "supergroup", "forum", "channel"]
Media = Literal["photo", "document", "voice", "audio", "video", "sticker", "animation", "video_note"]
Standing = Literal["member", "administrator", "left", "kicked"]
Json = dict[str, Any]


class File(BaseModel):
    """A file that a user sends; its bytes in base64."""

    model_config = ConfigDict(extra="forbid")

    kind: Media = "document"
    name: str = ""
    base64: str = ""
    media_type: str = ""


class Act(BaseModel):
    """One thing that a user does; text by default, in the private chat with the bot.

    `user` is a name, `chat` a name or an id, `kind` what a new chat is. Files go as an album when there are several.
    `press` is the label or the data of a button, `message` says under which message; `react` to the message `to` with
    an emoji, or with "" to take it back; `edit` a message into `text`. `migrate` makes a group a supergroup. `bar` lets
    every call for the chat fail with these words, "" ends it; `member` is what the bot becomes in the chat. `joins` and
    `leaves` are the user's own. `anonymous` is an administrator who writes as the group; `as_bot` makes the user a bot.
    """

    model_config = ConfigDict(extra="forbid")

    text: str = ""
    user: str = Field(default="you", min_length=1)
    chat: str | int | None = None
    kind: Kind | None = None
    reply_to: str | int | None = None
    thread: int | None = Field(default=None, gt=0)
    files: list[File] = []
    entities: list[Json] = []
    location: Json | None = None
    contact: Json | None = None
    venue: Json | None = None
    poll: Json | None = None
    dice: Json | None = None
    press: str | None = None
    message: str | int | None = None
    react: str | None = None
    to: str | int | None = None
    edit: str | int | None = None
    migrate: bool = False
    bar: str | None = None
    member: Standing | None = None
    joins: bool = False
    leaves: bool = False
    anonymous: bool = False
    as_bot: bool = False


def read(request: Json) -> Act:
    """What the request asks for. Raises Unsayable."""
    try:
        return Act.model_validate(request)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}" for e in error.errors())
        raise Unsayable(problems) from None


def number_of(ref: str | int | None) -> int:
    """The message id in a reference, which may name its chat too. Raises Unsayable."""
    number = str(ref).rpartition(":")[2]
    if not number.isdigit():
        raise Unsayable("a message is named by the ref that say or replies gave")
    return int(number)
