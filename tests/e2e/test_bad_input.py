"""Bad input from outside: a clear answer, and nothing that was accepted is lost."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from tests.e2e.line import open_line
from tests.support.gateway import Home


@pytest.fixture
async def hook(tmp_path):
    """A gateway with a Telegram connection in webhook mode: its hook's address, its secret header, and its home."""
    home = Home(tmp_path / "home")
    home.agent("desk", "## Opening hours\n\nWe are open from nine to five.")
    async with open_line("telegram", home, "--mode", "webhook") as line:
        await line.deploy("desk")
        gateway = await line.up()
        url = (await home.json("connection", "show", "telegram"))["hookUrl"]
        async with asyncio.timeout(30):
            while not (set_hook := [c for c in await line.client.record() if c["method"] == "setWebhook"]):
                await asyncio.sleep(0.05)
        header = {"X-Telegram-Bot-Api-Secret-Token": set_hook[-1]["params"]["secret_token"]}
        yield line, url, header
        assert await gateway.stop() == 0


def update(number: int, text: str = "when are you open?") -> dict:
    chat = {"id": 77, "type": "private", "first_name": "Dana"}
    sender = {"id": 77, "is_bot": False, "first_name": "Dana"}
    message = {"message_id": number, "date": 1_760_000_000, "chat": chat, "from": sender, "text": text}
    return {"update_id": number, "message": message}


async def test_what_is_refused_is_refused_with_its_status_and_the_rest_is_answered(hook):
    line, url, header = hook
    await line.client.say("hi", user="77", chat="77", kind="dm")  # makes the chat known to the rehearsal
    async with aiohttp.ClientSession() as session:

        async def post(body, headers=header, to=url):
            async with session.post(to, data=body, headers=headers) as response:
                return response.status, await response.text()

        assert (await post(b"{not json"))[0] == 400
        assert (await post(b"[1, 2]"))[0] == 400
        assert (await post(b"{}"))[0] == 400
        assert (await post(json.dumps({"update_id": 5, "message": {"text": "no chat"}}).encode()))[0] == 400
        assert (await post(json.dumps(update(9)).encode(), {}))[0] == 401
        assert (await post(json.dumps(update(9)).encode(), {"X-Telegram-Bot-Api-Secret-Token": "wrong"}))[0] == 401
        assert (await post(json.dumps(update(9)).encode(), header, url[:-3] + "xyz"))[0] == 404
        assert (await post(b"x" * 20_000_000))[0] == 413
        assert await post(json.dumps({"update_id": 6, "something_new": {"a": 1}}).encode()) == (200, "")
        assert await post(json.dumps(update(1000)).encode()) == (200, "")
        assert await post(json.dumps(update(1000)).encode()) == (200, "")
    (reply,) = await replies(line, "nine to five")
    assert reply.text == "We are open from nine to five."
    rows = await line.home.json("conversation", "list")
    assert sum(r["messages"] for r in rows) == 2


async def replies(line, words):
    heard = []
    while not any(words in r.text for r in heard):
        more = await line.client.replies(after=heard[-1].n if heard else 0, wait=30)
        assert more
        heard += more
    return [r for r in heard if words in r.text]


async def test_a_hook_refusal_says_a_code_and_never_the_secret(hook):
    _line, url, header = hook
    async with aiohttp.ClientSession() as session, session.post(url, data=b"{", headers=header) as response:
        body = await response.json()
    assert body["error"]["code"] == "payload_invalid"
    secret = url.rsplit("/", 1)[1]
    assert secret not in json.dumps(body)


async def test_health_readiness_and_metrics_answer(hook):
    _line, url, _header = hook
    base = url.split("/hooks/")[0]
    async with aiohttp.ClientSession() as session:
        for path, words in (("/healthz", "alive"), ("/readyz", "true"), ("/metrics", "postroom_depth")):
            async with session.get(base + path) as response:
                assert response.status == 200
                assert words in await response.text()


async def test_a_manifest_with_an_unknown_field_holds_its_agent_back_and_no_other(tmp_path):
    home = Home(tmp_path)
    folder = home.agent("desk")
    home.agent("other")
    manifest = json.loads((folder / "agent.json").read_text())
    (folder / "agent.json").write_text(json.dumps({**manifest, "alowedTools": []}))
    rows = {row["id"]: row for row in await home.json("agent", "list")}
    assert "alowedTools" in rows["desk"]["problem"]
    assert "allowedTools" in rows["desk"]["problem"]
    assert rows["other"]["problem"] is None
    code, _out, err = await home.run("agent", "show", "desk")
    assert code == 1
    assert "agent_invalid" in err


async def test_broken_frontmatter_names_its_line(tmp_path):
    home = Home(tmp_path)
    folder = home.agent("desk")
    (folder / "skills" / "desk" / "SKILL.md").write_text("---\nname: desk\ndescription: [broken\n---\n\nHi.\n")
    code, _out, err = await home.run("agent", "show", "desk")
    assert code == 1
    assert "SKILL.md:" in err


async def test_a_second_gateway_on_the_same_home_is_refused(tmp_path):
    home = Home(tmp_path)
    first = await home.up()
    code, _out, err = await home.run("up", "--port", "0")
    assert code == 1
    assert "ledger_in_use" in err
    assert await first.stop() == 0


async def test_secrets_appear_nowhere(hook, tmp_path):
    line, _url, _header = hook
    token = next(v for k, v in line.home.env.items() if k.startswith("TEST_TELEGRAM"))
    shown = await line.home.ok("connection", "show", "telegram", "--json")
    listed = await line.home.ok("connection", "list", "--json")
    checked = (await line.home.run("connection", "check"))[1]
    assert token not in shown + listed + checked
    assert '"hasBotToken": true' in listed
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert token.encode() not in file.read_bytes(), file


async def test_a_machine_that_answers_every_answer_is_answered_no_more(home):
    home.agent("desk", "## Opening hours\n\nWe are open from nine to five.")
    async with open_line("sms", home) as line:
        await line.deploy("desk")
        gateway = await line.up()
        for _ in range(6):
            assert "nine to five" in await line.client.ask("I am out of office, when are you open?", user="dana")
        said = await line.client.say("I am out of office, when are you open?", user="dana")
        async with asyncio.timeout(30):
            while not any(e["reason"] == "bot_loop" for e in gateway.events("message_ended")):
                await asyncio.sleep(0.05)
        assert await line.client.replies(chat=said.chat, after=said.after) == []
        assert "nine to five" in await line.client.ask("It is me: when are you open?", user="dana")
        assert await gateway.stop() == 0
