"""slack-sdk's own AsyncWebClient calls each method of the rehearsed Web API."""

from __future__ import annotations

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from channels.rehearsal import RehearsalClient
from channels.slack.rehearsal import SlackRehearsal, rehearse


@pytest.fixture
async def server():
    async with SlackRehearsal() as running:
        yield running


@pytest.fixture
def web(server):
    return AsyncWebClient(token=server.bot_token, base_url=server.base_url)


@pytest.fixture
async def people(server):
    async with RehearsalClient(server.url) as client:
        yield client


async def refused(call):
    with pytest.raises(SlackApiError) as error:
        await call
    return error.value.response


def button(**more):
    return {"type": "button", "text": {"type": "plain_text", "text": "Yes"}, "action_id": "yes", "value": "1", **more}


def section(text="Well?", **more):
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}, **more}


def actions(*elements):
    return {"type": "actions", "elements": list(elements)}


async def test_the_bot_is_who_its_token_says(server, web):
    me = await web.auth_test()
    assert (me["team"], me["user"], me["user_id"]) == ("rehearsal", "rehearsal_bot", server.world.bot)
    assert (me["team_id"][0], me["user_id"][0], me["bot_id"][0]) == ("T", "U", "B")
    assert "chat:write" in me.headers["x-oauth-scopes"].split(",")
    assert me["url"].startswith("https://rehearsal.slack.com")


async def test_ids_follow_from_names():
    async with SlackRehearsal() as one, SlackRehearsal() as other:
        assert (one.world.team_id, one.world.bot) == (other.world.team_id, other.world.bot)
        said = [await s.say({"text": "hi", "user": "ann", "chat": "general"}) for s in (one, other)]
    assert said[0]["chat"] == said[1]["chat"]


@pytest.mark.parametrize(
    ("token", "error"),
    [(None, "not_authed"), ("xoxb-wrong", "invalid_auth"), ("app", "not_allowed_token_type")],
)
async def test_a_token_is_refused_in_slacks_words(server, token, error):
    token = server.app_token if token == "app" else token
    answer = await refused(AsyncWebClient(token=token, base_url=server.base_url).auth_test())
    assert (answer["error"], answer.status_code) == (error, 200)


async def test_a_token_in_a_form_counts_and_one_in_json_does_not(server):
    async with aiohttp.ClientSession() as session:
        url = server.base_url + "auth.test"
        for how, ok in (("data", True), ("json", False)):
            async with session.post(url, **{how: {"token": server.bot_token}}) as response:
                assert (await response.json())["ok"] is ok
        async with session.post(url, data="[]", headers={"Content-Type": "application/json"}) as response:
            assert (await response.json())["error"] == "json_not_object"
        async with session.post(url, data="{", headers={"Content-Type": "application/json"}) as response:
            assert (await response.json())["error"] == "invalid_json"


async def test_a_socket_opens_with_the_app_token_only(server, web):
    opened = await AsyncWebClient(base_url=server.base_url).apps_connections_open(app_token=server.app_token)
    assert opened["url"].startswith("ws://127.0.0.1:")
    answer = await refused(web.apps_connections_open(app_token=server.bot_token))
    assert answer["error"] == "not_allowed_token_type"
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(server.url + "/link/?ticket=guessed")


async def test_a_method_there_is_not_is_unknown_and_api_test_echoes(web):
    assert (await refused(web.api_call("chat.shout")))["error"] == "unknown_method"
    assert (await web.api_test(foo="bar"))["args"] == {"foo": "bar"}
    assert (await refused(web.api_test(error="my_error")))["error"] == "my_error"


async def test_a_scope_that_is_missing_is_named():
    async with SlackRehearsal(scopes=("chat:write",)) as server:
        web = AsyncWebClient(token=server.bot_token, base_url=server.base_url)
        answer = await refused(web.users_list())
    assert (answer["error"], answer["needed"], answer["provided"]) == ("missing_scope", "users:read", "chat:write")


async def test_a_message_is_posted_and_read(server, web, people):
    said = await people.say("hello", user="ann")
    posted = await web.chat_postMessage(channel=said.chat, text="a &lt; b", thread_ts="1700000000.000100")
    assert posted["message"]["bot_id"] == server.world.bot_id
    assert posted["message"]["thread_ts"] == "1700000000.000100"
    again = await web.chat_postMessage(channel=said.chat, text="more")
    assert posted["ts"] < again["ts"]
    heard = await people.replies(chat=said.chat, after=said.after)
    assert [one.text for one in heard] == ["a < b", "more"]
    assert heard[0].ref == f"{said.chat}:{posted['ts']}"


