"""A model provider on loopback that answers from a script: OpenAI's /chat/completions and Anthropic's /v1/messages.

    async with ScriptedModel(["Hello.", Reply(calls=(("read", {"path": "a.md"}),)), Reply(status=429)]) as model:
        env = model.env            # OPENAI_BASE_URL, ANTHROPIC_BASE_URL and keys
        ...
        model.requests[0].body     # what the client really sent

The script is a list, used up in order, or a function of the request.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from aiohttp import web

Json = dict[str, Any]
SECRET = "sk-scripted-secret-key"


@dataclass(frozen=True)
class Reply:
    """One answer. `calls` are (tool, arguments); arguments given as a string go out as they are, broken or not.

    `status` other than 200 answers with the provider's error body, `headers` beside it; `delay` waits first, seconds;
    `drop` closes the connection without an answer; `raw` is sent as the body.
    """

    text: str = ""
    calls: tuple[tuple[str, Json | str], ...] = ()
    finish: str = ""
    tokens: tuple[int, int] = (100, 10)
    status: int = 200
    code: str = ""
    message: str = f"Something is wrong with {SECRET}."
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    raw: str | None = None


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: Json
    size: int

    @property
    def system(self) -> str:
        """The system prompt."""
        if "system" in self.body:
            system = self.body["system"]
            return system if isinstance(system, str) else "".join(block["text"] for block in system)
        return "\n".join(m["content"] for m in self.body["messages"] if m["role"] in {"system", "developer"})

    @property
    def tools(self) -> list[str]:
        """The names of the tools that were offered."""
        return [tool.get("function", tool)["name"] for tool in self.body.get("tools", [])]

    @property
    def said(self) -> list[tuple[str, str]]:
        """(role, text) of everything after the system prompt; a tool's result has the role "tool"."""
        lines: list[tuple[str, str]] = []
        for message in self.body["messages"]:
            content = message.get("content") or ""
            if message["role"] in {"system", "developer"}:
                continue
            if isinstance(content, str):
                lines.append((message["role"], content))
                continue
            for block in content:
                if block["type"] == "tool_result":
                    inner = block["content"]
                    lines.append(("tool", inner if isinstance(inner, str) else "".join(b["text"] for b in inner)))
                elif block["type"] == "text":
                    lines.append((message["role"], block["text"]))
        return lines

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.said[-1][1]


Script = Sequence[Reply | str] | Callable[[Asked], Reply | str | Awaitable[Reply | str]]


class ScriptedModel:
    """The server; an async context manager. `requests` holds what came in, in order."""

    def __init__(self, script: Script) -> None:
        self.requests: list[Asked] = []
        self.arrived = asyncio.Event()
        self._script = script if callable(script) else list(script)
        self._runner: web.AppRunner | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The base URL as OPENAI_BASE_URL takes it."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def env(self) -> dict[str, str]:
        """The variables that lead both providers' clients here."""
        return {
            "OPENAI_BASE_URL": self.url,
            "OPENAI_API_KEY": SECRET,
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self._port}",
            "ANTHROPIC_API_KEY": SECRET,
        }

    async def __aenter__(self) -> ScriptedModel:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/messages", self._messages)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        reply = await self._next(request)
        error = {"error": {"message": reply.message, "type": "error", "code": reply.code or None}}
        message: Json = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{len(self.requests)}_{n}",
                    "type": "function",
                    "function": {"name": name, "arguments": args if isinstance(args, str) else json.dumps(args)},
                }
                for n, (name, args) in enumerate(reply.calls)
            ]
        completion = {
            "id": f"chat-{len(self.requests)}",
            "object": "chat.completion",
            "created": 1,
            "model": self.requests[-1].body["model"],
            "choices": [
                {
                    "index": 0,
                    "message": message,
                    "finish_reason": reply.finish or ("tool_calls" if reply.calls else "stop"),
                }
            ],
            "usage": {
                "prompt_tokens": reply.tokens[0],
                "completion_tokens": reply.tokens[1],
                "total_tokens": sum(reply.tokens),
            },
        }
        return await self._answer(request, reply, completion if reply.status == 200 else error)

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        reply = await self._next(request)
        error = {"type": "error", "error": {"type": reply.code or "api_error", "message": reply.message}}
        content: list[Json] = [{"type": "text", "text": reply.text}] if reply.text else []
        content += [
            {"type": "tool_use", "id": f"toolu_{len(self.requests)}_{n}", "name": name, "input": args}
            for n, (name, args) in enumerate(reply.calls)
        ]
        message = {
            "id": f"msg-{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": self.requests[-1].body["model"],
            "content": content,
            "stop_reason": reply.finish or ("tool_use" if reply.calls else "end_turn"),
            "stop_sequence": None,
            "usage": {"input_tokens": reply.tokens[0], "output_tokens": reply.tokens[1]},
        }
        return await self._answer(request, reply, message if reply.status == 200 else error)

    async def _next(self, request: web.Request) -> Reply:
        data = await request.read()
        asked = Asked(request.path, dict(request.headers), json.loads(data), len(data))
        self.requests.append(asked)
        self.arrived.set()
        if callable(self._script):
            said = self._script(asked)
            reply = said if isinstance(said, (str, Reply)) else await said
        else:
            reply = self._script.pop(0) if self._script else Reply(status=400, message="The script is used up.")
        return Reply(text=reply) if isinstance(reply, str) else reply

    async def _answer(self, request: web.Request, reply: Reply, body: Json) -> web.StreamResponse:
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.drop:
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if reply.raw is not None:
            return web.Response(body=reply.raw.encode(), content_type="application/json", status=reply.status)
        return web.json_response(body, status=reply.status, headers=reply.headers)
