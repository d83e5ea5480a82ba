"""Files that the bot fetches."""

from __future__ import annotations

from channels.telegram.rehearsal.errors import bad_request
from channels.telegram.rehearsal.methods.bot import Bot, Json, Method

DOWNLOAD_MAX = 20 * 1024 * 1024
"""Bytes of a file that a bot may fetch, from the Bot API's documentation."""


async def get_file(bot: Bot, params: Json) -> Json:
    """Where to fetch a file that is not too large for a bot."""
    file_id = str(params.get("file_id", ""))
    if not file_id:
        raise bad_request("file_id not specified")
    if file_id not in bot.world.files:
        raise bad_request("invalid file_id")
    if len(bot.world.files[file_id][1]) > DOWNLOAD_MAX:
        raise bad_request("file is too big")
    return {**bot.world.file(file_id), "file_path": bot.world.path(file_id)}


METHODS: dict[str, Method] = {"getFile": get_file}
