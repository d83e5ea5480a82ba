"""What each answer of Slack means for a delivery, through slack-sdk's own client."""

from __future__ import annotations

from typing import Any

import pytest

from channels.adapter import Call, Receipt
from channels.errors import SendRefused, SendRetry
from channels.slack.adapter import SlackAdapter
from tests.channels.slack.support import FarEnd, Page, far_end, opened

POSTED = {"ok": True, "channel": "C1", "ts": "1.2"}
PARAMS: dict[str, Any] = {"channel": "C1", "thread_ts": "1.1", "text": "hi", "blocks": [{"type": "divider"}]}
CALL = Call("chat.postMessage", PARAMS, "C1", plain={"channel": "C1", "thread_ts": "1.1", "text": "hi"})


@pytest.fixture
async def far():
    async with far_end() as far:
        yield far


@pytest.fixture
async def adapter(far: FarEnd):
    async with opened(f"{far.url}/api/") as adapter:
        yield adapter


def failed(code: str, **more: Any) -> dict[str, Any]:
    return {"ok": False, "error": code, **more}


async def retry(adapter: SlackAdapter, call: Call = CALL) -> SendRetry:
    with pytest.raises(SendRetry) as error:
        await adapter.send(call)
    return error.value


async def refusal(adapter: SlackAdapter, call: Call = CALL) -> SendRefused:
    with pytest.raises(SendRefused) as error:
        await adapter.send(call)
    return error.value


async def test_a_post_is_sent_as_it_is_and_its_receipt_names_channel_and_ts(far, adapter):
    far.answer("chat.postMessage", POSTED)
    assert await adapter.send(CALL) == Receipt("C1:1.2")
    assert far.calls == [("chat.postMessage", PARAMS)]


@pytest.mark.parametrize(
    "code",
    ["channel_not_found", "not_in_channel", "is_archived", "msg_too_long", "no_text", "restricted_action", "new_code"],
)
async def test_a_permanent_error_is_a_refusal_of_this_call(far, adapter, code):
    far.answer("chat.postMessage", failed(code))
    error = await refusal(adapter)
    assert (error.reason, error.connection_broken) == (code, False)
    assert code in error.message
    assert len(far.calls) == 1


@pytest.mark.parametrize("code", ["invalid_auth", "account_inactive", "token_revoked", "not_authed", "token_expired"])
async def test_a_token_that_is_no_longer_good_breaks_the_connection(far, adapter, code):
    far.answer("chat.postMessage", failed(code))
    error = await refusal(adapter)
    assert (error.reason, error.connection_broken) == (code, True)
    assert error.fix


async def test_a_missing_scope_is_named(far, adapter):
    far.answer("chat.postMessage", failed("missing_scope", needed="chat:write", provided="im:history"))
    error = await refusal(adapter)
    assert error.connection_broken
    assert "chat:write" in error.message


@pytest.mark.parametrize(
    ("answer", "after"),
    [
        (Page(429, '{"ok": false, "error": "ratelimited"}', "application/json", {"Retry-After": "30"}), 30.0),
        (Page(429, "slow down", headers={"Retry-After": "2"}), 2.0),
        (Page(429, "slow down", headers={"Retry-After": "soon"}), None),
        (Page(429), None),
        (failed("rate_limited"), None),
    ],
)
async def test_the_pause_that_slack_asks_for_is_passed_on(far, adapter, answer, after):
    far.answer("chat.postMessage", answer)
    error = await retry(adapter)
    assert (error.after, error.sent) == (after, False)
    assert len(far.calls) == 1, "the library waits for nothing by itself"


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (failed("service_unavailable"), False),
        (failed("team_added_to_org"), False),
        (failed("internal_error"), None),
        (failed("fatal_error"), None),
        (Page(500, "oops"), None),
        (Page(503, "<html></html>", "text/html"), None),
        (Page(500, '{"ok": false, "error": "internal_error"}', "application/json"), None),
        (Page(200, "<html>a proxy's page</html>", "text/html"), None),
        (Page(200, "[1]", "application/json"), None),
        (Page(200, "{", "application/json"), None),
        (Page(200, "null", "application/json"), None),
        (Page(200, "ok"), None),
        ({}, None),
        (None, None),
    ],
)
async def test_what_may_pass_is_tried_again_and_says_whether_it_may_have_been_done(far, adapter, answer, sent):
    far.answer("chat.postMessage", answer)
    error = await retry(adapter)
    assert (error.after, error.sent) == (None, sent)
    assert len(far.calls) == 1, "the library tries nothing again by itself"


async def test_a_server_that_is_not_there_has_done_nothing():
    async with far_end() as far:
        pass
    async with opened(f"{far.url}/api/") as adapter:
        assert (await retry(adapter)).sent is False


async def test_no_answer_in_time_may_have_been_done(far, adapter, monkeypatch):
    monkeypatch.setattr("channels.slack.client.CALL_SECONDS", 0.1)
    far.answer("chat.postMessage", {"hang": True})
    assert (await retry(adapter)).sent is None


