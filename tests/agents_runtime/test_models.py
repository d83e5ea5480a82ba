"""Which models answer, over the real clients against a scripted provider on loopback."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from openai.resources.chat import AsyncChat

from agents_runtime.models import ModelCatalogue, ModelKeyMissing, ModelUnknown, parse_spec
from agents_runtime.run import ModelFailed, RunResult
from agents_runtime.runner import Runner
from agents_runtime.tokens import estimate_tokens
from agents_runtime.tools import BUILT_IN
from tests.support.runs import package, request, skill, tool, tools
from tests.support.scripted_model import SECRET, Reply, Script, ScriptedModel

BOTH = ["openai-chat:small", "anthropic:small"]


@asynccontextmanager
async def asking(
    specs: list[str], script: Script, *, retries: int = 0, seconds: float = 10.0
) -> AsyncIterator[tuple[ScriptedModel, Callable[[str], Awaitable[RunResult]]]]:
    """A provider, and a way to ask an agent with one tool on these models of it."""
    async with ScriptedModel(script) as provider:
        models = ModelCatalogue(specs, provider.env, retries=retries, seconds=seconds)
        runner = Runner(models, tools(tool("read")))
        agent = package("Open nine to six.", allowed_tools=("read",))
        try:
            yield provider, lambda text: runner.run(request(agent, text))
        finally:
            await models.close()


@pytest.mark.parametrize("spec", BOTH)
async def test_a_run_over_the_real_client(spec: str) -> None:
    script = [Reply("Looking.", calls=(("read", {"text": "hours"}),), tokens=(120, 7)), Reply("Nine.", tokens=(150, 3))]
    async with asking([spec], script) as (provider, ask):
        result = await ask("when?")

    assert (result.text, result.model) == ("Nine.", spec)
    assert [(s.model, s.input_tokens, s.output_tokens) for s in result.steps] == [(spec, 120, 7), (spec, 150, 3)]
    first, second = provider.requests
    assert first.body["model"] == "small"
    assert first.tools == ["read"]
    assert "Open nine to six." in first.system
    assert first.said == [("user", "when?")]
    assert second.said == [("user", "when?"), ("assistant", "Looking."), ("tool", "read did hours")]


async def test_broken_arguments_go_back_to_the_model() -> None:
    async with asking(["openai-chat:small"], [Reply(calls=(("read", '{"text": '),)), "Sorry."]) as (provider, ask):
        result = await ask("go")

    assert result.text == "Sorry."
    assert provider.requests[1].last.startswith("Error: wrong arguments for read: Invalid JSON")


@pytest.mark.parametrize("spec", BOTH)
async def test_a_three_tool_agents_request_stays_under_two_thousand_tokens(spec: str) -> None:
    body = "\n\n".join(f"## Topic {n}\n\nWhat there is to know about it, in a sentence or two." for n in range(20))
    agent = package(body, allowed_tools=("execute_skill", "read", "write_file"), skills=[skill("returns", "Take it.")])
    async with ScriptedModel(["Hello."]) as provider:
        models = ModelCatalogue([spec], provider.env)
        result = await Runner(models, BUILT_IN).run(request(agent, "hello"))
        await models.close()

    sent = provider.requests[0]
    assert sent.tools == ["execute_skill", "read", "write_file"]
    whole = estimate_tokens(json.dumps(sent.body, ensure_ascii=False))
    assert whole - estimate_tokens(body) < 900, "what Postroom adds to a skill"
    assert whole < 2_000
    assert sum(tokens for _name, tokens in result.prompt_parts) < whole


@pytest.mark.parametrize("spec", BOTH)
@pytest.mark.parametrize(
    ("reply", "passing", "said"),
    [
        (Reply(status=429, code="rate_limit_exceeded"), True, "rate limit"),
        (Reply(status=500), True, "failed on the provider's side (HTTP 500)"),
        (Reply(status=503), True, "not available"),
        (Reply(status=529), True, "overloaded"),
        (Reply(drop=True), True, "can't be reached"),
        (Reply(raw="<html>busy</html>"), True, "can't be read"),
        (Reply(status=401, code="invalid_api_key"), False, "did not accept the key (HTTP 401)"),
        (Reply(status=403), False, "did not accept the key (HTTP 403)"),
        (Reply(status=404, code="model_not_found"), False, "is not known to the provider"),
        (Reply(status=400), False, "rejected the request (HTTP 400)"),
        (Reply(status=402), False, "quota"),
    ],
)
async def test_what_goes_wrong_is_said_plainly(spec: str, reply: Reply, passing: bool, said: str) -> None:
    async with asking([spec], lambda _asked: reply) as (_provider, ask):
        with pytest.raises(ModelFailed) as failed:
            await ask("hello")

    assert failed.value.passing is passing
    assert said in failed.value.message
    assert failed.value.message.startswith(f"The model {spec} ")
    assert SECRET not in str(failed.value)
    assert "Something is wrong" not in str(failed.value)
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None


@pytest.mark.parametrize(
    ("spec", "finish", "passing"),
    [
        ("openai-chat:small", "content_filter", False),
        ("anthropic:small", "refusal", False),
        ("openai-chat:small", "length", True),
    ],
)
async def test_an_answer_that_is_none_is_a_failure(spec: str, finish: str, passing: bool) -> None:
    async with asking([spec], [Reply(finish=finish)]) as (_provider, ask):
        with pytest.raises(ModelFailed) as failed:
            await ask("hello")

    assert failed.value.passing is passing


async def test_a_model_that_takes_too_long_is_a_passing_failure() -> None:
    slow = asking(["openai-chat:small"], lambda _asked: Reply(delay=30), retries=2, seconds=0.2)
    async with slow as (provider, ask):
        with pytest.raises(ModelFailed, match="did not answer in time") as failed:
            await ask("hello")

    assert failed.value.passing
    assert len(provider.requests) == 1, "the time is for the request with its retries, not for each try"


async def test_nobody_listening_is_a_passing_failure() -> None:
    async with ScriptedModel([]) as gone:
        env = gone.env
    models = ModelCatalogue(["openai-chat:small"], env, retries=0)
    with pytest.raises(ModelFailed, match="can't be reached") as failed:
        await Runner(models, {}).run(request(package()))
    await models.close()

    assert failed.value.passing


@pytest.mark.parametrize("spec", BOTH)
async def test_the_client_tries_a_passing_failure_again_by_itself(spec: str) -> None:
    now = {"retry-after-ms": "1", "retry-after": "0"}
    script = [Reply(status=429, headers=now), Reply(status=500, headers=now), "There."]
    async with asking([spec], script, retries=2) as (provider, ask):
        result = await ask("hello")

    assert (result.text, len(provider.requests), len(result.steps)) == ("There.", 3, 1)


# fallback


async def test_the_next_model_of_the_list_takes_over_for_the_rest_of_the_turn() -> None:
    def script(asked: object) -> Reply:
        if getattr(asked, "path") == "/v1/messages":  # noqa: B009
            return Reply(status=529)
        done = getattr(asked, "said")[-1][0] == "tool"  # noqa: B009
        return Reply("Nine.") if done else Reply(calls=(("read", {"text": "x"}),))

    async with asking(["anthropic:big", "openai-chat:small"], script) as (provider, ask):
        result = await ask("when?")

    assert (result.text, result.model) == ("Nine.", "openai-chat:small")
    assert [r.path for r in provider.requests] == ["/v1/messages", "/v1/chat/completions", "/v1/chat/completions"]
    assert result.notes == ("The model anthropic:big is overloaded (HTTP 529).",)
    assert len(result.steps) == 2


async def test_a_bad_key_falls_back_too_and_extractive_always_answers() -> None:
    async with asking(["openai-chat:small", "extractive"], [Reply(status=401)]) as (_provider, ask):
        result = await ask("are you open?")

    assert (result.text, result.model) == ("Open nine to six.", "extractive")


async def test_when_all_fail_waiting_helps_if_it_helps_one() -> None:
    async with asking(BOTH, [Reply(status=401), Reply(status=429)]) as (_provider, ask):
        with pytest.raises(ModelFailed) as failed:
            await ask("hello")

    assert failed.value.passing
    assert "openai-chat:small did not accept the key" in failed.value.message
    assert "anthropic:small is refusing requests" in failed.value.message


async def test_a_history_too_long_for_the_model_is_trimmed_and_asked_again() -> None:
    def script(asked: object) -> Reply:
        if getattr(asked, "size") > 20_000:  # noqa: B009
            return Reply(status=400, code="context_length_exceeded")
        return Reply("Short again.")

    async with asking(["openai-chat:small"], lambda _asked: "x" * 15_000) as (provider, ask):
        first = await ask("tell me everything")
        provider._script = script
        models = ModelCatalogue(["openai-chat:small"], provider.env, retries=0)
        agent = package()
        long = (await Runner(models, {}).run(request(agent, "more", history=first.history))).history
        result = await Runner(models, {}).run(request(agent, "y" * 9_000, history=long))
        await models.close()

    assert result.text == "Short again."
    assert any("last exchanges" in note for note in result.notes)


# what is configured


async def test_the_agents_own_list_comes_first() -> None:
    async with ScriptedModel(["Own."]) as provider:
        models = ModelCatalogue(["anthropic:house"], provider.env)
        result = await Runner(models, {}).run(request(package(models=("openai-chat:own",))))
        await models.close()

    assert (result.model, provider.requests[0].body["model"]) == ("openai-chat:own", "own")


async def test_a_local_server_needs_no_key() -> None:
    async with ScriptedModel(["Hi."]) as provider:
        models = ModelCatalogue(["openai-chat:qwen"], {"OPENAI_BASE_URL": provider.url})
        result = await Runner(models, {}).run(request(package()))
        await models.close()

    assert result.text == "Hi."
    assert provider.requests[0].headers["Authorization"] == "Bearer not-needed"


async def test_runs_share_one_client() -> None:
    async with ScriptedModel(lambda _asked: "Hi.") as provider:
        models = ModelCatalogue(["openai-chat:a", "openai-chat:b"], provider.env)
        first, second = [await asyncio.to_thread(models.chain, package(body)) for body in ("one", "two")]
        assert [named.model for named in first] == [named.model for named in second]
        assert first[0].model.client is first[1].model.client  # type: ignore[attr-defined]
        await models.close()


@pytest.mark.parametrize("spec", ["gpt-4", "openai:x", "openai-chat:", "openai-chat", "anthropic", "extractive:x", ":"])
def test_a_spec_that_names_nothing_is_refused_with_what_there_is(spec: str) -> None:
    with pytest.raises(ModelUnknown, match="openai-chat:NAME") as refused:
        ModelCatalogue([spec], {})

    assert refused.value.code == "model_unknown"
    assert refused.value.passing is False


def test_a_name_may_hold_anything_a_provider_uses() -> None:
    assert str(parse_spec(" openai-chat:qwen/qwen3:8b ")) == "openai-chat:qwen/qwen3:8b"


@pytest.mark.parametrize(
    ("spec", "variable"), [("anthropic:x", "ANTHROPIC_API_KEY"), ("openai-chat:x", "OPENAI_API_KEY")]
)
async def test_a_missing_key_is_said_at_once(spec: str, variable: str) -> None:
    with pytest.raises(ModelKeyMissing, match=f"Set {variable}"):
        ModelCatalogue([spec], {})
    with pytest.raises(ModelKeyMissing):
        await Runner(ModelCatalogue([], {}), {}).run(request(package(models=(spec,))))


def test_doctor_is_told_which_models_answer_and_never_a_key() -> None:
    env = {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": f"http://user:{SECRET}@gpu.local:11434/v1"}
    configured = ModelCatalogue(["openai-chat:small", "extractive"], env)
    assert (
        configured.describe()
        == "Agents answer with openai-chat:small, then extractive (openai-chat at gpu.local:11434)."
    )
    assert configured.advice() == ""

    bare = ModelCatalogue([], {})
    assert "extractive" in bare.describe()
    assert bare.advice().startswith("Set POSTROOM_MODEL")

    key_only = ModelCatalogue([], {"ANTHROPIC_API_KEY": SECRET})
    assert key_only.advice() == "ANTHROPIC_API_KEY is set, but no model is named: set POSTROOM_MODEL=anthropic:NAME."
    assert SECRET not in configured.describe() + key_only.describe() + key_only.advice()


# imports


def loaded(code: str) -> set[str]:
    """The heavy modules that a fresh interpreter has loaded after running code."""
    heavy = ("pydantic_ai", "openai", "anthropic")
    script = f"import sys, json\n{code}\nprint(json.dumps([m for m in {heavy!r} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_starting_imports_no_model_library() -> None:
    assert loaded("import agents_runtime.models, agents_runtime.runner, agents_runtime.sessions") == set()


def test_warming_imports_only_the_provider_in_use() -> None:
    warm = "from agents_runtime.models import ModelCatalogue\nModelCatalogue({}, {{'OPENAI_API_KEY': 'k'}}).warm()"
    assert loaded(warm.format("[]")) == {"pydantic_ai"}
    assert loaded(warm.format("['openai-chat:x']")) == {"pydantic_ai", "openai"}


async def test_the_quick_client_sends_what_the_original_would() -> None:
    agent = package("Open nine to six.", allowed_tools=("read",))
    script = [Reply("Looking.", calls=(("read", {"text": "é"}),)), "Nine."] * 2
    async with ScriptedModel(script) as provider:
        for quick in (True, False):
            models = ModelCatalogue(["openai-chat:small"], provider.env)
            (named,) = await asyncio.to_thread(models.chain, agent)
            if not quick:
                client = named.model.client  # type: ignore[attr-defined]
                client.chat = AsyncChat(client)
            await Runner(models, tools(tool("read"))).run(request(agent, "when?"))
            await models.close()

    quick_one, quick_two, plain_one, plain_two = (
        json.dumps(asked.body, sort_keys=True).replace("call_3_0", "call_1_0") for asked in provider.requests
    )
    assert quick_one == plain_one
    assert quick_two == plain_two
