"""The terminal: what is said is shown as it is, and a file by where it lies."""

from __future__ import annotations

from channels.adapter import OpenConnection
from channels.local.channel import local_channel
from channels.message import Attachment, Conversation, OutboundMessage


async def test_a_file_is_shown_by_where_it_lies():
    heard = []
    channel = local_channel(heard.append)
    async with channel.open(OpenConnection("terminal", channel.settings(), {})) as adapter:
        file = Attachment("image", name="menu.png", path="/home/attachments/ab/abcd")
        for call in adapter.render(OutboundMessage(Conversation("terminal", "me"), "Here:", attachments=(file,))):
            await adapter.send(call)
    assert [call.params["text"] for call in heard] == ["Here:\n[menu.png: /home/attachments/ab/abcd]"]
