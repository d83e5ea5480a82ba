"""What a run does with messages, tools, steps and history. The model is a function; the loop is real."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agents_runtime.run import ModelFailed
from agents_runtime.runner import Runner
from agents_runtime.tools.grants import AgentHeldBack
from agents_runtime.tools.skills import EXECUTE_SKILL
from agents_runtime.tools.tool import ToolError
from channels.message import Action, Attachment, Command, Sender
from tests.support.runs import (
    FunctionModels,
    MemoryJournal,
    calls,
    message,
    package,
    request,
    skill,
    tool,
    tools,
)


async def test_answers_and_says_what_happened() -> None:
    models = FunctionModels("Nine to six.")
    result = await Runner(models, {}).run(request(package("Open nine to six."), "when are you open?"))

    assert (result.outcome, result.text, result.model) == ("answered", "Nine to six.", "test")
    assert len(result.steps) == 1
    assert result.steps[0].model == "test"
    assert result.input_tokens == result.steps[0].input_tokens > 0
    assert result.output_tokens == result.steps[0].output_tokens > 0
    assert "Open nine to six." in (models.infos[0].instructions or "")
    assert models.said(0) == "when are you open?"
    names = [name for name, _tokens in result.prompt_parts]
    assert {"tool schemas", "history", "messages"} <= set(names)


async def test_an_empty_answer_is_silence() -> None:
    result = await Runner(FunctionModels(""), {}).run(request(package()))

    assert (result.outcome, result.text) == ("silent", "")


async def test_history_goes_on_from_run_to_run() -> None:
    models = FunctionModels(calls(("read", {"text": "a"})), "First.", "Second.")
    runner, agent = Runner(models, tools(tool("read"))), package(allowed_tools=("read",))
    first = await runner.run(request(agent, "one"))
    second = await runner.run(request(agent, "two", history=first.history))

    parts = [(p.part_kind, getattr(p, "content", None)) for m in models.asked[2] for p in m.parts]
    assert parts == [
        ("user-prompt", "one"),
        ("tool-call", None),
        ("tool-return", "read did a"),
        ("text", "First."),
        ("user-prompt", "two"),
    ]
    assert len(second.history) > len(first.history)
    assert b"Answer briefly." not in second.history, "the prompt is no part of the history"


async def test_a_broken_history_starts_afresh_and_says_so() -> None:
    models = FunctionModels("Hello.")
    result = await Runner(models, {}).run(request(package(), "hi", history=b'[{"kind":"from another age"}]'))

    assert result.text == "Hello."
    assert len(models.asked[0]) == 1
    assert any("afresh" in note for note in result.notes)


# what people said


async def test_a_burst_is_one_user_turn_in_order() -> None:
    models = FunctionModels("Yes.")
    await Runner(models, {}).run(request(package(), "hi", "are you open", "today?"))

    assert models.said(0) == "hi\nare you open\ntoday?"


async def test_in_a_group_each_line_says_who_wrote_it() -> None:
    bob = message("me too", scope="group", sender=Sender("u2", "", handle="bob_b"))
    models = FunctionModels("Fine.")
    await Runner(models, {}).run(request(package(), message("I come", scope="group"), bob))

    assert models.said(0) == "[Ann] I come\n[bob_b] me too"


async def test_commands_buttons_edits_and_attachments_are_text() -> None:
    models = FunctionModels("Thanks.")
    photo = Attachment("image", media_type="image/jpeg", size=120_000, name="door.jpg", path="/inbox/7/door.jpg")
    voice = Attachment("voice", media_type="audio/ogg")
    await Runner(models, {}).run(
        request(
            package(),
            message("/start@shop_bot now", kind="command", command=Command("start", "now")),
            message("", kind="action", action=Action("continue", "continue")),
            message("at five", kind="edit"),
            message("👍", kind="reaction"),
            message("look", attachments=(photo, voice)),
        )
    )

    assert models.said(0).splitlines() == [
        "/start now",
        "continue",
        "[edited] at five",
        "[reaction] 👍",
        "look",
        "[image door.jpg, image/jpeg, 120 kB: inbox/door.jpg]",
        "[voice, audio/ogg: not fetched]",
    ]


# tools: exactly those granted, and nothing that goes wrong in one ends the run


async def test_the_model_is_offered_exactly_the_granted_tools() -> None:
    models = FunctionModels("ok")
    provided = tools(tool("read"), tool("write_file", side_effect=True), tool("list_files"))
    await Runner(models, provided).run(request(package(allowed_tools=("read", "list_files"))))

    assert [t.name for t in models.infos[0].function_tools] == ["read", "list_files"]
    schema = models.infos[0].function_tools[0].parameters_json_schema
    assert schema["required"] == ["text"]
    assert "title" not in schema
    assert "description" not in schema


async def test_a_tool_that_was_not_granted_never_runs() -> None:
    ran: list[str] = []
    models = FunctionModels(calls(("write_file", {"text": "x"}), ("no_such_thing", "{")), "Sorry.")
    provided = tools(tool("read"), tool("write_file", ran.append, side_effect=True))
    result = await Runner(models, provided).run(request(package(allowed_tools=("read",))))

    assert ran == []
    assert models.results(1) == [
        "Error: there is no tool 'write_file'. Your tools are: read.",
        "Error: there is no tool 'no_such_thing'. Your tools are: read.",
    ]
    assert result.outcome == "answered"
    assert [c.ok for c in result.steps[0].tool_calls] == [False, False]


async def test_an_agent_whose_tool_nobody_provides_is_held_back() -> None:
    with pytest.raises(AgentHeldBack):
        await Runner(FunctionModels("ok"), {}).run(request(package(allowed_tools=("read",))))


async def test_a_tool_name_that_providers_refuse_goes_out_without_its_dot() -> None:
    models = FunctionModels(calls(("reminder_add", {"text": "a"}), ("reminder.add", {"text": "b"})), "Set.")
    await Runner(models, tools(tool("reminder.add"))).run(request(package(allowed_tools=("reminder.*",))))

    assert [t.name for t in models.infos[0].function_tools] == ["reminder_add"]
    assert models.results(1) == ["reminder.add did a", "reminder.add did b"]


async def test_tool_errors_are_told_to_the_model_however_often() -> None:
    def fail(text: str) -> str:
        if text == "raw":
            raise ValueError("no such row")
        raise ToolError("That file does not exist.", fix="List the files first.")

    wrong = [
        ("read", {"text": "gone"}),
        ("read", {"text": "raw"}),
        ("read", {"txt": 1}),
        ("read", '{"text": "a'),
        ("read", ""),
    ]
    models = FunctionModels(*[calls(call) for call in wrong * 3], "I give up.")
    result = await Runner(models, tools(tool("read", fail))).run(request(package(allowed_tools=("read",))))

    told = [models.results(step)[0] for step in range(1, 6)]
    assert told[0] == "Error: That file does not exist. List the files first."
    assert told[1] == "Error: read failed: ValueError: no such row"
    assert told[2] == "Error: wrong arguments for read: text: Field required."
    assert told[3].startswith("Error: wrong arguments for read: Invalid JSON")
    assert told[4] == "Error: wrong arguments for read: text: Field required."
    assert (result.outcome, result.text, len(result.steps)) == ("answered", "I give up.", 16)
    assert not any(c.ok for s in result.steps for c in s.tool_calls)


async def test_records_are_shortened_and_undecodable_text_is_let_through() -> None:
    models = FunctionModels(calls(("read", {"text": "x" * 5000}), ("read", '{"text": "short"}')), "ok")
    odd = tool("read", lambda _text: "\udce4" + "y" * 60_000)
    result = await Runner(models, tools(odd)).run(request(package(allowed_tools=("read",))))

    long, short = result.steps[0].tool_calls
    assert len(long.result) < 2_100
    assert len(str(long.arguments["text"])) < 2_100
    assert short.arguments == {"text": "short"}
    assert models.results(1)[0].startswith("?yyy")
    assert models.results(1)[0].endswith("… [60001 characters in all]")


async def test_calls_of_one_answer_run_side_by_side_only_without_side_effects() -> None:
    running, most = 0, 0

    async def slow(_text: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return "done"

    pure, effect = tool("read", slow), tool("write_file", slow, side_effect=True)
    agent = package(allowed_tools=("read", "write_file"))
    two_reads = FunctionModels(calls(("read", {"text": "a"}), ("read", {"text": "b"})), "ok")
    await Runner(two_reads, tools(pure, effect)).run(request(agent))
    assert most == 2

    most = 0
    mixed = FunctionModels(calls(("read", {"text": "a"}), ("write_file", {"text": "b"}), ("read", {"text": "c"})), "ok")
    await Runner(mixed, tools(pure, effect)).run(request(agent))
    assert most == 1


# steps


async def test_steps_run_out_and_the_next_run_goes_on() -> None:
    agent = package(allowed_tools=("read",), max_turns=10)
    models = FunctionModels(
        calls(("read", {"text": "0"}), text="Looking."), *[calls(("read", {"text": "n"}))] * 9, "Found it."
    )
    runner = Runner(models, tools(tool("read")))
    stopped = await runner.run(request(agent, "find it"))

    assert stopped.outcome == "step_limit"
    assert stopped.text == "Looking.\n\nStopped after 10 steps."
    assert [(b.id, b.label, b.value) for b in stopped.buttons] == [("continue", "Continue", "continue")]
    assert len(stopped.steps) == 10

    pressed = message("", kind="action", action=Action("continue", "continue"))
    done = await runner.run(request(agent, pressed, history=stopped.history))
    assert (done.outcome, done.text, done.buttons, done.notes) == ("answered", "Found it.", (), ())
    assert models.said(10) == "continue"
    assert len(models.asked[10]) == 1 + 20 + 1 + 1, "the whole first run, its last word, and the button"


# side effects


async def test_a_retried_turn_does_not_repeat_what_is_done() -> None:
    written: list[str] = []
    agent, provided = (
        package(allowed_tools=("write_file",)),
        tools(tool("write_file", written.append, side_effect=True)),
    )
    same_twice = calls(("write_file", {"text": "a"}), ("write_file", {"text": "a"}), ("write_file", {"text": "b"}))
    journal = MemoryJournal()

    def away(*_: object) -> object:
        raise ModelFailed("The model is away.", passing=True)

    first = FunctionModels(same_twice, away)  # type: ignore[arg-type]
    with pytest.raises(ModelFailed):
        await Runner(first, provided).run(request(agent, journal=journal))
    assert written == ["a", "a", "b"]

    second = FunctionModels(same_twice, calls(("write_file", {"text": "a"})), "Done.")
    result = await Runner(second, provided).run(request(agent, journal=journal))
    assert written == ["a", "a", "b", "a"], "only the third, new, writing of a"
    assert second.results(1) == ["None", "None", "None"]
    assert result.text == "Done."


async def test_a_failed_effect_is_tried_again_and_then_replayed() -> None:
    tries: list[str] = []

    def flaky(text: str) -> str:
        tries.append(text)
        if len(tries) == 1:
            raise ToolError("Not now.")
        return "written"

    agent, provided = package(allowed_tools=("write_file",)), tools(tool("write_file", flaky, side_effect=True))
    once = calls(("write_file", {"text": "a"}))
    journal = MemoryJournal()
    models = FunctionModels(once, once, "Done.")
    await Runner(models, provided).run(request(agent, journal=journal))
    assert (models.results(1), models.results(2), len(tries)) == (["Error: Not now."], ["written"], 2)

    again = FunctionModels(once, "Done.")
    await Runner(again, provided).run(request(agent, journal=journal))
    assert (again.results(1), len(tries)) == (["written"], 2)


class LeaseGone(Exception):
    """What a ledger raises when another worker took the turn."""


@pytest.mark.parametrize("inside_a_skill", [False, True])
async def test_a_lost_turn_ends_the_run(inside_a_skill: bool) -> None:
    journal = MemoryJournal()
    journal.lost = LeaseGone()
    write = calls(("write_file", {"text": "a"}))
    script = [calls(("execute_skill", {"name": "note", "input": "go"})), write] if inside_a_skill else [write]
    agent = package(allowed_tools=("execute_skill", "write_file"), skills=[skill("note", "Write it down.")])
    provided = tools(EXECUTE_SKILL, tool("write_file", side_effect=True))
    with pytest.raises(LeaseGone):
        await Runner(FunctionModels(*script), provided).run(request(agent, journal=journal))


async def test_a_cancelled_run_still_journals_the_effect_it_was_in() -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def slow(_text: str) -> str:
        begun.set()
        await release.wait()
        return "written"

    journal = MemoryJournal()
    provided = tools(tool("write_file", slow, side_effect=True))
    models = FunctionModels(calls(("write_file", {"text": "a"})))
    run = asyncio.create_task(
        Runner(models, provided).run(request(package(allowed_tools=("write_file",)), journal=journal))
    )
    await begun.wait()
    run.cancel()
    await asyncio.sleep(0)
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert list(journal.entries.values()) == ["written"]


# sub-skills


async def test_a_sub_skill_runs_with_its_own_prompt_and_narrowed_tools() -> None:
    returns = skill("returns", "Check the receipt first.", allowed_tools=("read",))
    agent = package("Use returns.", allowed_tools=("execute_skill", "read", "write_file"), skills=[returns])
    models = FunctionModels(
        calls(("execute_skill", {"name": "returns", "input": "a cracked cup"})),
        calls(("write_file", {"text": "x"})),
        calls(("read", {"text": "receipts"})),
        "It can be returned.",
        "Yes, bring it back.",
    )
    provided = tools(EXECUTE_SKILL, tool("read"), tool("write_file", side_effect=True))
    result = await Runner(models, provided).run(request(agent, "my cup is cracked"))

    nested = models.infos[1]
    assert "Check the receipt first." in (nested.instructions or "")
    assert "Use returns." not in (nested.instructions or "")
    assert [t.name for t in nested.function_tools] == ["read"]
    assert models.said(1) == "a cracked cup"
    assert len(models.asked[1]) == 1, "a sub-skill sees no history"
    assert models.results(2) == ["Error: there is no tool 'write_file'. Your tools are: read."]
    assert models.results(4) == ["It can be returned."]
    assert (result.text, len(result.steps)) == ("Yes, bring it back.", 5)
    assert result.steps[0].tool_calls[0].tool == "execute_skill"
    assert [c.tool for s in result.steps[1:4] for c in s.tool_calls] == ["write_file", "read"]
    assert b"cracked" in result.history
    assert b"receipts" not in result.history, "what a sub-skill did stays in its own run"


async def test_the_entry_skill_narrows_itself_and_not_its_sub_skills() -> None:
    agent = package(
        allowed_tools=("execute_skill", "read"),
        entry_tools=("execute_skill", "write_file"),
        skills=[skill("dig", "Dig.")],
    )
    models = FunctionModels(calls(("execute_skill", {"name": "dig", "input": "go"})), "dug", "Done.")
    await Runner(models, tools(EXECUTE_SKILL, tool("read"), tool("write_file"))).run(request(agent))

    assert [[t.name for t in info.function_tools] for info in models.infos] == [
        ["execute_skill"],
        ["execute_skill", "read"],
        ["execute_skill"],
    ]


async def test_sub_skills_spend_the_same_steps() -> None:
    agent = package(allowed_tools=("execute_skill", "read"), max_turns=10, skills=[skill("dig", "Dig.")])
    models = FunctionModels(
        calls(("execute_skill", {"name": "dig", "input": "go"})), *[calls(("read", {"text": "x"}))] * 9
    )
    result = await Runner(models, tools(EXECUTE_SKILL, tool("read"))).run(request(agent))

    assert (result.outcome, result.text, len(result.steps)) == ("step_limit", "Stopped after 10 steps.", 10)
    assert result.steps[0].tool_calls[0].result == "Stopped after 10 steps."


async def test_a_skill_that_is_not_there_is_told_to_the_model() -> None:
    agent = package(allowed_tools=("execute_skill",), skills=[skill("returns", "…")])
    models = FunctionModels(calls(("execute_skill", {"name": "desk", "input": "go"})), "ok")
    await Runner(models, tools(EXECUTE_SKILL)).run(request(agent))

    assert models.results(1) == ["Error: There is no sub-skill 'desk' here. Choose one of: returns."]


async def test_sub_skills_run_at_most_three_deep() -> None:
    loop = replace(skill("loop", "Call yourself."), sub_skills=("loop",))
    agent = package(allowed_tools=("execute_skill",), skills=[loop])
    models = FunctionModels(*[calls(("execute_skill", {"name": "loop", "input": "go"}))] * 4, "4", "3", "2", "1")
    result = await Runner(models, tools(EXECUTE_SKILL)).run(request(agent))

    assert models.results(4) == ["Error: Sub-skills may run at most 3 deep. Do this step yourself."]
    assert (result.text, len(result.steps)) == ("1", 8)
