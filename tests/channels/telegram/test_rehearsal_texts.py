"""What the rehearsed Telegram makes of a text before it keeps it, taken from how the real one reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.telegram.rehearsal.entities.detect import detect, utf16
from channels.telegram.rehearsal.entities.links import checked
from channels.telegram.rehearsal.entities.settle import settle
from channels.telegram.rehearsal.errors import ApiError
from channels.telegram.rehearsal.keyboard import check_data, inline, keyboard, shown
from channels.telegram.rehearsal.wording import Wording

SHORT = {"MessageEntity": "ENTITY", "inline keyboard button": "BUTTON"}


def ent(kind: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": kind, "offset": offset, "length": length, **more}


def slices(text: str, entities: list[dict[str, Any]]) -> list[tuple[str, str]]:
    units = text.encode("utf-16-le")
    return [(e["type"], units[2 * e["offset"] : 2 * (e["offset"] + e["length"])].decode("utf-16-le")) for e in entities]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("/start@shop_bot now", [("bot_command", "/start@shop_bot")]),
        ("a/b /b/ </c> /d", [("bot_command", "/d")]),
        ("🥐 /go", [("bot_command", "/go")]),
        ("(see https://example.org/a_(b)).", [("url", "https://example.org/a_(b)")]),
        ("Read https://example.org!", [("url", "https://example.org")]),
        ("shop.example.com/x?y=1, or file.txt", [("url", "shop.example.com/x?y=1")]),
        ("tg://resolve?domain=x", [("url", "tg://resolve?domain=x")]),
        ("write to a.b@example.com", [("email", "a.b@example.com")]),
        ("@dana_poe and mail@dana_poe and @me", [("mention", "@dana_poe")]),
        ("#tag #2 #näh #a#b", [("hashtag", "#tag"), ("hashtag", "#näh")]),
        ("$USD $usd $TOOLONGNAME", [("cashtag", "$USD")]),
        ("nothing here. Or there", []),
    ],
)
def test_entities_are_found(text, found):
    assert slices(text, detect(text)) == found


@pytest.mark.parametrize(
    ("text", "entities", "kept", "kept_entities"),
    [
        (" \n a\tb\x00 \n", [], "a b", []),
        ("a\r\nb", [], "a\nb", []),
        ("a\u202eb\u0333", [], "ab", []),
        ("  a b  ", [ent("bold", 0, 7)], "a b", [ent("bold", 0, 3)]),
        ("a  b", [ent("bold", 1, 2)], "a  b", []),
        ("a b", [ent("bold", 1, 2)], "a b", [ent("bold", 2, 1)]),
        ("🥐\r🥐 x", [ent("bold", 2, 3)], "🥐🥐 x", [ent("bold", 2, 2)]),
        ("see a.com", [ent("italic", 0, 9)], "see a.com", [ent("italic", 0, 9), ent("url", 4, 5)]),
        ("see a.com", [ent("code", 0, 9)], "see a.com", [ent("code", 0, 9)]),
        ("x /b", [ent("code", 0, 2)], "x /b", [ent("code", 0, 2), ent("bot_command", 2, 2)]),
        ("/b x", [ent("code", 2, 2)], "/b x", [ent("bot_command", 0, 2), ent("code", 3, 1)]),
        ("b a", [ent("bold", 2, 1), ent("italic", 0, 1)], "b a", [ent("italic", 0, 1), ent("bold", 2, 1)]),
    ],
)
def test_a_text_is_cleaned_and_trimmed_with_its_entities(text, entities, kept, kept_entities):
    settled = settle(text, entities)
    assert (settled.text, settled.entities) == (kept, kept_entities)


@pytest.mark.parametrize(
    ("offset", "length", "words"),
    [
        (1, 1, "entity begins in a middle of a UTF-16 symbol at byte offset 4"),
        (0, 1, "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 4"),
        (9, 1, "entity begins after the end of the text at UTF-16 offset 9"),
        (0, 9, "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 9"),
    ],
)
def test_an_entity_that_is_not_in_the_text_is_refused(offset, length, words):
    with pytest.raises(ApiError, match=words):
        settle("🥐🥐", [ent("bold", offset, length)])


texts = st.text(st.sampled_from("ab 🥐\n\r\t\u2028./@#é"), max_size=30)


@given(texts, st.data())
def test_what_is_kept_is_trimmed_and_its_entities_are_whole_characters_of_it(text, data):
    starts = [utf16(text[:n]) for n in range(len(text) + 1)]
    ends = st.tuples(st.sampled_from(starts), st.sampled_from(starts)).map(sorted)
    entities = [ent("bold", a, b - a) for a, b in data.draw(st.lists(ends, max_size=4)) if b > a]
    settled = settle(text, entities)
    assert settled.text == settled.text.strip(" \n")
    assert not set(settled.text) & set("\r\t\u2028")
    for kind, piece in slices(settled.text, settled.entities):
        assert piece.strip(" \n"), kind
    again = settle(settled.text, [e for e in settled.entities if e["type"] == "bold"])
    assert again == settled


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("example.org", "http://example.org/"),
        ("https://example.org:8080?a", "https://example.org:8080/?a"),
        ("tg://user?id=1", "tg://user?id=1"),
        ("tg:resolve?domain=x", "tg:resolve?domain=x"),
        ("javascript:alert(1)", ""),
        ("ftp://example.org/a", ""),
        ("http://localhost/a", ""),
        ("/menu", ""),
        ("", ""),
    ],
)
def test_a_link_is_kept_only_where_telegram_opens_it(address, kept):
    assert checked(address) == kept


def refused(act: Any) -> str:
    with pytest.raises(ApiError) as error:
        act()
    assert error.value.code == 400
    words = error.value.description.removeprefix("Bad Request: ")
    for what, short in SHORT.items():
        words = words.replace(f"can't parse {what}: ", f"{short} ")
    return words


@pytest.mark.parametrize(
    ("entity", "words"),
    [
        (5, "ENTITY expected an Object"),
        ({"offset": 0, "length": 1}, 'ENTITY Can\'t find field "type"'),
        ({"type": "bold", "length": 1}, 'ENTITY Can\'t find field "offset"'),
        ({"type": "bold", "offset": [], "length": 1}, 'ENTITY Field "offset" must be of type Number'),
        ({"type": "loud", "offset": 0, "length": 1}, "ENTITY Unsupported type specified"),
        ({"type": "text_link", "offset": 0, "length": 1}, 'ENTITY Can\'t find field "url"'),
        ({"type": "bold", "offset": -1, "length": 1}, "receive an entity with incorrect offset -1"),
    ],
)
def test_given_entities_are_refused_in_telegrams_words(entity, words):
    assert refused(lambda: Wording({"text": "a", "entities": [entity]}, "text")) == words


def test_entities_that_cannot_be_read_or_that_telegram_finds_itself_are_passed_over():
    wording = Wording({"text": "a /b", "entities": "nonsense"}, "text")
    assert slices("a /b", wording.settled({}).entities) == [("bot_command", "/b")]
    given_ = [ent("bot_command", 0, 1), ent("bold", 0, 0), ent("pre", 0, 1, language="py")]
    assert Wording({"text": "a", "entities": given_}, "text").settled({}).entities == [given_[2]]


def test_a_link_to_a_person_is_a_mention_where_the_bot_knows_them():
    dana = {"id": 7, "first_name": "Dana", "is_bot": False}
    params = {"text": '<a href="tg://user?id=7">a</a> <a href="tg://user?id=8">b</a>', "parse_mode": "HTML"}
    assert Wording(params, "text").settled({7: dana}).entities == [ent("text_mention", 0, 1, user=dana)]


def test_only_so_many_entities_and_so_many_bytes_of_them_fit():
    many = {"text": "<b>a</b> " * 120, "parse_mode": "HTML"}
    assert len(Wording(many, "text").settled({}).entities) == 100
    long = f'<a href="https://example.org/{"a" * 150}">a</a> '
    assert len(Wording({"text": long * 50, "parse_mode": "HTML"}, "text").settled({}).entities) == 50
    assert (
        refused(lambda: Wording({"text": long * 60, "parse_mode": "HTML"}, "text").settled({})) == "ENTITIES_TOO_LONG"
    )


@pytest.mark.parametrize(("name", "limit"), [("text", 4096), ("caption", 1024)])
def test_length_counts_characters_after_parsing(name, limit):
    fits = {name: f"<b>{'🥐' * limit}</b>", "parse_mode": "html"}
    assert len(Wording(fits, name).settled({}).text) == limit
    what = "message" if name == "text" else "message caption"
    assert refused(lambda: Wording({name: "a" * (limit + 1)}, name).settled({})) == f"{what} is too long"


# keyboards


def inlined(*buttons: Any) -> dict[str, Any]:
    return {"reply_markup": {"inline_keyboard": [list(buttons)]}}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"reply_markup": "{"}, "can't parse reply keyboard markup JSON object"),
        ({"reply_markup": "[]"}, "object expected as reply markup"),
        ({"reply_markup": {"inline_keyboard": {}}}, 'field "inline_keyboard" must be of type Array'),
        (
            {"reply_markup": {"inline_keyboard": [{}]}},
            'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays',
        ),
        (inlined("a"), "BUTTON InlineKeyboardButton must be an Object"),
        (inlined({"url": "a"}), 'BUTTON Can\'t find field "text"'),
        (inlined({"text": []}), 'BUTTON Field "text" must be of type String'),
        (inlined({"text": "a"}), "BUTTON Text buttons are unallowed in the inline keyboard"),
        (inlined({"text": "a", "callback_data": ""}), "BUTTON Text buttons are unallowed in the inline keyboard"),
        (
            inlined({"text": "a", "url": "javascript:x"}),
            "inline keyboard button URL 'javascript:x' is invalid: Wrong HTTP URL",
        ),
        (
            {"reply_markup": {"keyboard": [[5]]}},
            "can't parse keyboard button: KeyboardButton must be a String or an Object",
        ),
        ({"reply_markup": {"keyboard": [[{}]]}}, "can't parse keyboard button: Can't find field \"text\""),
    ],
)
def test_buttons_are_refused_in_telegrams_words(params, words):
    assert refused(lambda: keyboard(params)) == words


@pytest.mark.parametrize(("data", "fits"), [("a" * 64, True), ("a" * 65, False), ("é" * 32, True), ("é" * 33, False)])
def test_the_data_of_a_button_is_measured_in_bytes(data, fits):
    markup = keyboard(inlined({"text": "a", "callback_data": data}))
    if fits:
        check_data(markup)
    else:
        assert refused(lambda: check_data(markup)) == "BUTTON_DATA_INVALID"


def test_a_message_shows_inline_buttons_only_and_those_that_have_a_text():
    markup = keyboard(inlined({"text": "", "callback_data": "a"}, {"text": "b", "callback_data": "b", "pay": False}))
    assert inline(markup) == {"reply_markup": {"inline_keyboard": [[{"text": "b", "callback_data": "b"}]]}}
    assert keyboard(inlined({"text": "", "callback_data": "a"})) is None
    plain = keyboard({"reply_markup": '{"keyboard": [["yes", {"text": "no"}]]}'})
    assert (inline(plain), shown(plain)) == ({}, [{"text": "yes", "data": ""}, {"text": "no", "data": ""}])
    assert inline(keyboard({"reply_markup": {"remove_keyboard": True}})) == {}
    assert keyboard({"reply_markup": {}}) is keyboard({"reply_markup": ""}) is keyboard({}) is None
    link = keyboard(inlined({"text": "a", "url": "example.org"}))
    assert shown(link) == [{"text": "a", "url": "http://example.org/"}]


def test_a_keyboard_keeps_twelve_buttons_in_a_row_and_three_hundred_in_all():
    rows = [[{"text": "a", "callback_data": "a"}] * 20] * 40
    markup = keyboard({"reply_markup": {"inline_keyboard": rows}})
    assert markup is not None
    assert [len(row) for row in markup["inline_keyboard"]] == [12] * 25
