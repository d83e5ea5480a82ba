"""What is said, as Web API calls, held to what Slack checks."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from channels.adapter import Call
from channels.message import Action, Attachment, Button, Conversation, OutboundMessage
from channels.slack.calls import BUTTON_ID, LINK_ID, render
from channels.slack.rehearsal.blocks import checked

DM = Conversation("team", "D1")
THREAD = Conversation("team", "C1", "1.2")
PLAIN: dict[str, Any] = {"unfurl_links": False, "unfurl_media": False, "mrkdwn": False}


def said(text: str = "hello", conversation: Conversation = THREAD, **more: Any) -> list[Call]:
    return render(OutboundMessage(conversation, text, scope="dm" if conversation == DM else "group", **more))


def elements(call: Call) -> list[Any]:
    blocks: Any = call.params["blocks"]
    return [element for block in blocks if block["type"] == "actions" for element in block["elements"]]


def test_a_reply_is_a_markdown_block_with_its_text_in_the_thread():
    (call,) = said("**hello** <!channel>")
    assert call == Call(
        "chat.postMessage",
        {
            "channel": "C1", "thread_ts": "1.2", **PLAIN, "text": "hello &lt;!channel&gt;",
            "blocks": [{"type": "markdown", "text": "**hello** &lt;!channel&gt;"}],
        },
        chat_id="C1",
        is_group=True,
        plain={"channel": "C1", "thread_ts": "1.2", **PLAIN, "text": "hello &lt;!channel&gt;"},
    )  # fmt: skip


def test_a_reply_in_a_private_chat_stays_at_the_top():
    (call,) = said(conversation=DM)
    assert "thread_ts" not in call.params
    assert (call.chat_id, call.is_group) == ("D1", False)


def test_a_long_reply_is_several_messages_with_the_buttons_under_the_last():
    first, *_, last = said("word " * 3000, buttons=(Button("yes", "Yes"),))
    assert not elements(first)
    assert [element["action_id"] for element in elements(last)] == ["0:yes"]
    assert {call.params["thread_ts"] for call in (first, last)} == {"1.2"}


def test_nothing_to_say_is_no_call():
    assert said("") == []
    assert said(" \n ") == []


def test_buttons_have_ids_of_their_own_and_come_back_with_the_one_they_were_made_with():
    buttons = (Button("slot", "Fri", "2026-01-02"), Button("slot", "Sat", "2026-01-03"), Button("7:x", "Odd"))
    (call,) = said(buttons=buttons)
    assert [BUTTON_ID.sub("", element["action_id"]) for element in elements(call)] == ["slot", "slot", "7:x"]
    assert [element.get("value") for element in elements(call)] == ["2026-01-02", "2026-01-03", None]
    assert call.plain is not None
    assert call.plain["text"] == "hello\n• Fri\n• Sat\n• Odd"


def test_a_button_that_opens_an_address_is_known_by_its_id():
    (call,) = said(buttons=(Button("site", "Site", url="https://example.com"),))
    (element,) = elements(call)
    assert element["action_id"].startswith(LINK_ID)
    assert element["url"] == "https://example.com"


def test_a_label_or_value_too_long_for_slack_is_not_sent_whole():
    (call,) = said(buttons=(Button("i" * 300, "L" * 80, "v" * 2001), Button("<b>", "a <b> & c")))
    long, odd = elements(call)
    assert long["text"]["text"] == "L" * 74 + "…"
    assert "value" not in long
    assert len(long["action_id"]) == 255
    assert odd["text"]["text"] == "a <b> & c"
    assert call.plain is not None
    assert str(call.plain["text"]).endswith("• a &lt;b&gt; &amp; c")


def test_files_go_before_the_text():
    menu = Attachment("document", path="/tmp/menu.pdf", name="Menu.pdf")
    photo = Attachment("image", path="/tmp/photo.png")
    not_fetched = Attachment("image", "F1")
    upload, other, post = said(attachments=(menu, photo, not_fetched))
    assert (upload.method, post.method) == ("files.upload", "chat.postMessage")
    assert upload.params == {
        "channel_id": "C1", "thread_ts": "1.2", "path": "/tmp/menu.pdf", "filename": "Menu.pdf",
    }  # fmt: skip
    assert other.params["filename"] == "photo.png"
    assert upload.chat_id == "C1"


def test_typing_shows_in_a_thread_only():
    (call,) = said("", purpose="typing")
    assert call.method == "assistant.threads.setStatus"
    assert (call.params["channel_id"], call.params["thread_ts"]) == ("C1", "1.2")
    assert said("", DM, purpose="typing") == []


def test_a_press_takes_the_buttons_away_where_the_rest_is_known():
    kept = '{"text": "Shall I?", "blocks": [{"type": "divider"}]}'
    (call,) = said("", purpose="ack", action=Action("yes", "yes", kept, "C1:3.4"))
    assert call.method == "chat.update"
    assert call.params == {"channel": "C1", "ts": "3.4", "text": "Shall I?", "blocks": [{"type": "divider"}]}
    assert said("", purpose="ack", action=Action("yes", "yes", "", "C1:3.4")) == []
    assert said("", purpose="ack") == []


def test_the_answer_to_a_slash_command_knows_its_way_back():
    url = "https://hooks.slack.com/commands/T1/1/x"
    (call,) = said(reply_to=url)
    assert call.params["response_url"] == url
    assert call.plain is not None
    assert call.plain["response_url"] == url
    (call,) = said(reply_to="C1:1.2")
    assert "response_url" not in call.params


@given(
    text=st.text(max_size=300),
    buttons=st.lists(
        st.builds(
            Button,
            st.text(min_size=1, max_size=300),
            st.text(max_size=100),
            st.text(max_size=50),
            st.sampled_from(["", "https://example.com/a"]),
        ),
        max_size=60,
    ),
)
def test_whatever_is_said_slack_takes(text, buttons):
    for call in said(text, buttons=tuple(buttons)):
        assert checked(call.params["blocks"])
        assert Call.from_json(call.to_json()) == call
