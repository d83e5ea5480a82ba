"""Pictures of the console for the docs: `make screenshots` starts a demo, says a few things, and takes them."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from channels.rehearsal import RehearsalClient
from tests.e2e.test_console import a_demo
from tests.support.browser import a_browser
from tests.support.gateway import Home

OUT = Path("docs/images")
SIZE = {"width": 1100, "height": 720}
QUESTIONS = ("When are you open?", "How much is delivery?", "Where can I find you?")


async def main() -> None:
    """Take them all."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        async with a_demo(Home(Path(folder))) as demo, a_browser() as browser:
            for channel, url in demo.controls.items():
                async with RehearsalClient(url) as phone:
                    for question in QUESTIONS[: 1 + len(channel) % 3]:
                        await phone.ask(question, user="dana")
            page = await demo.enter(browser, viewport=SIZE)
            for channel in demo.controls:
                await page.goto(f"{demo.url}/console/phones")
                await page.get_by_label(f"Write on {channel}").fill(QUESTIONS[0])
                await page.get_by_label(f"Write on {channel}").press("Enter")
            key = next(c["key"] for c in await demo.home.json("conversation", "list") if c["channel"] == "sms")
            for name, path in {
                "now": "now",
                "conversations": "conversations",
                "conversation": f"conversation?key={key}",
                "agents": "agents",
                "agent": "agents/front-desk",
                "routes": "routes",
                "connections": "connections",
                "phones": "phones",
                "health": "health",
            }.items():
                await page.goto(f"{demo.url}/console/{path}")
                await page.wait_for_timeout(1500)  # for the live part
                await page.screenshot(path=OUT / f"console-{name}.png")
            await page.goto(f"{demo.url}/console/routes?connection=sms&agent=builder")
            await page.get_by_role("button", name="Show what would happen").click()
            await page.screenshot(path=OUT / "console-sheet.png")


if __name__ == "__main__":
    asyncio.run(main())
