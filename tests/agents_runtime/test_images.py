"""Images that people send: what a model is shown of them, what it isn't and who is told, and what is stored."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart

from agents_runtime.history import decode, encode, estimate
from agents_runtime.images import AGAIN, MOST, TOGETHER, TOKENS
from agents_runtime.models import ModelCatalogue, ModelUnknown
from agents_runtime.run import ModelFailed, RunResult
from agents_runtime.runner import Runner
from agents_runtime.tools.skills import EXECUTE_SKILL
from channels.message import Attachment, InboundMessage
from tests.support.runs import FunctionModels, calls, message, package, request, skill, tools
from tests.support.scripted_model import Asked, Reply, ScriptedModel

PNG = b"\x89PNG\r\n\x1a\n" + b"door" * 8
IN_BASE64 = base64.b64encode(PNG).decode()
BOTH = ["openai-chat:small", "anthropic:small"]


def photo(inbox: Path, name: str = "1.png", data: bytes = PNG, media_type: str = "image/png") -> Attachment:
    """A fetched image, lying in the inbox."""
    inbox.mkdir(exist_ok=True)
    (inbox / name).write_bytes(data)
    return Attachment("image", media_type=media_type, size=len(data), path=f"inbox/{name}")


def look(*photos: Attachment, text: str = "what is this?") -> InboundMessage:
    return message(text, attachments=photos)


def shown(asked: Asked) -> list[list[str]]:
    """What a provider got in each message of the user: the kinds of its parts, and texts as they are."""
    users = [m["content"] for m in asked.body["messages"] if m["role"] == "user"]
    return [
        [content] if isinstance(content, str) else [part.get("text", part["type"]) for part in content]
        for content in users
    ]


def items(models: FunctionModels, step: int) -> list[str]:
    """The content of the last message at a step; an image is its path."""
    parts = [p for p in models.asked[step][-1].parts if isinstance(p, UserPromptPart)]
    content = [parts[0].content] if isinstance(parts[0].content, str) else parts[0].content
    return [item.identifier if isinstance(item, BinaryContent) else str(item) for item in content]


async def ask(specs: Sequence[str], script: Any, *turns: InboundMessage, inbox: Path) -> tuple[Any, list[RunResult]]:
    """Turns of one conversation over the real clients; what the provider got, and the results."""
    results: list[RunResult] = []
    async with ScriptedModel(script) as provider:
        models = ModelCatalogue(list(specs), provider.env, retries=0)
        runner, history = Runner(models, {}), b""
        for turn in turns:
            results.append(await runner.run(request(package(), turn, history=history, inbox=inbox)))
            history = results[-1].history
        await models.close()
    return provider.requests, results


# shown


@pytest.mark.parametrize("spec", BOTH)
async def test_an_image_is_shown_before_the_text(spec: str, tmp_path: Path) -> None:
    (sent,), (result,) = await ask([spec], ["A door."], look(photo(tmp_path)), inbox=tmp_path)

    (user,) = [m["content"] for m in sent.body["messages"] if m["role"] == "user"]
    image, text = user
    if spec.startswith("openai"):
        assert image == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IN_BASE64}"}}
    else:
        assert image["source"] == {"type": "base64", "media_type": "image/png", "data": IN_BASE64}
    assert text["text"] == "what is this?\n[image, image/png, 40 bytes: inbox/1.png]"
    assert (result.text, result.notes) == ("A door.", ())
    assert dict(result.prompt_parts)["messages"] == TOKENS + len(text["text"]) // 4


async def test_several_images_keep_their_order(tmp_path: Path) -> None:
    models = FunctionModels("Two doors.", image_bytes=1_000)
    first, second = look(photo(tmp_path, "1.png")), look(photo(tmp_path, "2.png"), photo(tmp_path, "3.png"))
    await Runner(models, {}).run(request(package(), first, second, inbox=tmp_path))

    assert items(models, 0)[:-1] == ["inbox/1.png", "inbox/2.png", "inbox/3.png"]


async def test_a_sub_skill_is_shown_the_images_of_the_turn(tmp_path: Path) -> None:
    models = FunctionModels(
        calls(("execute_skill", {"name": "receipts", "input": "add up"})), "12.50", "It is 12.50.", image_bytes=1_000
    )
    agent = package(skills=[skill("receipts", "Add up.")], allowed_tools=("execute_skill",))
    await Runner(models, tools(EXECUTE_SKILL)).run(request(agent, look(photo(tmp_path)), inbox=tmp_path))

    assert items(models, 1) == ["inbox/1.png", "add up"]


# stored by name, and shown again for a while


@pytest.mark.parametrize("spec", BOTH)
async def test_an_image_is_shown_again_while_people_ask_on(spec: str, tmp_path: Path) -> None:
    turns = [look(photo(tmp_path)), *(message(f"and {n}?") for n in range(AGAIN + 1))]
    sent, results = await ask([spec], lambda _asked: "A door.", *turns, inbox=tmp_path)

    kind = "image_url" if spec.startswith("openai") else "image"
    assert [kind in shown(one)[0] for one in sent] == [True] * (AGAIN + 1) + [False]
    line = "[image, image/png, 40 bytes: inbox/1.png]"
    assert shown(sent[-1])[0] == [f"[inbox/1.png was shown here]\nwhat is this?\n{line}"]
    assert all(IN_BASE64[:20].encode() not in result.history for result in results)


async def test_an_image_that_is_gone_from_the_inbox_is_a_line_of_text(tmp_path: Path) -> None:
    models = FunctionModels("A door.", "Blue.", image_bytes=1_000)
    runner = Runner(models, {})
    first = await runner.run(request(package(), look(photo(tmp_path)), inbox=tmp_path))
    (tmp_path / "1.png").unlink()
    second = await runner.run(request(package(), "which colour?", history=first.history, inbox=tmp_path))

    (part,) = models.asked[1][0].parts
    assert str(part.content).startswith("[inbox/1.png was shown here]\nwhat is this?")
    assert second.text == "Blue."


async def test_a_newer_image_takes_the_room_of_an_older_one(tmp_path: Path) -> None:
    models = FunctionModels("Old.", "New.", image_bytes=1_000)
    runner = Runner(models, {})
    first = await runner.run(request(package(), look(photo(tmp_path, "old.png")), inbox=tmp_path))
    new = [photo(tmp_path, f"{n}.png") for n in range(MOST)]
    second = await runner.run(request(package(), look(*new), history=first.history, inbox=tmp_path))

    assert isinstance(models.asked[1][0].parts[0].content, str)
    assert len(items(models, 1)) == MOST + 1
    assert second.notes == ()


@given(st.lists(st.lists(st.one_of(st.text(max_size=40), st.binary(min_size=30, max_size=60)), min_size=1), max_size=5))
def test_no_image_is_ever_stored(turns: list[list[str | bytes]]) -> None:
    messages = [
        ModelRequest(
            parts=[
                UserPromptPart(
                    [
                        item if isinstance(item, str) else BinaryContent(item, media_type="image/png", identifier="i")
                        for item in turn
                    ]
                )
            ]
        )
        for turn in turns
    ]
    stored = encode(messages)
    back, note = decode(stored)

    assert note == ""
    assert len(back) == len(messages)
    assert b'"binary"' not in stored
    images = sum(isinstance(item, bytes) for turn in turns for item in turn)
    assert stored.count(b"was shown here]") >= images
    assert images * TOKENS <= estimate(messages) <= images * TOKENS + 10 * len(turns) * 40 + estimate(back)


# not shown: said to the model, and noted


async def test_only_the_newest_images_are_shown(tmp_path: Path) -> None:
    models = FunctionModels("Many.", image_bytes=1_000)
    photos = [photo(tmp_path, f"{n}.png") for n in range(MOST + 1)]
    result = await Runner(models, {}).run(request(package(), look(*photos), inbox=tmp_path))

    *paths, text = items(models, 0)
    assert paths == [f"inbox/{n}.png" for n in range(1, MOST + 1)]
    assert text.endswith("[inbox/0.png is not shown: only the newest 10 images and 20 MB are]")
    assert result.notes == ("inbox/0.png was not shown to the model: only the newest 10 images and 20 MB are.",)


async def test_images_are_shown_as_far_as_their_bytes_fit(tmp_path: Path) -> None:
    models = FunctionModels("Two.", image_bytes=TOGETHER)
    large = [photo(tmp_path, f"{n}.png", PNG + b"\0" * (TOGETHER // 2 - 100)) for n in range(3)]
    await Runner(models, {}).run(request(package(), look(*large), inbox=tmp_path))

    assert items(models, 0)[:-1] == ["inbox/1.png", "inbox/2.png"]


@pytest.mark.parametrize(
    ("media_type", "there", "why"),
    [
        ("image/heic", True, "models take PNG, JPEG, GIF and WebP"),
        ("image/png", False, "the file can't be read"),
    ],
)
async def test_what_is_no_image_for_a_model_is_said(media_type: str, there: bool, why: str, tmp_path: Path) -> None:
    models = FunctionModels("I can't see it.", image_bytes=1_000)
    one = photo(tmp_path, "1.bin", media_type=media_type)
    if not there:
        (tmp_path / "1.bin").unlink()
    result = await Runner(models, {}).run(request(package(), look(one), inbox=tmp_path))

    (text,) = items(models, 0)
    assert text.splitlines()[-1] == f"[inbox/1.bin is not shown: {why}]"
    assert result.notes == (f"inbox/1.bin was not shown to the model: {why}.",)


async def test_an_image_larger_than_a_model_takes_is_kept_from_it(tmp_path: Path) -> None:
    models = FunctionModels("One.", "Still one.", image_bytes=1_000)
    runner = Runner(models, {})
    photos = photo(tmp_path, "large.png", PNG + b"\0" * 1_000), photo(tmp_path, "small.png")
    first = await runner.run(request(package(), look(*photos), inbox=tmp_path))
    await runner.run(request(package(), "sure?", history=first.history, inbox=tmp_path))

    assert items(models, 0)[:2] == ["[inbox/large.png is not shown]", "inbox/small.png"]
    assert first.notes == ("The model test takes images up to 0.001 MB: it was not shown inbox/large.png.",)
    content = models.asked[1][0].parts[0].content
    assert content[0] == "[inbox/large.png is not shown]"
    assert isinstance(content[1], BinaryContent)


async def test_a_model_that_takes_no_images_gets_the_text(tmp_path: Path) -> None:
    agent = package("## Opening hours\n\nWe are open nine to six.")
    models = ModelCatalogue(["extractive"], {})
    result = await Runner(models, {}).run(
        request(agent, look(photo(tmp_path), text="what are your opening hours?"), inbox=tmp_path)
    )

    assert result.text == "We are open nine to six."
    assert result.notes == ("The model extractive takes no images: it was not shown inbox/1.png.",)
    assert b"mediaType" not in result.history, "an image that was not shown is not shown again"


# refused: the same model answers from the text

REFUSALS = [
    Reply(status=400, message="Invalid content type. image_url is only supported by certain models."),
    Reply(status=413, message="Request too large"),
    Reply(status=422, message="Input should be 'text'"),
    Reply(status=404, message="No endpoints found that support image input"),
    Reply(status=500, message="image input is not supported - hint: you may need to provide the mmproj"),
]


def blind(refusal: Reply) -> Any:
    """A provider that refuses images in this way."""
    return lambda asked: refusal if "image" in str(asked.body["messages"][-1]["content"][0]) else "A text."


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda reply: str(reply.status))
async def test_a_model_that_refuses_images_is_asked_with_the_text(refusal: Reply, tmp_path: Path) -> None:
    specs = ["openai-chat:small", "openai-chat:other"]
    turns = look(photo(tmp_path)), message("and now?")
    sent, (first, second) = await ask(specs, blind(refusal), *turns, inbox=tmp_path)

    assert [one.body["model"] for one in sent] == ["small", "small", "small"]
    line = "[inbox/1.png is not shown]\nwhat is this?\n[image, image/png, 40 bytes: inbox/1.png]"
    assert shown(sent[1]) == [[line]]
    assert shown(sent[2]) == [[line], ["and now?"]], "what was refused is not shown again"
    assert (first.text, first.model, len(first.steps)) == ("A text.", "openai-chat:small", 1)
    assert first.notes == ("The model openai-chat:small refused the images, so it was given the text alone.",)
    assert second.notes == ()


async def test_a_refused_image_is_not_sent_again_in_the_same_turn(tmp_path: Path) -> None:
    refused = Reply(status=400, message="no images")
    script = [refused, Reply("Wait.", calls=(("read", {}),)), "Done."]
    sent, (result,) = await ask(["openai-chat:small"], script, look(photo(tmp_path)), inbox=tmp_path)

    assert ["image_url" in shown(one)[0] for one in sent] == [True, False, False]
    assert len(result.notes) == 1


async def test_a_model_that_fails_without_images_too_leaves_them_to_the_next(tmp_path: Path) -> None:
    def script(asked: Asked) -> Reply:
        return Reply(status=400) if asked.body["model"] == "small" else Reply("A door.")

    specs = ["openai-chat:small", "openai-chat:large"]
    sent, (result,) = await ask(specs, script, look(photo(tmp_path)), inbox=tmp_path)

    assert [(one.body["model"], shown(one)[0][0]) for one in sent] == [
        ("small", "image_url"),
        ("small", "[inbox/1.png is not shown]\nwhat is this?\n[image, image/png, 40 bytes: inbox/1.png]"),
        ("large", "image_url"),
    ]
    assert (result.text, result.model) == ("A door.", "openai-chat:large")
    assert result.notes == ("The model openai-chat:small rejected the request (HTTP 400).",)


@pytest.mark.parametrize("status", [401, 402, 403, 404, 429, 500, 503])
async def test_what_has_nothing_to_do_with_images_is_not_asked_twice(status: int, tmp_path: Path) -> None:
    async with ScriptedModel(lambda _asked: Reply(status=status, message="No.")) as provider:
        models = ModelCatalogue(["openai-chat:small"], provider.env, retries=0)
        with pytest.raises(ModelFailed):
            await Runner(models, {}).run(request(package(), look(photo(tmp_path)), inbox=tmp_path))
        await models.close()

    assert len(provider.requests) == 1


async def test_without_images_nothing_is_asked_twice(tmp_path: Path) -> None:
    async with ScriptedModel(lambda _asked: Reply(status=400)) as provider:
        models = ModelCatalogue(["openai-chat:small"], provider.env, retries=0)
        with pytest.raises(ModelFailed):
            await Runner(models, {}).run(request(package(), "hello", inbox=tmp_path))
        await models.close()

    assert len(provider.requests) == 1


# who may be shown images at all


@pytest.mark.parametrize(
    ("configured", "own", "takes"),
    [
        ([], (), False),
        (["extractive"], (), False),
        (["extractive", "openai-chat:small"], (), True),
        (["anthropic:small"], (), True),
        (["anthropic:small"], ("extractive",), False),
    ],
)
def test_whether_an_agents_models_take_images(configured: list[str], own: tuple[str, ...], takes: bool) -> None:
    models = ModelCatalogue(configured, {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})

    assert models.takes_images(package(models=own)) is takes


def test_an_unknown_model_of_an_agents_own_is_said() -> None:
    with pytest.raises(ModelUnknown):
        ModelCatalogue([], {}).takes_images(package(models=("gpt",)))
