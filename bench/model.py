"""A model that answers at once: the far end of the benchmark, OpenAI's chat completions on loopback."""

from __future__ import annotations

import sys

from aiohttp import web

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
    return web.json_response(ANSWER)


if __name__ == "__main__":
    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)
