"""Addresses of files that go out: signed, ending, and leading to one file each."""

from __future__ import annotations

import asyncio
import time

import aiohttp
import pytest
from aiohttp import web

from channels.message import Attachment
from gateway.attachments import Attachments
from gateway.http import build_app
from gateway.media import LIFETIME, NAME_MAX, Media, plain_name
from gateway.slow import Watch
from gateway.vault import Vault, new_key

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


async def chunks(content: bytes):
    yield content


async def no_hooks(request):
    raise web.HTTPNotFound


class Served:
    """A gateway's media on a port, with a clock to turn."""

    def __init__(self, tmp_path) -> None:
        self.vault = Vault(new_key())
        self.store = Attachments(tmp_path)
        self.late = 0.0
        self.media = self.with_vault(self.vault)

    def with_vault(self, vault: Vault) -> Media:
        return Media(vault, self.store, self.public_url, now=lambda: time.time() + self.late)

    public_url = ""

    async def file(self, name="menu.png", content=PNG) -> Attachment:
        kept = await self.store.keep(chunks(content))
        return Attachment("image", media_type=kept.media_type, size=kept.size, name=name, path=str(kept.path))


@pytest.fixture
async def served(tmp_path):
    served = Served(tmp_path)
    app = build_app(no_hooks, None, lambda: True, Watch(), served.media)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    served.public_url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    served.media._public_url = served.public_url
    yield served
    await runner.cleanup()


async def ask(url: str, method: str = "GET") -> tuple[int, bytes, dict[str, str]]:
    async with aiohttp.ClientSession() as session, session.request(method, url) as response:
        return response.status, await response.read(), dict(response.headers)


async def test_a_file_is_given_with_its_type_and_its_name_and_may_not_run(served):
    url = served.media.url(await served.file())
    status, body, headers = await ask(url)
    assert url.startswith(f"{served.public_url}/media/")
    assert (status, body) == (200, PNG)
    assert headers["Content-Type"] == "image/png"
    assert headers["Content-Disposition"] == 'inline; filename="menu.png"'
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in headers["Content-Security-Policy"]
    status, body, head = await ask(url, "HEAD")
    assert (status, body) == (200, b"")
    assert (head["Content-Type"], head["Content-Length"]) == ("image/png", str(len(PNG)))


async def test_an_address_ends_after_a_day(served):
    url = served.media.url(await served.file())
    served.late = LIFETIME - 60
    assert (await ask(url))[0] == 200
    served.late = LIFETIME + 60
    assert (await ask(url))[0] == 404


async def test_an_address_outlives_a_restart_and_not_a_change_of_key(served):
    file = await served.file()
    assert (await ask(served.with_vault(served.vault).url(file)))[0] == 200
    assert (await ask(served.with_vault(Vault(new_key())).url(file)))[0] == 404


async def test_nothing_but_a_whole_address_is_answered(served):
    url = served.media.url(await served.file())
    head, _, name = url.rpartition("/")
    base, _, ticket = head.rpartition("/")
    secret = served.vault.seal("xoxb-secret").decode()
    other = served.vault.seal('{"media": "../../key", "type": "text/plain", "name": "menu.png"}').decode()
    for bad in (
        f"{base}/{ticket[:-1]}A/{name}",
        f"{base}/{ticket}/other.png",
        f"{base}/{secret}/{name}",
        f"{base}/{other}/{name}",
        f"{base}/x/{name}",
        f"{base}/%00/{name}",
        f"{base}/{ticket}/",
        f"{base}/{ticket}",
        f"{base}/",
    ):
        assert (await ask(bad))[0] == 404, bad
    assert (await ask(url, "POST"))[0] == 405


async def test_a_file_that_is_gone_is_not_found(served):
    file = await served.file()
    url = served.media.url(file)
    await asyncio.to_thread(served.store.path(file.path.rpartition("/")[2]).unlink)
    assert (await ask(url))[0] == 404


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("menu.png", "menu.png"),
        ("Our summer menu (final).pdf", "Our-summer-menu.pdf"),
        ("меню.png", "file.png"),
        ('a"b\r\nX: y', "a-b-X-y"),
        ("x" * 60 + ".jpeg", "x" * 15 + ".jpeg"),
        ("", "file"),
    ],
)
def test_names_are_those_that_twilio_shows(name, plain):
    assert plain_name(name) == plain
    assert len(plain) <= NAME_MAX
