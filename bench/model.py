"""A model that answers at once, or after so many seconds: the benchmark's far end, chat completions on loopback."""

from __future__ import annotations

import asyncio
import sys

from aiohttp import web

DELAY = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "instant",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "We open at nine."}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}


async def complete(_request: web.Request) -> web.Response:
    """The same short answer to everything."""
    await asyncio.sleep(DELAY)
    return web.json_response(ANSWER)


if __name__ == "__main__":
    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)
