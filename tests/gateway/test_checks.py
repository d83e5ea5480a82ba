"""What a check writes down and reports: a real ledger and vault, and a rehearsed provider."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agents_runtime.registry import Registry
from channels.adapter import Finding
from channels.message import Conversation, InboundMessage, Sender
from channels.slack.rehearsal import SlackRehearsal
from channels.telegram.rehearsal import TelegramRehearsal
from gateway.checks import check_connection
from gateway.connecting import is_by_webhook
from gateway.deploying import Deployer
from gateway.doctor import examine
from gateway.ledger.sqlite import open_sqlite
from gateway.settings import Settings
from gateway.vault import load_vault
from routes.connection import Connection
from routes.preflight import Proposal

WEBHOOK = {"mode": "webhook"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


@pytest.fixture
async def ledger(settings):
    async with open_sqlite(settings.ledger_path, worker=False) as opened:
        yield opened


@pytest.fixture
async def server():
    async with TelegramRehearsal() as running:
        yield running


async def add(ledger, settings, server, *, token: str = "", **more) -> Connection:
    row = Connection("shop", "telegram", settings={"base_url": server.base_url}, hook_secret="s3cret", **more)
    await ledger.put_connection(row, {"bot_token": load_vault(settings.key_path).seal(token or server.token)})
    return (await ledger.connections())[0]


async def stored(ledger) -> tuple[str, str]:
    (row,) = await ledger.connections()
    return row.status, row.status_detail


def codes(report) -> dict[str, bool]:
    return {f["code"]: f["ok"] for f in report["findings"]}


async def test_a_connection_that_works_is_written_down_as_such(ledger, settings, server):
    report = await check_connection(await add(ledger, settings, server), ledger, settings)
    assert (report["ok"], report["account"]) == (True, "@rehearsal_bot")
    assert codes(report)["last_event"] is True
    assert await stored(ledger) == ("ok", "")


async def test_a_bad_token_needs_attention_and_no_answer_leaves_it_open(ledger, settings, server):
    row = await add(ledger, settings, server, token="1000000001:" + "X" * 35)
    report = await check_connection(row, ledger, settings)
    assert (report["ok"], codes(report)["token"]) == (False, False)
    status, detail = await stored(ledger)
    assert (status, "token" in detail) == ("needs_attention", True)
    gone = replace(row, settings={"base_url": "http://127.0.0.1:9/bot"})
    await ledger.put_connection(gone)
    report = await check_connection(gone, ledger, settings)
    assert codes(report)["unreachable"] is False
    status, detail = await stored(ledger)
    assert (status, "reached" in detail) == ("unverified", True)


async def test_no_answer_does_not_clear_what_needed_attention(ledger, settings, server):
    row = await add(ledger, settings, server, status="needs_attention", status_detail="The token was revoked.")
    row = replace(row, settings={"base_url": "http://127.0.0.1:9/bot"})
    await ledger.put_connection(row)
    await check_connection(row, ledger, settings)
    assert (await stored(ledger))[0] == "needs_attention"


async def test_a_seal_that_does_not_open_needs_attention(ledger, settings, server):
    row = await add(ledger, settings, server)
    await ledger.put_connection(row, {"bot_token": b"not sealed with this key"})
    report = await check_connection(row, ledger, settings)
    assert codes(report)["vault_seal_broken"] is False
    assert (await stored(ledger))[0] == "needs_attention"


async def test_settings_that_are_not_valid_need_attention(ledger, settings, server):
    row = replace(await add(ledger, settings, server), settings={"mode": "telepathy"})
    await ledger.put_connection(row)
    assert codes(await check_connection(row, ledger, settings))["connection_broken"] is False
    assert (await stored(ledger))[0] == "needs_attention"


async def test_a_webhook_that_is_not_set_yet_leaves_it_open(ledger, settings, server):
    settings = replace(settings, public_url="http://127.0.0.1:9")
    row = await add(ledger, settings, server)
    row = replace(row, settings={**row.settings, **WEBHOOK})
    await ledger.put_connection(row)
    found = codes(await check_connection(row, ledger, settings))
    assert (found["token"], found["webhook"], found["hook"]) == (True, False, False)
    assert (await stored(ledger))[0] == "unverified"


async def test_a_gateway_that_is_down_is_told_and_is_not_the_connections_fault(ledger, settings, server):
    settings = replace(settings, public_url="http://127.0.0.1:9")
    row = await add(ledger, settings, server)
    row = replace(row, settings={**row.settings, **WEBHOOK})
    await ledger.put_connection(row)
    server.updates.webhook = {"url": settings.hook_url(row.id, row.hook_secret)}
    report = await check_connection(row, ledger, settings)
    assert (report["ok"], [code for code, ok in codes(report).items() if not ok]) == (False, ["hook"])
    assert await stored(ledger) == ("ok", "")


async def test_silence_is_told_and_is_not_the_connections_fault(settings, server):
    async with open_sqlite(settings.ledger_path, worker=False, clock=lambda: time.time() - 600) as ledger:
        row = await add(ledger, settings, server)
        await ledger.accept([event(1)])
        report = await check_connection(row, ledger, settings)
        assert codes(report)["last_event"] is True
        await server.say({"text": "anyone there?"})
        report = await check_connection(row, ledger, settings)
        assert (report["ok"], codes(report)["silence"]) == (False, False)
        assert await stored(ledger) == ("ok", "")


async def test_doctor_tells_of_silence_without_asking_the_provider(settings, server):
    at = [time.time() - 40 * 86_400]
    async with open_sqlite(settings.ledger_path, worker=False, clock=lambda: at[0]) as ledger:
        await add(ledger, settings, server)

        async def silent() -> list[Finding]:
            areas = await examine(settings, ledger, Registry([]))
            return [f for area in areas for f in area.findings if f.code == "silence"]

        for n in range(20):
            at[0] += 86_400
            await ledger.accept([event(n)])
        found = await silent()
        assert [("'shop'" in f.message, "20 days" in f.message) for f in found] == [(True, True)]
        (row,) = await ledger.connections()
        await ledger.put_connection(replace(row, enabled=False))
        assert not await silent()


async def test_a_secret_that_is_gone_needs_attention(ledger, settings, server):
    row = Connection("shop", "telegram", settings={"base_url": server.base_url})
    await ledger.put_connection(row)
    assert codes(await check_connection(row, ledger, settings))["connection_broken"] is False
    assert (await stored(ledger))[0] == "needs_attention"


async def test_a_row_that_was_changed_or_removed_meanwhile_is_left_as_it_is(ledger, settings, server):
    row = await add(ledger, settings, server)
    changed = replace(row, settings={"base_url": server.base_url, "answer_edits": True})
    await ledger.put_connection(changed)
    await check_connection(row, ledger, settings)
    assert (await ledger.connections()) == [changed]
    await ledger.remove_connection("shop")
    await check_connection(row, ledger, settings)
    assert await ledger.connections() == []


async def test_privacy_mode_is_remembered_and_preflight_warns_of_it(ledger, settings):
    async def warned() -> list[str]:
        found = await Deployer(ledger, Registry([]), settings).check(Proposal("shop", "front-desk"))
        return [w.code for w in found.warnings]

    async with TelegramRehearsal(sees_all=False) as server:
        row = await add(ledger, settings, server)
        assert "privacy_mode" not in await warned(), "nobody has looked yet"
        await check_connection(row, ledger, settings)
        assert "privacy_mode" in await warned()
        await check_connection(replace(row, settings={"base_url": "http://127.0.0.1:9/bot"}), ledger, settings)
        assert "privacy_mode" in await warned(), "a check that learns nothing forgets nothing"
    async with TelegramRehearsal() as server:
        await check_connection(await add(ledger, settings, server), ledger, settings)
        assert "privacy_mode" not in await warned()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Connection("a", "telegram"), False),
        (Connection("a", "telegram", settings=dict(WEBHOOK)), True),
        (Connection("a", "slack", secret_names=("bot_token", "signing_secret")), True),
        (Connection("a", "slack", secret_names=("app_token", "bot_token")), False),
        (Connection("a", "slack", settings={"mode": "http"}, secret_names=("app_token",)), True),
        (Connection("a", "sms"), True),
        (Connection("a", "whatsapp"), True),
        (Connection("a", "whatsapp", settings={"unknown": 1}), False),
        (Connection("a", "no-such-channel"), False),
    ],
)
def test_whether_a_provider_has_to_reach_us(row, expected):
    assert is_by_webhook(row) is expected


async def test_slack_is_told_apart_in_the_same_way(ledger, settings):
    async with SlackRehearsal() as server:
        vault = load_vault(settings.key_path)
        row = Connection("team", "slack", settings={"base_url": server.base_url}, hook_secret="s3cret")
        secrets = {"bot_token": vault.seal(server.bot_token), "app_token": vault.seal(server.app_token)}
        await ledger.put_connection(row, secrets)
        report = await check_connection(row, ledger, settings)
        assert (report["ok"], report["account"]) == (True, "@rehearsal_bot in rehearsal")
        await server.say({"uninstall": True})
        assert codes(await check_connection(row, ledger, settings))["token"] is False
    assert (await stored(ledger))[0] == "needs_attention"


def event(n: int) -> InboundMessage:
    now = datetime.fromtimestamp(time.time(), UTC)
    return InboundMessage(
        id=f"m{n}",
        connection_id="shop",
        channel="telegram",
        kind="message",
        dedupe_keys=(f"e{n}",),
        conversation=Conversation("shop", "c1"),
        scope="dm",
        sender=Sender("u1"),
        text="hello",
        received_at=now,
    )
