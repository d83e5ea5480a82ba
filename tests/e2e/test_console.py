"""The console in a real browser: the first run, the phones, takeover, and what a stranger must not be able to do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from channels.rehearsal import RehearsalClient
from channels.telegram.rehearsal import rehearse
from tests.e2e.line import free_port
from tests.support.browser import a_browser
from tests.support.gateway import Home
from tests.support.processes import spawn
from tests.support.scripted_model import Reply, ScriptedModel

PAGES = (
    *("now", "conversations", "agents", "agents/front-desk", "routes", "connections", "connections/add/telegram"),
    *("phones", "letters", "approvals", "health"),
)

EVIL = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


class Demo:
    """`postroom demo` in a process of its own."""

    def __init__(self, home: Home, port: int, controls: dict[str, str]) -> None:
        self.home = home
        self.url = f"http://127.0.0.1:{port}"
        self.controls = controls

    async def link(self, role: str = "owner") -> str:
        """A way in."""
        return (await self.home.ok("console", "link", "--role", role, "--url", self.url)).strip()

    async def enter(self, browser: Browser, role: str = "owner", **how: object) -> Page:
        """A page that is logged in, and fails on any error of its own scripts."""
        page = await (await browser.new_context(**how)).new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: pytest.fail(str(error)))
        page.on("console", lambda m: pytest.fail(m.text) if "Content Security Policy" in m.text else None)
        await page.goto(await self.link(role))
        await page.get_by_role("button", name="Log in").click()
        await page.wait_for_url("**/console/now")
        return page


@asynccontextmanager
async def a_demo(home: Home) -> AsyncIterator[Demo]:
    port = free_port()
    process = await spawn(["demo", "--port", str(port)], home.env, keep_stdout=False)
    written = home.path / "demo/running.json"
    try:
        async with asyncio.timeout(30):
            while not written.is_file():
                assert process.returncode is None, (
                    "the demo ended by itself: " + (await process.communicate())[1].decode()
                )
                await asyncio.sleep(0.05)
        controls = json.loads(written.read_text())["controls"]
        yield Demo(Home(home.path / "demo", home.env | {"POSTROOM_HOME": str(home.path / "demo")}), port, controls)
    finally:
        process.send_signal(15)
        await process.wait()


async def test_from_nothing_to_a_live_agent(home: Home) -> None:
    """A connection by the guided form, an agent with an error caught at its line, the sheet, and an answer."""
    async with rehearse("") as rehearsed, RehearsalClient(rehearsed.control_url) as phone, a_browser() as browser:
        gateway = await home.up()
        demo = Demo(home, gateway.port, {})
        page = await demo.enter(browser)
        await expect(page.get_by_text("Add a connection")).to_be_visible()

        await page.get_by_role("link", name="Add a connection").click()
        await page.get_by_role("link", name="Telegram").click()
        await page.get_by_label("Id", exact=True).fill("shop")
        await page.get_by_label("Bot token").fill(rehearsed.secrets["bot_token"])
        await page.get_by_label("Base url").fill(str(rehearsed.settings["base_url"]))
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved 'shop'")).to_be_visible()
        assert rehearsed.secrets["bot_token"] not in await page.content()
        await page.get_by_role("button", name="Open it again").click()
        await expect(page.get_by_text("'shop' was opened again")).to_be_visible()
        await page.get_by_role("button", name="Check it now").click()
        await expect(page.get_by_role("heading", name="Check of shop")).to_be_visible()

        await page.goto(f"{demo.url}/console/agents")
        await page.get_by_label("Id", exact=True).fill("desk")
        await page.get_by_label("What it does, in one sentence").fill("Answers for the shop.")
        await page.get_by_label("ready to be deployed").check()
        await page.get_by_role("button", name="Make it").click()
        editor = page.get_by_label("Content of skills/desk/SKILL.md")
        await editor.fill("---\nname: dask\ndescription: x\n---\n\n# Hours\n\nWe are open from 9:00 to 18:00.\n")
        await expect(page.locator("#checks")).to_contain_text("skills/desk/SKILL.md:2")
        await editor.fill("---\nname: desk\ndescription: x\n---\n\n# Hours\n\nWe are open from 9:00 to 18:00.\n")
        await expect(page.locator("#checks")).to_contain_text("No findings")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved skills/desk/SKILL.md")).to_be_visible()
        await page.get_by_label("Another file").fill("skills/desk/benchmarks.json")
        await page.get_by_role("button", name="Open", exact=True).click()
        await page.get_by_label("Content of skills/desk/benchmarks.json").fill('{"cases": [{"name": "x"}]}')
        await expect(page.locator("#checks")).to_contain_text("skills/desk/benchmarks.json:1")
        await page.get_by_label("Say").fill("When are you open?")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator("#trial")).to_contain_text("9:00 to 18:00")

        await page.goto(f"{demo.url}/console/routes?connection=shop&agent=desk")
        await page.get_by_role("button", name="Show what would happen").click()
        await expect(page.get_by_text("broad_scope")).to_be_visible()
        await page.get_by_role("button", name="Put it live").click()
        await expect(page.get_by_text("desk is live on shop")).to_be_visible()

        assert "9:00" in await phone.ask("when are you open?", user="dana")
        await page.get_by_role("link", name="Conversations").click()
        await page.get_by_role("link", name="dana").click()
        await expect(page.locator(".chat")).to_contain_text("when are you open?")
        await expect(page.locator(".chat .badge.good")).to_be_visible()
        await page.get_by_role("link", name="run", exact=True).click()
        await expect(page.get_by_role("heading", name="Prompt")).to_be_visible()
        await page.goto(f"{demo.url}/console/health")
        for action in ("save connection", "create desk", "edit desk/skills/desk/SKILL.md", "deploy desk"):
            await expect(page.locator("table").get_by_text(action)).to_be_visible()
        assert await gateway.stop() == 0


async def test_what_was_typed_is_still_there_when_it_is_refused(home: Home) -> None:
    home.agent("desk", "Answer.")
    async with a_browser() as browser:
        gateway = await home.up()
        page = await Demo(home, gateway.port, {}).enter(browser)
        await page.goto(f"http://127.0.0.1:{gateway.port}/console/agents")
        if not await page.get_by_label("Id", exact=True).is_visible():
            await page.get_by_text("Make an agent").click()
        await page.get_by_label("Id", exact=True).fill("desk")
        await page.get_by_label("What it does, in one sentence").fill("Answers for the shop.")
        await page.get_by_label("read", exact=True).check()
        await page.get_by_role("button", name="Make it").click()
        await expect(page.locator("[data-refused]")).to_be_visible()
        await expect(page.get_by_label("What it does, in one sentence")).to_have_value("Answers for the shop.")
        await expect(page.get_by_label("read", exact=True)).to_be_checked()
        await page.get_by_label("Id", exact=True).fill("desk-two")
        await page.get_by_role("button", name="Make it").click()
        await expect(page.get_by_text("Made. Write what it does")).to_be_visible()

        await page.goto(f"http://127.0.0.1:{gateway.port}/console/connections/add/telegram")
        await page.get_by_label("Id", exact=True).fill("shop")
        await page.get_by_label("Bot token").fill("not a token, and a secret")
        await page.get_by_role("button", name="Save").click()
        assert "not a token" not in str(await page.evaluate("JSON.stringify(sessionStorage)"))
        assert await gateway.stop() == 0


async def test_each_phone_is_answered_and_names_are_just_names(home: Home) -> None:
    async with a_demo(home) as demo, a_browser() as browser:
        for channel, url in demo.controls.items():
            async with RehearsalClient(url) as client:
                await client.say(f"{EVIL} on {channel}", user=EVIL if channel == "telegram" else "Mallory")
        page = await demo.enter(browser)
        await page.get_by_role("link", name="Phones").click()
        for channel in demo.controls:
            await page.get_by_label(f"Write on {channel}").fill("When are you open?")
            await page.get_by_label(f"Write on {channel}").press("Enter")
            phone = page.get_by_label(channel, exact=True)
            await expect(phone).to_contain_text("When are you open?")
            await expect(phone).to_contain_text("9:00")
        await page.get_by_role("link", name="Conversations").click()
        links = await page.locator(".list a").evaluate_all("all => all.map(a => a.href)")
        assert len(links) >= 8
        for link in links:
            await page.goto(link)
            await expect(page.locator(".chat")).not_to_be_empty()
            assert await page.title() != "owned"
        await expect(page.get_by_text("segment").first).to_have_count(await page.get_by_text("segment").count() and 1)


async def test_a_person_takes_over_and_hands_back(home: Home) -> None:
    async with a_demo(home) as demo, a_browser() as browser, RehearsalClient(demo.controls["telegram"]) as phone:
        assert "9:00" in await phone.ask("When are you open?", user="dana")
        page = await demo.enter(browser, "operator")
        await page.get_by_role("link", name="Conversations").click()
        await page.get_by_role("link", name="dana").click()
        await page.get_by_role("button", name="Pause the agent").click()
        await expect(page.get_by_text("the agent is paused")).to_be_visible()
        said = await phone.say("Is somebody there?", user="dana")
        await expect(page.locator(".chat")).to_contain_text("taken_over")
        await page.get_by_label("Your answer").fill("Yes, **me**.")
        await page.get_by_role("button", name="Send").click()
        (heard,) = await phone.replies(chat=said.chat, after=said.after, wait=30)
        assert heard.text.strip() == "Yes, me."
        await page.get_by_role("button", name="Hand back").click()
        assert "9:00" in await phone.ask("When are you open?", user="dana")


async def test_a_conflict_is_on_the_sheet_and_deployed_only_on_purpose(home: Home) -> None:
    async with a_demo(home) as demo, a_browser() as browser:
        demo.home.env["POSTROOM_HOME"] = str(demo.home.path)
        page = await demo.enter(browser)
        await page.goto(f"{demo.url}/console/routes?connection=sms&agent=builder")
        await page.get_by_label("Who may use it").select_option("owner")
        await page.get_by_role("button", name="Show what would happen").click()
        await expect(page.get_by_text("route_conflict")).to_be_visible()
        await page.get_by_role("button", name="Put it live").click()  # the box to disable the other is required
        live = {r["id"]: r["enabled"] for r in await demo.home.json("route", "list")}
        assert live["sms-front-desk"]
        await demo.home.ok("route", "disable", "sms-front-desk")
        await page.get_by_label("Disable sms-front-desk").check()
        await page.get_by_role("button", name="Put it live").click()
        await expect(page.get_by_text("preflight_stale")).to_be_visible()
        assert not any(r["enabled"] for r in await demo.home.json("route", "list") if r["connectionId"] == "sms")


async def test_a_dead_letter_is_retried(home: Home) -> None:
    answers: list[str | Reply] = [Reply(status=400, message="no")]
    async with ScriptedModel(lambda _asked: answers[-1]) as model, a_browser() as browser:
        home.env |= {**model.env, "POSTROOM_MODEL": "openai-chat:scripted"}
        async with a_demo(home) as demo, RehearsalClient(demo.controls["telegram"]) as phone:
            said = await phone.say("Hello?", user="dana")
            (apology,) = await phone.replies(chat=said.chat, after=said.after, wait=30)
            answers.append("Here I am.")
            page = await demo.enter(browser, "operator")
            await page.get_by_role("link", name="1 dead letter").click()
            await expect(page.get_by_role("heading", name="Hello?")).to_be_visible()
            await page.get_by_role("link", name="payload").click()
            await expect(page.get_by_text('"text": "Hello?"')).to_be_visible()
            await page.go_back()
            await page.get_by_role("button", name="Retry", exact=True).click()
            (heard,) = await phone.replies(chat=said.chat, after=apology.n, wait=30)
            assert heard.text == "Here I am."
            await expect(page.get_by_text("None.")).to_be_visible()


async def test_a_viewer_and_a_stranger_write_nothing(home: Home) -> None:
    async with a_demo(home) as demo, a_browser() as browser:
        page = await demo.enter(browser, "viewer")
        token = await page.locator("body").get_attribute("data-csrf")
        cookies = {c["name"]: c["value"] for c in await page.context.cookies()}
        (cookie,) = [c for c in await page.context.cookies() if c["name"] == "postroom"]
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        async with aiohttp.ClientSession(cookies=cookies) as session:
            for path, role in {
                "routes/act": 403,
                "agents": 403,
                "letters": 403,
                "conversation/say": 403,
                "connections/remove": 403,
                "approvals": 403,
            }.items():
                async with session.post(f"{demo.url}/console/{path}", data={"csrf": token}) as response:
                    assert response.status == role, path
        before = await demo.home.json("route", "list")
        owner = await demo.enter(browser)
        cookies = {c["name"]: c["value"] for c in await owner.context.cookies()}
        token = await owner.locator("body").get_attribute("data-csrf")
        act = {"act": "disable", "route": "sms-front-desk"}
        async with aiohttp.ClientSession(cookies=cookies) as session:
            for data, headers, status in (
                (act, {}, 403),
                ({**act, "csrf": "wrong"}, {}, 403),
                ({**act, "csrf": token}, {"Origin": "https://evil.example"}, 403),
                ({**act, "csrf": token}, {"Host": "evil.example"}, 421),
            ):
                url = f"{demo.url}/console/routes/act"
                async with session.post(url, data=data, headers=headers, allow_redirects=False) as response:
                    assert response.status == status
        async with aiohttp.ClientSession() as session:
            for page_ in PAGES:
                async with session.get(f"{demo.url}/console/{page_}", allow_redirects=False) as response:
                    assert (response.status, response.headers["Location"]) == (303, "/console/login")
                    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert await demo.home.json("route", "list") == before


async def test_it_fits_a_phone_and_has_no_barriers(home: Home) -> None:
    async with a_demo(home) as demo, a_browser() as browser, RehearsalClient(demo.controls["sms"]) as phone:
        await phone.ask("When are you open?", user="dana")
        for scheme in ("light", "dark"):
            page = await demo.enter(browser, viewport={"width": 390, "height": 800}, color_scheme=scheme)
            key = (await demo.home.json("conversation", "list"))[0]["key"]
            for path in (*PAGES, f"conversation?key={key}"):
                await page.goto(f"{demo.url}/console/{path}")
                wide = await page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
                assert not wide, path
                found = await Axe().run(page)
                serious = [v for v in found.response["violations"] if v["impact"] in ("serious", "critical")]
                assert not serious, (path, [(v["id"], [n["html"] for n in v["nodes"]][:3]) for v in serious])


async def test_the_keyboard_is_enough(home: Home) -> None:
    async with a_demo(home) as demo, a_browser() as browser:
        page = await (await browser.new_context()).new_page()
        await page.goto(await demo.link())
        for _ in range(4):
            await page.keyboard.press("Tab")
            if await page.evaluate("document.activeElement.tagName") == "BUTTON":
                break
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/console/now")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to content"
        await page.keyboard.press("Enter")
        assert await page.evaluate("document.activeElement.id || location.hash.slice(1)") == "main"
        for _ in range(3):
            await page.keyboard.press("Shift+Tab")
        focused = "() => getComputedStyle(document.activeElement).outlineStyle"
        assert await page.evaluate(focused) != "none"


async def test_an_open_console_is_refused_with_the_reason(home: Home) -> None:
    code, _, err = await home.run("up", "--host", "192.0.2.1", "--port", "0")
    assert (code, "console_open" in err, "--no-console" in err) == (1, True, True)
    assert not Path(home.path / "ledger.db").exists()