async def test_a_markdown_block_is_read_without_its_escapes_and_code_keeps_them(web, people):
    said = await people.say("hello")
    blocks = [{"type": "markdown", "text": "**a** \\* b &lt;c&gt; `x\\*y`\n```\n\\*\n```\n\\_d\\_"}]
    await web.chat_postMessage(channel=said.chat, text="fallback", blocks=blocks)
    (heard,) = await people.replies(chat=said.chat, after=said.after)
    assert heard.text == "**a** * b <c> `x\\*y`\n```\n\\*\n```\n_d_"


async def test_buttons_are_shown_and_other_blocks_are_read(web, people):
    said = await people.say("hello")
    rich = {
        "type": "rich_text",
        "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "r"}]}],
    }
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "Head"}},
        section("a &amp; b", accessory=button(value="side"), fields=[{"type": "plain_text", "text": "f"}]),
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "c"}]},
        {"type": "divider"},
        rich,
        actions(button(style="primary")),
    ]
    posted = await web.chat_postMessage(channel=said.chat, text="fallback", blocks=blocks)
    assert all(block["block_id"] for block in posted["message"]["blocks"])
    (heard,) = await people.replies(chat=said.chat, after=said.after)
    assert heard.text == "Head\na & b\nf\nc\nr"
    assert [(b["text"], b["data"]) for b in heard.buttons] == [("Yes", "side"), ("Yes", "1")]


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"channel": "C0NOWHERE9", "text": "a"}, "channel_not_found"),
        ({"channel": "secret", "text": "a"}, "channel_not_found"),
        ({"channel": "elsewhere", "text": "a"}, "not_in_channel"),
        ({"channel": "old", "text": "a"}, "is_archived"),
        ({"text": " "}, "no_text"),
        ({"text": "a" * 40_001}, "msg_too_long"),
        ({"markdown_text": "a", "text": "b"}, "markdown_text_conflict"),
        ({"markdown_text": "a" * 12_001}, "msg_too_long"),
        ({"text": "a", "thread_ts": "yesterday"}, "invalid_thread_ts"),
        ({"text": "a", "blocks": "{}"}, "invalid_blocks_format"),
        ({"text": "a", "blocks": "[{"}, "invalid_blocks_format"),
        ({"text": "a", "blocks": [section("a" * 2600)] * 6}, "msg_blocks_too_long"),
    ],
)
async def test_a_message_is_refused_in_slacks_words(web, people, params, error):
    said = await people.say("hello")
    await people.say(chat="secret", kind="private", member=False)
    await people.say(chat="elsewhere", member=False)
    await people.say(chat="old", archive=True)
    assert (await refused(web.chat_postMessage(**{"channel": said.chat, **params})))["error"] == error


@pytest.mark.parametrize(
    ("blocks", "words", "where"),
    [
        ([{"type": "divider"}] * 51, "no more than 50 items allowed", "/blocks"),
        ([section("a" * 3001)], "must be less than 3001 characters", "/blocks/0/text/text"),
        ([section("")], "must be more than 0 characters", "/blocks/0/text/text"),
        ([{"type": "section"}], "must define either `text` or `fields`", "/blocks/0"),
        ([{"type": "markdown", "text": "a" * 6001}] * 2, "markdown blocks must have less than 12001", "/blocks"),
        ([{"type": "markdown"}], "missing required field: text", "/blocks/0"),
        ([{"type": "input"}], "unsupported type: input", "/blocks/0/type"),
        ([{}], "missing required field: type", "/blocks/0"),
        ([{"type": "image", "image_url": "https://a.example"}], "missing required field: alt_text", "/blocks/0"),
        ([{"type": "divider", "block_id": "b"}] * 2, "must be unique", "/blocks/0/block_id"),
        ([actions()], "no fewer than 1 items allowed", "/blocks/0/elements"),
        ([actions(*(button(action_id=str(n)) for n in range(26)))], "no more than 25 items", "/blocks/0/elements"),
        ([actions(button(), button())], "`action_id` `yes` already exists", "/blocks/0/elements/1/action_id"),
        ([actions(button(text="Yes"))], "must provide an object", "/blocks/0/elements/0/text"),
        (
            [actions(button(text={"type": "mrkdwn", "text": "Y"}))],
            "one of: plain_text",
            "/blocks/0/elements/0/text/type",
        ),
        ([actions(button(value="a" * 2001))], "must be less than 2001 characters", "/blocks/0/elements/0/value"),
        ([actions(button(style="loud"))], "must be one of: primary, danger", "/blocks/0/elements/0/style"),
        ([actions({"type": "lever"})], "unsupported type: lever", "/blocks/0/elements/0/type"),
    ],
)
async def test_bad_blocks_are_told_with_the_place(web, people, blocks, words, where):
    said = await people.say("hello")
    answer = await refused(web.chat_postMessage(channel=said.chat, text="a", blocks=blocks))
    assert answer["error"] == "invalid_blocks"
    assert any(words in m and m.endswith(f"[json-pointer:{where}]") for m in answer["response_metadata"]["messages"])