@pytest.mark.parametrize("code", ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"])
async def test_refused_blocks_are_sent_as_plain_text(far, adapter, code):
    complaint = {"response_metadata": {"messages": ["[ERROR] must be less than 12001 characters"]}}
    far.answer("chat.postMessage", failed(code, **complaint), POSTED)
    receipt = await adapter.send(CALL)
    assert receipt.provider_ref == "C1:1.2"
    assert "plain" in receipt.note
    assert [params for _, params in far.calls] == [PARAMS, CALL.plain]


async def test_plain_text_that_is_refused_as_well_is_a_refusal_with_the_complaint(far, adapter):
    complaint = {"response_metadata": {"messages": ["[ERROR] must be less than 12001 characters"]}}
    far.answer("chat.postMessage", failed("invalid_blocks", **complaint))
    error = await refusal(adapter)
    assert "12001" in error.message
    assert len(far.calls) == 2


@pytest.mark.parametrize("code", ["thread_not_found", "cannot_reply_to_message", "invalid_thread_ts"])
async def test_a_reply_outlives_its_thread(far, adapter, code):
    far.answer("chat.postMessage", failed(code), POSTED)
    assert "thread" in (await adapter.send(CALL)).note
    assert "thread_ts" not in far.calls[1][1]
    far.answer("chat.postMessage", failed(code), failed("invalid_blocks"), POSTED)
    receipt = await adapter.send(CALL)
    assert "thread" in receipt.note
    assert "plain" in receipt.note
    assert far.calls[-1][1] == {"channel": "C1", "text": "hi"}


# where a slash command was used but the bot isn't


def commanded(url: str) -> Call:
    return Call("chat.postMessage", {**PARAMS, "response_url": url}, "C1")


async def test_a_command_where_the_bot_is_not_is_answered_at_its_own_address(far, adapter):
    far.answer("chat.postMessage", failed("not_in_channel"))
    far.answer("respond", Page(text="ok"))
    receipt = await adapter.send(commanded(f"{far.url}/hooks/respond"))
    assert receipt.note
    assert far.calls[0] == ("chat.postMessage", PARAMS)
    assert far.calls[1][1] == {
        "text": "hi", "blocks": PARAMS["blocks"], "response_type": "ephemeral", "replace_original": False,
    }  # fmt: skip


async def test_a_command_where_the_bot_is_is_answered_there(far, adapter):
    far.answer("chat.postMessage", POSTED)
    assert await adapter.send(commanded(f"{far.url}/hooks/respond")) == Receipt("C1:1.2")
    assert far.methods == ["chat.postMessage"]


@pytest.mark.parametrize("status", [404, 410, 400])
async def test_an_address_that_is_used_up_leaves_the_refusal(far, adapter, status):
    far.answer("chat.postMessage", failed("channel_not_found"))
    far.answer("respond", Page(status, "used_url"))
    assert (await refusal(adapter, commanded(f"{far.url}/hooks/respond"))).reason == "channel_not_found"


async def test_an_address_that_fails_for_now_is_tried_again(far, adapter):
    far.answer("chat.postMessage", failed("not_in_channel"))
    far.answer("respond", Page(429, headers={"Retry-After": "3"}), Page(502))
    assert (await retry(adapter, commanded(f"{far.url}/hooks/respond"))).after == 3.0
    assert (await retry(adapter, commanded(f"{far.url}/hooks/respond"))).sent is None


@pytest.mark.parametrize(
    "url", ["https://hooks.slack.com.example.org/x", "http://127.0.0.1:1/x", "https://hooks.slack.com:8443/x"]
)
async def test_no_other_address_is_ever_asked(far, adapter, url):
    far.answer("chat.postMessage", failed("not_in_channel"))
    assert (await refusal(adapter, commanded(url))).reason == "not_in_channel"


# files


@pytest.fixture
def upload(tmp_path):
    path = tmp_path / "menu.pdf"
    path.write_bytes(b"%PDF menu")
    params = {"channel_id": "C1", "thread_ts": "1.1", "path": str(path), "filename": "Menu.pdf"}
    return Call("files.upload", params, "C1")


async def test_a_file_is_announced_uploaded_and_shared(far, adapter, upload):
    far.answer("files.getUploadURLExternal", {"ok": True, "upload_url": f"{far.url}/files/put", "file_id": "F1"})
    far.answer("put", Page(text="OK - 9"))
    far.answer("files.completeUploadExternal", {"ok": True, "files": [{"id": "F1", "title": "Menu.pdf"}]})
    assert await adapter.send(upload) == Receipt("F1")
    announced, put, shared = far.calls
    assert (announced[1]["filename"], announced[1]["length"]) == ("Menu.pdf", "9")
    assert put[1]["body"] == b"%PDF menu"
    assert shared[1] == {"channel_id": "C1", "thread_ts": "1.1", "files": [{"id": "F1", "title": "Menu.pdf"}]}


async def test_a_file_that_was_not_shared_was_not_sent(far, adapter, upload):
    far.answer("files.getUploadURLExternal", None)
    assert (await retry(adapter, upload)).sent is False
    far.answer("files.getUploadURLExternal", {"ok": True, "upload_url": f"{far.url}/files/put", "file_id": "F1"})
    far.answer("put", None, Page(500), Page(text="OK"))
    assert (await retry(adapter, upload)).sent is False
    assert (await retry(adapter, upload)).sent is False
    far.answer("files.completeUploadExternal", None, failed("not_in_channel"))
    assert (await retry(adapter, upload)).sent is None
    assert (await refusal(adapter, upload)).reason == "not_in_channel"


async def test_a_file_that_is_gone_or_empty_is_a_refusal(far, adapter, upload, tmp_path):
    (tmp_path / "menu.pdf").write_bytes(b"")
    assert (await refusal(adapter, upload)).reason == "empty_file"
    (tmp_path / "menu.pdf").unlink()
    assert (await refusal(adapter, upload)).reason == "FileNotFoundError"
    assert far.calls == []
