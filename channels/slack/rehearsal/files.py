"""Files: uploaded in three steps, and fetched with the bearer token."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from aiohttp import web

from channels.slack.rehearsal.chat import Messages
from channels.slack.rehearsal.errors import ApiError, missing, required
from channels.slack.rehearsal.method import Method, unpacked
from channels.slack.rehearsal.world import File, World

Json = dict[str, Any]

_LOGIN = "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in to your workspace</body></html>"


class Files:
    """`files.*`, the address that takes the bytes and the one that gives them."""

    def __init__(self, world: World, messages: Messages, url: Callable[[], str]) -> None:
        self._world = world
        self._messages = messages
        self._url = url
        self._waiting: dict[str, File] = {}

    def methods(self) -> dict[str, Method]:
        """By name."""
        return {
            "files.getUploadURLExternal": Method(self.start, "files:write", form=True),
            "files.completeUploadExternal": Method(self.complete, "files:write"),
            "files.info": Method(self.info, "files:read", form=True),
        }

    async def start(self, params: Json) -> Json:
        """files.getUploadURLExternal: where the bytes go."""
        name, length = required(params, "filename", "length")
        if not length.isdigit() or int(length) < 1:
            raise ApiError("invalid_arguments", response_metadata={"messages": ["[ERROR] `length` must be positive"]})
        file = self._world.keep_file(self._url(), name, user=self._world.bot)
        file.length = int(length)
        ticket = secrets.token_urlsafe(12)
        self._waiting[ticket] = file
        return {"upload_url": f"{self._url()}/upload/v1/{ticket}", "file_id": file.info["id"]}

    def expects(self, ticket: str) -> bool:
        """Whether an upload address is of this workspace."""
        return ticket in self._waiting

    async def upload(self, request: web.Request) -> web.Response:
        """The bytes, as they are or as a form's file; as many as were announced."""
        file = self._waiting.get(request.match_info["ticket"])
        if file is None:
            return web.Response(status=404, text="Not Found")
        if request.content_type == "multipart/form-data":
            fields = [one for one in (await request.post()).values() if isinstance(one, web.FileField)]
            content = fields[0].file.read() if fields else b""
        else:
            content = await request.read()
        if len(content) != file.length:
            return web.Response(status=400, text="Bad Request: not the announced length")
        file.content, file.uploaded = content, True
        file.info["size"] = len(content)
        del self._waiting[request.match_info["ticket"]]
        return web.Response(text=f"OK - {len(content)}")

    async def complete(self, params: Json) -> Json:
        """files.completeUploadExternal: the files appear, in a conversation if one is named."""
        named = unpacked(params.get("files"))
        if not isinstance(named, list) or not named:
            raise missing("files")
        found = [self._uploaded(one) for one in named]
        channels = str(params.get("channels") or params.get("channel_id") or "")
        for channel in filter(None, channels.split(",")):
            chat = self._messages.writable({"channel": channel})
            thread = self._messages.thread(params["thread_ts"]) if params.get("thread_ts") else {}
            shared = {"text": str(params.get("initial_comment") or ""), "files": [file.info for file in found]}
            await self._messages.say(
                chat, {**shared, **thread, "subtype": "file_share", "upload": True}, "files.completeUploadExternal"
            )
        for file in found:
            file.complete = True
        return {"files": [{"id": file.info["id"], "title": file.info["title"]} for file in found]}

    async def info(self, params: Json) -> Json:
        """files.info."""
        (file_id,) = required(params, "file")
        file = self._world.files.get(file_id)
        if file is None or not file.complete:
            raise ApiError("file_not_found")
        return {"file": file.info, "comments": [], "response_metadata": {"next_cursor": ""}}

    def fetch(self, file_id: str, *, allowed: bool) -> web.Response:
        """`url_private`: a login page, with status 200, for whoever may not see it."""
        if not allowed:
            return web.Response(text=_LOGIN, content_type="text/html")
        file = self._world.files.get(file_id)
        if file is None or not file.complete:
            return web.Response(status=404, text="Not Found")
        return web.Response(body=file.content, content_type=file.info["mimetype"])

    def _uploaded(self, one: Any) -> File:
        file = self._world.files.get(str(one.get("id") if isinstance(one, dict) else one))
        if file is None or not file.uploaded or file.complete:
            raise ApiError("file_not_found")
        if isinstance(one, dict) and one.get("title"):
            file.info["title"] = str(one["title"])
        return file