async def test_a_message_goes_by_name_and_to_a_person_and_into_a_form(server, web, people):
    said = await people.say("hi", user="ann", chat="general")
    assert (await web.chat_postMessage(channel="#general", text="a"))["channel"] == said.chat
    ann = server.world.person("ann")["id"]
    assert (await web.chat_postMessage(channel=ann, text="a"))["channel"].startswith("D")
    form = {"channel": said.chat, "text": "a", "blocks": '[{"type": "markdown", "text": "b"}]'}
    posted = await web.api_call("chat.postMessage", data=form)
    assert posted["message"]["blocks"][0]["text"] == "b"


async def test_pings_are_flagged(server, web, people):
    said = await people.say("hello")
    await web.chat_postMessage(channel=said.chat, text="&lt;!channel&gt; @here <https://a.example>")
    assert server.pings == []
    await web.chat_postMessage(channel=said.chat, text="<!channel> and <@U12345678|ann>")
    await web.chat_postMessage(channel=said.chat, text="a", blocks=[{"type": "markdown", "text": "`<!here>` <#C1234>"}])
    await web.chat_postMessage(channel=said.chat, text="a @here", link_names=True)
    rich = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": []}]}
    rich["elements"][0]["elements"] = [{"type": "broadcast", "range": "everyone"}, {"type": "user", "user_id": "U1"}]
    await web.chat_postMessage(channel=said.chat, text="a", blocks=[rich])
    flagged = [call["answer"]["pings"] for call in await people.record() if call["method"] == "chat.postMessage"]
    assert flagged == [
        [],
        ["<!channel>", "<@U12345678|ann>"],
        ["<!here>", "<#C1234>"],
        ["@here"],
        ["<!everyone>", "<@U1>"],
    ]
    assert server.pings == [ping for call in flagged for ping in call]


async def test_a_message_is_changed_and_deleted_by_whoever_posted_it(web, people):
    said = await people.say("hello")
    theirs = said.ref.rpartition(":")[2]
    posted = await web.chat_postMessage(channel=said.chat, text="one")
    changed = await web.chat_update(channel=said.chat, ts=posted["ts"], text="two")
    assert (changed["text"], changed["ts"]) == ("two", posted["ts"])
    assert [one.text for one in await people.replies(after=said.after)] == ["one", "two"]
    for ts, text, error in (
        ("1700000000.000100", "a", "message_not_found"),
        (theirs, "a", "cant_update_message"),
        (posted["ts"], "a" * 4001, "msg_too_long"),
        (posted["ts"], "", "no_text"),
    ):
        assert (await refused(web.chat_update(channel=said.chat, ts=ts, text=text)))["error"] == error
    assert (await refused(web.chat_delete(channel=said.chat, ts=theirs)))["error"] == "cant_delete_message"
    await web.chat_delete(channel=said.chat, ts=posted["ts"])
    assert (await refused(web.chat_delete(channel=said.chat, ts=posted["ts"])))["error"] == "message_not_found"


async def test_conversations_are_listed_a_page_at_a_time(web, people):
    for name in ("one", "two", "three"):
        await people.say("hi", chat=name, user="ann")
    await people.say(chat="three", archive=True)
    direct = await people.say("hi", user="ann")
    first = await web.conversations_list(limit=1, exclude_archived=True)
    assert [c["name"] for c in first["channels"]] == ["one"]
    rest = await web.conversations_list(exclude_archived=True, cursor=first["response_metadata"]["next_cursor"])
    assert [c["name"] for c in rest["channels"]] == ["two"]
    assert rest["response_metadata"]["next_cursor"] == ""
    assert [c["id"] for c in (await web.conversations_list(types="im,mpim"))["channels"]] == [direct.chat]
    for params, error in (({"types": "secret"}, "invalid_types"), ({"cursor": "?"}, "invalid_cursor")):
        assert (await refused(web.conversations_list(**params)))["error"] == error


