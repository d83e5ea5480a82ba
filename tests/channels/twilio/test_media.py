"""Files over WhatsApp and MMS: the real twilio library, a rehearsed Twilio that fetches, and a place to fetch from."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib

import pytest
from aiohttp import web

from channels.adapter import OpenConnection
from channels.message import Attachment, Conversation, OutboundMessage
from channels.registry import load
from channels.rehearsal import RehearsalClient
from channels.twilio.rehearsal import TwilioRehearsal
from channels.twilio.rehearsal.server import ACCOUNT, TEMPLATE, TOKEN
from tests.channels.twilio.test_lines import PERSON, Known

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32
PDF = b"%PDF-1.7 " + b"\0" * 32


class Shelf:
    """Where files are fetched from; and where statuses arrive."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: dict[str, web.Response] = {}
        self.asked: list[tuple[str, str]] = []
        self.states: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def put(self, name: str, content: bytes, media_type: str, **how) -> None:
        self.answers[name] = {"body": content, "headers": {"Content-Type": media_type}, **how}

    def address(self, file: Attachment) -> str:
        return f"{self.url}/{file.name}"

    async def answer(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        self.asked.append((request.method, name))
        return web.Response(**self.answers[name]) if name in self.answers else web.Response(status=404)

    async def hook(self, request: web.Request) -> web.Response:
        form = await request.post()
        self.states.put_nowait((form["MessageStatus"], form.get("ErrorCode", "")))
        return web.Response()

    async def last_state(self) -> tuple[str, str]:
        """The state after which no other comes."""
        async with asyncio.timeout(10):
            while (state := await self.states.get())[0] not in {"read", "failed"}:
                if state == ("delivered", "") and self.states.empty():
                    return state
            return state


@pytest.fixture
async def shelf():
    shelf = Shelf()
    app = web.Application()
    app.router.add_get("/{name}", shelf.answer)
    app.router.add_post("/hook", shelf.hook)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    shelf.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield shelf
    await runner.cleanup()


@pytest.fixture(params=["sms", "whatsapp"])
async def server(request):
    async with TwilioRehearsal(request.param) as running:
        running.last_inbound[PERSON] = 9e9
        yield running


@contextlib.asynccontextmanager
async def opened(server, shelf, *, facts=None, public=True, **settings):
    channel = load(server.line)
    connection = OpenConnection(
        id="line",
        settings=channel.settings.model_validate({"from": server.sender, "base_url": server.url, **settings}),
        secrets={"account_sid": ACCOUNT, "auth_token": TOKEN},
        hook_url=f"{shelf.url}/hook",
        facts=facts or Known(),
        media_url=shelf.address if public else None,
    )
    async with channel.open(connection) as adapter:
        yield adapter


def file(name: str, media_type: str) -> Attachment:
    return Attachment("document", media_type=media_type, size=40, name=name, path=f"/store/{name}")


def said(text: str, *files: Attachment) -> OutboundMessage:
    return OutboundMessage(Conversation("line", PERSON), text=text, attachments=files)


async def test_a_picture_and_its_text_are_one_message_and_the_bytes_arrive(server, shelf):
    shelf.put("menu.png", PNG, "image/png")
    async with opened(server, shelf) as adapter, RehearsalClient(server.url) as phone:
        (call,) = adapter.render(said("Our *menu*", file("menu.png", "image/png")))
        receipt = await adapter.send(call)
        (heard,) = await phone.replies(chat=PERSON, wait=5)
    assert receipt.provider_ref.startswith("MM")
    assert heard.ref == receipt.provider_ref
    assert heard.text == ("Our menu" if server.line == "sms" else "Our _menu_")
    digest = hashlib.sha256(PNG).hexdigest()
    assert heard.files == [{"name": "menu.png", "media_type": "image/png", "size": len(PNG), "sha256": digest}]
    assert shelf.asked == [("HEAD", "menu.png"), ("GET", "menu.png")]


async def test_whatsapp_shows_no_text_under_a_document_so_it_follows(server, shelf):
    shelf.put("prices.pdf", PDF, "application/pdf")
    async with opened(server, shelf) as adapter:
        calls = adapter.render(said("Prices", file("prices.pdf", "application/pdf")))
    assert ["media" in call.params for call in calls] == ([True] if server.line == "sms" else [True, False])


async def test_several_files_are_a_message_each_and_a_long_text_comes_after_them(server, shelf):
    async with opened(server, shelf) as adapter:
        calls = adapter.render(said("word " * 350, file("1.png", "image/png"), file("2.png", "image/png")))
    assert ["media" in call.params for call in calls] == [True, True, False, False]
    assert all("body" not in call.params for call in calls[:2])


async def test_a_file_without_a_path_is_not_sent(server, shelf):
    async with opened(server, shelf) as adapter:
        (call,) = adapter.render(said("x", Attachment("image", name="a.png")))
    assert call.params["body"] == "x"


@pytest.mark.parametrize(
    ("answer", "sms", "whatsapp"),
    [
        (None, "11200", "63019"),
        ({"content": b"", "media_type": "image/png"}, "11200", "63019"),
        ({"content": PNG, "media_type": "image/png", "status": 500}, "11200", "63019"),
        ({"content": b"<p>", "media_type": "text/html"}, "12300", "63021"),
        ({"content": PDF, "media_type": "image/png"}, "12300", "63021"),
        ({"content": PNG + b"\0" * 5_000_000, "media_type": "image/png"}, "11751", "11751"),
    ],
)
async def test_what_twilio_can_not_fetch_fails_later_with_its_code(server, shelf, answer, sms, whatsapp):
    if answer is not None:
        shelf.put("menu.png", **answer)
    async with opened(server, shelf) as adapter:
        await adapter.send(adapter.render(said("x", file("menu.png", "image/png")))[0])
    assert await shelf.last_state() == ("failed", sms if server.line == "sms" else whatsapp)
    assert server.journal.since(None, 0) == []


async def test_a_number_without_mms_sends_a_line_instead(shelf):
    async with TwilioRehearsal("sms") as server, opened(server, shelf) as adapter, RehearsalClient(server.url) as phone:
        server.mms = False
        receipt = await adapter.send(adapter.render(said("Our menu", file("menu.png", "image/png")))[0])
        (heard,) = await phone.replies(chat=PERSON, wait=5)
    assert "21621" in receipt.note
    assert heard.text == "Our menu\n\n(menu.png could not be sent.)"


async def test_a_file_that_waited_while_the_public_url_went_away_is_a_line(server, shelf):
    async with opened(server, shelf) as before:
        (call,) = before.render(said("", file("menu.png", "image/png")))
    async with opened(server, shelf, public=False) as adapter, RehearsalClient(server.url) as phone:
        receipt = await adapter.send(call)
        (heard,) = await phone.replies(chat=PERSON, wait=5)
    assert "POSTROOM_PUBLIC_URL" in receipt.note
    assert heard.text == "(menu.png could not be sent.)"


async def test_a_connection_without_a_public_url_says_so_before_rendering(server, shelf):
    async with opened(server, shelf, public=False) as adapter:
        assert "POSTROOM_PUBLIC_URL" in adapter.limits.files.complaint("image/png", 1)
    async with opened(server, shelf) as adapter:
        limits = adapter.limits.files
        assert limits.complaint("image/png", 5_000_000) == ""
        assert "larger" in limits.complaint("image/png", 5_000_001)
        assert "not taken" in limits.complaint("text/html", 1)
        assert bool(limits.complaint("application/pdf", 600_001)) == (server.line == "sms")
        assert bool(limits.complaint("image/gif", 1)) == (server.line == "whatsapp")


async def test_after_a_day_the_template_goes_without_the_file_and_the_note_says_so(shelf):
    settings = {"template": TEMPLATE, "template_variables": {"1": "{reply}"}}
    async with (
        TwilioRehearsal("whatsapp") as server,
        opened(server, shelf, facts=Known(hours=25), **settings) as adapter,
        RehearsalClient(server.url) as phone,
    ):
        receipt = await adapter.send(adapter.render(said("", file("menu.png", "image/png")))[0])
        (heard,) = await phone.replies(chat=PERSON, wait=5)
    assert heard.text == "About your question: menu.png"
    assert "The file was not sent." in receipt.note


async def test_bad_addresses_are_refused_at_once(server, shelf):
    shelf.url = "shelf"
    async with opened(server, shelf) as adapter, RehearsalClient(server.url) as phone:
        receipt = await adapter.send(adapter.render(said("", file("menu.png", "image/png")))[0])
        (heard,) = await phone.replies(chat=PERSON, wait=5)
    assert "21620" in receipt.note
    assert heard.text == "(menu.png could not be sent.)"
