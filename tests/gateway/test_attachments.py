"""Received files: kept once, named by content, laid into their conversation's inbox."""

from __future__ import annotations

from dataclasses import replace

import pytest

from channels.fetch import FetchFailed, FetchRefused
from channels.message import Attachment, Conversation, InboundMessage, Sender
from gateway.attachments import Attachments, sniff

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


class Files:
    """An adapter as far as files go: bytes by reference, errors as often as told."""

    def __init__(self, files: dict[str, bytes], errors: list[Exception] | None = None) -> None:
        self.files = files
        self.errors = errors or []

    async def fetch(self, attachment, max_bytes):
        if self.errors:
            raise self.errors.pop(0)
        content = self.files[attachment.provider_ref]
        for start in range(0, len(content), 7):
            yield content[start : start + 7]


def message(*refs: str, id: str = "01A") -> InboundMessage:
    return InboundMessage(
        id=id,
        connection_id="shop",
        channel="telegram",
        kind="message",
        dedupe_keys=(id,),
        conversation=Conversation("shop", "../7"),
        scope="dm",
        sender=Sender("7"),
        attachments=tuple(Attachment("image", ref, media_type="text/html", name="x.html") for ref in refs),
    )


async def test_a_file_is_laid_into_the_inbox_under_its_real_type(tmp_path):
    store = Attachments(tmp_path)
    fetched = await store.fetch(Files({"a": PNG}), message("a"))
    (attachment,) = fetched.attachments
    assert (attachment.media_type, attachment.size, attachment.path) == ("image/png", len(PNG), "inbox/01A-0.png")
    inbox = store.inbox(fetched.conversation)
    assert (inbox / "01A-0.png").read_bytes() == PNG
    assert inbox.parent == tmp_path / "inbox"


async def test_only_images_are_fetched_for_an_agent_that_reads_no_files(tmp_path):
    kinds = [("image", ""), ("document", "image/png"), ("document", "application/pdf"), ("voice", "audio/ogg")]
    files = tuple(Attachment(kind, "a", media_type=media_type) for kind, media_type in kinds)
    fetched = await Attachments(tmp_path).fetch(
        Files({"a": PNG}), replace(message(), attachments=files), only_images=True
    )
    assert [a.path for a in fetched.attachments] == ["inbox/01A-0.png", "inbox/01A-1.png", None, None]


async def test_the_same_bytes_are_stored_once_and_a_second_try_finds_them(tmp_path):
    store = Attachments(tmp_path)
    for id in ("01A", "01B", "01B"):
        await store.fetch(Files({"a": PNG}), message("a", id=id))
    assert sum(1 for p in (tmp_path / "attachments").rglob("*") if p.is_file()) == 1


async def test_a_passing_failure_is_tried_again_and_a_refusal_is_not(tmp_path):
    store = Attachments(tmp_path)
    again = await store.fetch(Files({"a": PNG}, [FetchFailed("503")]), message("a"))
    assert again.attachments[0].path is not None
    files = Files({"a": PNG}, [FetchRefused("too large")])
    refused = await store.fetch(files, message("a"))
    assert refused.attachments[0].path is None
    assert "too large" in refused.attachments[0].name


async def test_a_fetch_that_breaks_off_leaves_nothing_behind(tmp_path):
    async def broken():
        yield b"half"
        raise FetchFailed("gone")

    with pytest.raises(FetchFailed):
        await Attachments(tmp_path).keep(broken())
    assert list((tmp_path / "attachments").iterdir()) == []


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (PNG, "image/png"),
        (b"OggS\0\x02" + b"\0" * 22 + b"OpusHead", "audio/ogg"),
        (b"%PDF-1.7\n", "application/pdf"),
        ("grüße".encode(), "text/plain"),
        (b"\0\1\2\xff", "application/octet-stream"),
        (b"a\0b", "application/octet-stream"),
        (b"", "text/plain"),
    ],
)
def test_a_type_is_what_the_bytes_say(head, media_type):
    assert sniff(head)[0] == media_type


def test_text_cut_in_the_middle_of_a_character_is_still_text():
    assert sniff(b"x" + ("é" * 5000).encode()[:8191])[0] == "text/plain"