async def test_a_conversation_is_told_of(server, web, people):
    room = await people.say("hi", chat="room", kind="private", user="ann")
    info = (await web.conversations_info(channel=room.chat, include_num_members=True))["channel"]
    assert (info["name"], info["is_private"], info["is_member"], info["num_members"]) == ("room", True, True, 2)
    ann = server.world.person("ann")["id"]
    assert (await web.conversations_members(channel=room.chat))["members"] == [ann, server.world.bot]
    assert (await refused(web.conversations_info(channel="C0NOWHERE9")))["error"] == "channel_not_found"
    as_json = await refused(web.api_call("conversations.info", json={"channel": room.chat}))
    assert as_json["error"] == "invalid_arguments"


async def test_a_conversation_is_opened(server, web, people):
    await people.say("hi", user="ann", chat="room")
    await people.say("hi", user="bob", chat="room")
    ann, bob = (server.world.person(name)["id"] for name in ("ann", "bob"))
    opened = (await web.conversations_open(users=[ann], return_im=True))["channel"]
    assert (opened["id"][0], opened["user"]) == ("D", ann)
    assert (await web.conversations_open(channel=opened["id"]))["channel"] == {"id": opened["id"]}
    several = (await web.conversations_open(users=[ann, bob], return_im=True))["channel"]
    assert (several["id"][0], several["is_mpim"]) == ("C", True)
    assert (await refused(web.conversations_open(users=["U0NOBODY99"])))["error"] == "user_not_found"
    assert (await refused(web.conversations_open(users="")))["error"] == "users_list_not_supplied"


async def test_people_are_told_of(server, web, people):
    await people.say("hi", user="Ann Lee")
    ann = server.world.person("Ann Lee")["id"]
    assert (await web.users_info(user=ann))["user"]["profile"]["real_name"] == "Ann Lee"
    assert {one["id"] for one in (await web.users_list())["members"]} == {server.world.bot, ann}
    assert (await refused(web.users_info(user="U0NOBODY99")))["error"] == "user_not_found"


async def test_a_reaction_is_added_once(web, people):
    said = await people.say("hello")
    where = {"channel": said.chat, "timestamp": said.ref.rpartition(":")[2]}
    await web.reactions_add(name="eyes", **where)
    assert (await refused(web.reactions_add(name="eyes", **where)))["error"] == "already_reacted"
    assert (await refused(web.reactions_add(name="E Y", **where)))["error"] == "invalid_name"
    missed = {**where, "timestamp": "1700000000.000100"}
    assert (await refused(web.reactions_add(name="eyes", **missed)))["error"] == "message_not_found"
    await web.reactions_remove(name="eyes", **where)
    assert (await refused(web.reactions_remove(name="eyes", **where)))["error"] == "no_reaction"


async def test_history_leaves_out_threads_and_replies_tell_them(web, people):
    root = await people.say("root", chat="general")
    ts = root.ref.rpartition(":")[2]
    inside = await web.chat_postMessage(channel=root.chat, text="inside", thread_ts=ts)
    last = await web.chat_postMessage(channel=root.chat, text="last")
    told = await web.conversations_history(channel=root.chat, limit=1)
    assert ([m["text"] for m in told["messages"]], told["has_more"]) == (["last"], True)
    rest = await web.conversations_history(channel=root.chat, cursor=told["response_metadata"]["next_cursor"])
    assert [m["text"] for m in rest["messages"]] == ["root"]
    for inclusive, texts in ((True, ["last"]), (False, [])):
        one = await web.conversations_history(
            channel=root.chat, oldest=inside["ts"], latest=last["ts"], inclusive=inclusive
        )
        assert [m["text"] for m in one["messages"]] == texts
    thread = await web.conversations_replies(channel=root.chat, ts=ts)
    assert [m["text"] for m in thread["messages"]] == ["root", "inside"]
    lost = web.conversations_replies(channel=root.chat, ts="1700000000.000100")
    assert (await refused(lost))["error"] == "thread_not_found"
    await people.say(chat="general", member=False)
    assert (await refused(web.conversations_history(channel=root.chat)))["error"] == "not_in_channel"


async def test_a_reset_leaves_the_app_alone(server, web, people):
    await people.say("hello", user="ann")
    await people.say(tokens_revoked=True)
    await people.reset()
    assert [one["id"] for one in (await web.users_list())["members"]] == [server.world.bot]
    assert [call["method"] for call in await people.record()] == ["users.list"]


