"""The real adapter sends, and fetches files, against the rehearsed Bot API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from channels.adapter import Call
from channels.errors import (
    ConversationMoved,
    SendRefused,
    SendRetry,
)
from channels.fetch import FetchFailed, FetchRefused
from channels.message import Attachment, Button, Conversation, OutboundMessage
from channels.rehearsal.faults import Fault
from channels.telegram.adapter import TelegramAdapter
from channels.telegram.rehearsal import TelegramRehearsal
from tests.channels.telegram.conftest import Shelf, opened, receiving, said

CONFIRM = Button("yes", "Yes")


def text_for(adapter: TelegramAdapter, chat: int, text: str = "**hello**", **more: Any) -> Call:
    (call,) = adapter.render(OutboundMessage(Conversation("line", str(chat)), text, **more))
    return call


def texts(server: TelegramRehearsal, chat: int) -> list[str]:
    return [message["text"] for message in server.world.chats[chat].messages.values()]


async def test_a_sent_message_has_a_receipt(server, adapter):
    chat, number = await said(server)
    receipt = await adapter.send(text_for(adapter, chat))
    assert (receipt.provider_ref, receipt.state, receipt.note) == (f"{chat}:{number + 1}", "sent", "")
    assert server.journal.since(str(chat), 0)[0].text == "hello"


async def test_typing_and_acknowledging_are_carried_out(server, adapter):
    chat, _ = await said(server)
    (typing,) = adapter.render(OutboundMessage(Conversation("line", str(chat)), purpose="typing"))
    assert (await adapter.send(typing)).provider_ref == ""
    shelf = Shelf()
    async with receiving(adapter, shelf):
        await shelf.has(1)
        (ask,) = adapter.render(OutboundMessage(Conversation("line", str(chat)), "Sure?", buttons=(CONFIRM,)))
        await adapter.send(ask)
        await server.say({"press": "Yes", "chat": str(chat)})
        await shelf.has(2)
    pressed = shelf.kept[1]
    assert pressed.action is not None
    for call in adapter.render(OutboundMessage(pressed.conversation, purpose="ack", action=pressed.action)):
        await adapter.send(call)
    assert server.world.queries == set()
    assert "reply_markup" not in list(server.world.chats[chat].messages.values())[-1]


async def test_being_told_to_slow_down_is_a_retry_after_that_time(server, adapter):
    chat, _ = await said(server)
    server.faults.add(Fault(method="sendMessage", status=429, retry_after=7))
    with pytest.raises(SendRetry) as refused:
        await adapter.send(text_for(adapter, chat))
    assert (refused.value.after, refused.value.sent) == (7.0, False)


async def test_being_told_to_slow_down_without_a_time_was_not_sent_either(server, adapter):
    chat, _ = await said(server)
    server.faults.add(Fault(method="sendMessage", status=429, retry_after=0, description="Too Many Requests"))
    with pytest.raises(SendRetry) as refused:
        await adapter.send(text_for(adapter, chat))
    assert (refused.value.after, refused.value.sent) == (None, False)


async def test_a_file_larger_than_the_server_takes_is_refused_for_good(server, adapter):
    chat, _ = await said(server)
    server.faults.add(Fault(method="sendMessage", status=413, description="Request Entity Too Large"))
    with pytest.raises(SendRefused, match="larger than"):
        await adapter.send(text_for(adapter, chat))


async def test_a_method_there_is_not_says_nothing_of_the_token(server, adapter):
    with pytest.raises(SendRefused) as refused:
        await adapter.send(Call("sendSmoke", {}))
    assert refused.value.connection_broken is False


@pytest.mark.parametrize(
    "fault", [{"status": 500}, {"status": 502, "description": "Bad Gateway"}, {"drop": "before"}, {"drop": "after"}]
)
async def test_an_answer_that_says_nothing_is_a_retry_of_unknown_outcome(server, adapter, fault):
    chat, _ = await said(server)
    server.faults.add(Fault(method="sendMessage", **fault))
    with pytest.raises(SendRetry) as refused:
        await adapter.send(text_for(adapter, chat))
    assert (refused.value.after, refused.value.sent) == (None, None)
    assert (await adapter.send(text_for(adapter, chat))).provider_ref


async def test_a_server_that_cannot_be_reached_was_not_sent_to(server):
    async with opened(server, base_url="http://127.0.0.1:9/bot") as adapter:
        with pytest.raises(SendRetry) as refused:
            await adapter.send(text_for(adapter, 1))
    assert refused.value.sent is False


@pytest.mark.parametrize("words", ["bot was blocked by the user", "user is deactivated", "bot was kicked"])
async def test_a_barred_bot_is_refused_for_good(server, adapter, words):
    chat, _ = await said(server)
    await server.say({"bar": words, "chat": str(chat)})
    with pytest.raises(SendRefused) as refused:
        await adapter.send(text_for(adapter, chat))
    assert words in refused.value.reason
    assert refused.value.connection_broken is False


async def test_a_chat_there_is_not_is_refused_for_good(server, adapter):
    with pytest.raises(SendRefused, match="Chat not found"):
        await adapter.send(text_for(adapter, 404))


async def test_a_group_that_moved_tells_where(server, adapter):
    chat, _ = await said(server, chat="bakery", kind="group")
    new = (await server.say({"migrate": True, "chat": str(chat)}))["chat"]
    with pytest.raises(ConversationMoved) as moved:
        await adapter.send(text_for(adapter, chat))
    assert moved.value.chat_id == new


async def test_refused_markup_goes_out_plain(server, adapter):
    chat, _ = await said(server)
    params: dict[str, Any] = {"chat_id": chat, "text": "<b>hello", "parse_mode": "HTML"}
    receipt = await adapter.send(Call("sendMessage", params, plain={"chat_id": chat, "text": "hello"}))
    assert "plain text" in receipt.note
    assert [reply.text for reply in server.journal.since(str(chat), 0)] == ["hello"]
    with pytest.raises(SendRefused, match=r"(?i)can't parse entities"):
        await adapter.send(Call("sendMessage", params))


async def test_a_reply_to_what_is_gone_goes_out_without_it(server, adapter):
    chat, _ = await said(server, chat="shop", kind="forum", thread=7)
    params: dict[str, Any] = {"chat_id": chat, "text": "hello", "message_thread_id": 7}
    receipt = await adapter.send(Call("sendMessage", {**params, "reply_parameters": {"message_id": 99}}))
    assert "gone" in receipt.note
    last = list(server.world.chats[chat].messages.values())[-1]
    assert last["message_thread_id"] == 7, "the topic is still there"


async def test_a_message_for_a_topic_that_is_gone_goes_to_the_group(server, adapter):
    chat, _ = await said(server, chat="bakery")
    topic: dict[str, Any] = {"chat_id": chat, "message_thread_id": 7}
    markup = {"text": "<b>hello", "parse_mode": "HTML"}
    receipt = await adapter.send(Call("sendMessage", {**topic, **markup}, plain={**topic, "text": "hello"}))
    assert "plain text" in receipt.note
    assert "gone" in receipt.note
    last = list(server.world.chats[chat].messages.values())[-1]
    assert (last["text"], "message_thread_id" in last) == ("hello", False)


async def test_a_refused_button_does_not_take_the_reply_with_it(server, adapter):
    chat, _ = await said(server)
    call = text_for(adapter, chat, "see", buttons=(Button("site", "Site", url="nonsense:/"),))
    assert "reply_markup" in call.params
    receipt = await adapter.send(call)
    assert "without buttons" in receipt.note
    assert texts(server, chat)[-1] == "see"


async def test_an_edit_that_changes_nothing_is_done(server, adapter):
    chat, _ = await said(server)
    ref = (await adapter.send(text_for(adapter, chat, "hello"))).provider_ref
    number = int(ref.rpartition(":")[2])
    edit = Call("editMessageText", {"chat_id": chat, "message_id": number, "text": "hello"})
    assert (await adapter.send(edit)).note == "Nothing had changed."


@pytest.mark.parametrize("token", ["1000000001:" + "X" * 35, "malformed"])
async def test_sending_with_a_bad_token_says_that_the_connection_is_broken(server, token):
    async with opened(server, token=token) as adapter:
        with pytest.raises(SendRefused) as refused:
            await adapter.send(text_for(adapter, 1))
    assert refused.value.connection_broken is True
    assert refused.value.fix


# files


def attachment(file_id: str) -> Attachment:
    return Attachment("document", provider_ref=file_id)


async def test_a_file_is_sent_from_disk_and_fetched_from_telegram(server, adapter, tmp_path: Path):
    chat, _ = await said(server)
    path = tmp_path / 'menü #1? "a".pdf'
    path.write_bytes(b"%PDF" * 1000)
    await adapter.send(Call("sendDocument", {"chat_id": chat, "document": {"path": str(path)}}))
    file = list(server.world.chats[chat].messages.values())[-1]["document"]
    assert file["file_name"] == path.name
    await adapter.send(Call("sendDocument", {"chat_id": chat, "document": {"path": str(path), "name": "menu.pdf"}}))
    assert list(server.world.chats[chat].messages.values())[-1]["document"]["file_name"] == "menu.pdf"
    got = [chunk async for chunk in adapter.fetch(attachment(file["file_id"]), 10_000)]
    assert b"".join(got) == path.read_bytes()


async def test_a_file_that_is_not_on_disk_is_refused_for_good(server, adapter, tmp_path: Path):
    chat, _ = await said(server)
    with pytest.raises(SendRefused, match="can't be read"):
        await adapter.send(Call("sendDocument", {"chat_id": chat, "document": {"path": str(tmp_path / "none")}}))


async def test_a_file_too_large_or_unknown_is_not_fetched(server, adapter):
    server.world.files["large"] = ("a", b"0" * 1000)
    with pytest.raises(FetchRefused):
        [chunk async for chunk in adapter.fetch(attachment("large"), 999)]
    with pytest.raises(FetchRefused) as failed:
        [chunk async for chunk in adapter.fetch(attachment("nothing"), 999)]
    assert server.token not in str(failed.value)


async def test_a_file_that_telegram_cannot_give_now_is_worth_another_try(server, adapter):
    server.world.files["a"] = ("a", b"bytes")
    server.faults.add(Fault(method="getFile", status=500))
    with pytest.raises(FetchFailed):
        [chunk async for chunk in adapter.fetch(attachment("a"), 999)]
    assert [chunk async for chunk in adapter.fetch(attachment("a"), 999)] == [b"bytes"]
