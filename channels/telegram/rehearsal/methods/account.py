"""The bot itself, and its commands."""

from __future__ import annotations

from typing import Any

from channels.telegram.rehearsal.errors import ApiError, bad_request
from channels.telegram.rehearsal.methods.bot import Bot, Json, Method
from channels.telegram.rehearsal.params import field_of, unpacked

COMMANDS_MAX, COMMAND_MAX, DESCRIPTION_MAX = 100, 32, 256


async def get_me(bot: Bot, _params: Json) -> Json:
    """Who the token says."""
    return bot.world.me


async def set_my_commands(bot: Bot, params: Json) -> bool:
    """Checked and kept; scopes and languages make no difference here."""
    given = unpacked(params, "commands", "can't parse commands JSON object")
    if given is None:
        given = []
    if not isinstance(given, list):
        raise bad_request("expected an Array of BotCommand")
    commands = [_command(command) for command in given]
    if len(commands) > COMMANDS_MAX:
        raise bad_request("BOT_COMMANDS_TOO_MUCH")
    bot.world.commands = commands
    return True


async def get_my_commands(bot: Bot, _params: Json) -> list[Json]:
    """What was set last."""
    return bot.world.commands


async def delete_my_commands(bot: Bot, _params: Json) -> bool:
    """None from now on."""
    bot.world.commands = []
    return True


def _command(given: Any) -> Json:
    if not isinstance(given, dict):
        raise _unreadable("expected an Object")
    command = field_of(given, "command", str, _unreadable, required=True).strip().removeprefix("/")
    description = field_of(given, "description", str, _unreadable, required=True).strip()
    if not command:
        raise bad_request("command must be non-empty")
    if len(command) > COMMAND_MAX:
        raise bad_request(f"command length must not exceed {COMMAND_MAX}")
    if not description:
        raise bad_request("command description must be non-empty")
    if len(description) > DESCRIPTION_MAX:
        raise bad_request(f"command description length must not exceed {DESCRIPTION_MAX}")
    if not all(c == "_" or c.isdigit() or "a" <= c <= "z" for c in command):
        raise bad_request("BOT_COMMAND_INVALID")
    return {"command": command, "description": description}


def _unreadable(problem: str) -> ApiError:
    return bad_request(f"can't parse BotCommand: {problem}")


METHODS: dict[str, Method] = {
    "getMe": get_me,
    "setMyCommands": set_my_commands,
    "getMyCommands": get_my_commands,
    "deleteMyCommands": delete_my_commands,
}