async def test_a_status_is_set_in_a_thread(web, people):
    said = await people.say("hello")
    ts = said.ref.rpartition(":")[2]
    await web.assistant_threads_setStatus(channel_id=said.chat, thread_ts=ts, status="is thinking")
    await web.assistant_threads_setStatus(channel_id=said.chat, thread_ts=ts, status="")
    lost = web.assistant_threads_setStatus(channel_id="C0NOWHERE9", thread_ts=ts, status="a")
    assert (await refused(lost))["error"] == "channel_not_found"
    odd = web.assistant_threads_setStatus(channel_id=said.chat, thread_ts="now", status="a")
    assert (await refused(odd))["error"] == "invalid_thread_ts"


async def test_a_file_is_uploaded_told_of_and_fetched_with_the_bearer(server, web, people):
    said = await people.say("hello")
    done = await web.files_upload_v2(
        content="a,b", filename="t.csv", title="T", channel=said.chat, initial_comment="Here", thread_ts=said.ref[-17:]
    )
    (heard,) = await people.replies(chat=said.chat, after=said.after)
    assert heard.text == "Here\n[t.csv]"
    info = (await web.files_info(file=done["file"]["id"]))["file"]
    assert (info["name"], info["title"], info["size"], info["mimetype"]) == ("t.csv", "T", 3, "text/csv")
    async with aiohttp.ClientSession() as session:
        bearer = {"Authorization": f"Bearer {server.bot_token}"}
        async with session.get(info["url_private"], headers=bearer) as response:
            assert (await response.read(), response.content_type) == (b"a,b", "text/csv")
        async with session.get(info["url_private_download"]) as response:
            assert (response.status, response.content_type) == (200, "text/html")


async def test_an_upload_that_is_not_there_is_refused(web):
    assert (await refused(web.files_getUploadURLExternal(filename="a", length=0)))["error"] == "invalid_arguments"
    started = await web.files_getUploadURLExternal(filename="a", length=3)
    unsent = web.files_completeUploadExternal(files=[{"id": started["file_id"], "title": "a"}])
    assert (await refused(unsent))["error"] == "file_not_found"
    assert (await refused(web.files_info(file=started["file_id"])))["error"] == "file_not_found"
    async with aiohttp.ClientSession() as session, session.post(started["upload_url"], data=b"four") as response:
        assert response.status == 400


async def test_posts_that_come_too_fast_are_limited():
    async with SlackRehearsal(per_channel=60) as server:
        web = AsyncWebClient(token=server.bot_token, base_url=server.base_url)
        said = await server.say({"text": "hello"})
        await web.chat_postMessage(channel=said["chat"], text="a")
        answer = await refused(web.chat_postMessage(channel=said["chat"], text="a"))
    assert (answer.status_code, answer["error"]) == (429, "ratelimited")
    assert 1 <= int(answer.headers["Retry-After"]) <= 60


async def test_faults_come_as_slack_has_them(web, people):
    said = await people.say("hello")
    await people.fault(method="chat.postMessage", status=429, retry_after=0)
    web.retry_handlers.append(AsyncRateLimitErrorRetryHandler(max_retry_count=1))
    await web.chat_postMessage(channel=said.chat, text="limited, then sent")
    await people.fault(method="chat.postMessage", status=403, description="account_inactive")
    answer = await refused(web.chat_postMessage(channel=said.chat, text="a"))
    assert (answer.status_code, answer["error"]) == (200, "account_inactive")
    await people.fault(status=503, description="service_unavailable")
    answer = await refused(web.chat_postMessage(channel=said.chat, text="a"))
    assert (answer.status_code, answer["error"]) == (503, "service_unavailable")
    web.retry_handlers.clear()
    for when, count in (("before", 1), ("after", 2)):
        await people.fault(method="chat.postMessage", drop=when)
        with pytest.raises(aiohttp.ClientError):
            await web.chat_postMessage(channel=said.chat, text=when)
        assert len(await people.replies(chat=said.chat, after=said.after)) == count


@pytest.mark.parametrize(("how", "error"), [("uninstall", "account_inactive"), ("tokens_revoked", "token_revoked")])
async def test_the_token_dies_with_the_app(web, people, how, error):
    await people.say(**{how: True})
    assert (await refused(web.auth_test()))["error"] == error


async def test_a_rehearsal_is_what_a_connection_needs():
    async with rehearse("http://127.0.0.1:1/hook") as rehearsed:
        web = AsyncWebClient(token=rehearsed.secrets["bot_token"], base_url=rehearsed.settings["base_url"])
        assert (await web.auth_test())["ok"]
        opened = await web.apps_connections_open(app_token=rehearsed.secrets["app_token"])
        assert opened["url"].startswith(rehearsed.control_url.replace("http", "ws"))
