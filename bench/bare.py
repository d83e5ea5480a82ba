"""The baseline: poll, ask the model, send. The same client libraries, and nothing that makes it safe."""

from __future__ import annotations

import asyncio
import sys

import uvloop
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from telegram import Bot, Update
from telegram.request import HTTPXRequest


async def main(base_url: str, token: str, model_url: str) -> None:
    """Answer every text message, conversations side by side, until killed."""
    model = OpenAIChatModel("instant", provider=OpenAIProvider(base_url=model_url, api_key="bench"))
    agent = Agent(model, instructions="You are a front desk.")
    pool = HTTPXRequest(connection_pool_size=64)
    async with Bot(token, base_url=base_url, request=pool, get_updates_request=HTTPXRequest()) as bot:

        async def answer(update: Update) -> None:
            if update.message is not None and update.message.text:
                result = await agent.run(update.message.text)
                await bot.send_message(update.message.chat.id, result.output)

        offset, tasks = 0, set[asyncio.Task[None]]()
        while True:
            for update in await bot.get_updates(offset=offset, timeout=30, allowed_updates=["message"]):
                offset = update.update_id + 1
                task = asyncio.create_task(answer(update))
                tasks.add(task)
                task.add_done_callback(tasks.discard)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:4]))
