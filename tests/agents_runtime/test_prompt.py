"""The prompt: its lines, its order, and nothing of the machine in it."""

from __future__ import annotations

import getpass
import socket
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from agents_runtime.loader import load_package
from agents_runtime.prompt import build_prompt, build_skill_prompt
from agents_runtime.tokens import estimate_tokens
from tests.agents_runtime.packages import skill, write_package
from tests.support.runs import package
from tests.support.runs import skill as sub_skill

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=timezone(timedelta(hours=1), "CET"))
ORDERS = sub_skill("orders", "Look the order up.")
SHOP = package("Be kind.\n\nIt is {{today}}. Keep {{other}} and {today}.", skills=[ORDERS])


def test_it_says_who_the_agent_is_what_it_does_and_what_day_it_is() -> None:
    assert build_prompt(SHOP, manner="Write short messages.", now=NOON).text == (
        "You are Corner shop, a file-backed channel agent.\n"
        "Agent id: shop\n"
        "Agent skills directory: skills/\n"
        "Agent state directory: state/\n"
        "Entry skill: desk\n"
        "\n"
        "<entry_skill>\n"
        "Be kind.\n"
        "\n"
        "It is 2026-03-02. Keep {{other}} and {today}.\n"
        "</entry_skill>\n"
        "\n"
        "Sub-skills, run with execute_skill:\n"
        "- orders: Does orders.\n"
        "\n"
        "Answer in the language of the message. Leave names, identifiers, paths, quoted text and words you were told to"
        " answer with as they are.\n"
        "\n"
        "Write short messages.\n"
        "\n"
        "Today is Monday, 2026-03-02 (CET)."
    )


def test_its_parts_have_names_and_costs() -> None:
    prompt = build_prompt(SHOP, manner="Write short messages.", now=NOON)

    assert [part.name for part in prompt.parts] == [
        "identity",
        "entry skill",
        "sub-skills",
        "language",
        "manner",
        "clock",
    ]
    assert all(part.tokens == estimate_tokens(part.text) for part in prompt.parts)
    assert "\n\n".join(part.text for part in prompt.parts) == prompt.text


def test_what_is_empty_is_left_out() -> None:
    names = [part.name for part in build_prompt(package(), manner="", now=NOON).parts]

    assert names == ["identity", "entry skill", "language", "clock"]


def test_a_language_of_its_own_is_answered_in_and_leaves_the_rest_as_it_is() -> None:
    text = build_prompt(package(language="Portuguese"), manner="", now=NOON).text

    assert "Answer in Portuguese. Leave names, identifiers," in text
    assert "language of the message" not in text


def test_a_sub_skill_without_a_description_in_the_manifest_has_its_own(tmp_path: Path) -> None:
    files = {"skills/orders/SKILL.md": skill("orders", description="About orders.")}
    shop = load_package(write_package(tmp_path, files=files, subSkills=[{"id": "orders"}]), "user")

    assert "\n- orders: About orders.\n" in build_prompt(shop, manner="", now=NOON).text


def test_nothing_of_the_machine_is_in_it(tmp_path: Path) -> None:
    shop = load_package(write_package(tmp_path), "user")
    prompts = [
        build_prompt(shop, manner="", now=NOON).text,
        build_skill_prompt(shop, shop.entry, manner="", now=NOON).text,
    ]

    for text in prompts:
        for secret in (str(tmp_path), str(Path.home()), getpass.getuser(), socket.gethostname(), "/tmp"):
            assert secret not in text


def test_a_sub_skill_s_own_prompt_has_its_body_and_the_shared_rules() -> None:
    text = build_skill_prompt(SHOP, ORDERS, manner="Write short messages.", now=NOON).text

    assert text.startswith("You are the skill orders of Corner shop.")
    for line in ("Look the order up.", "Answer in the language of the message.", "Write short messages.", "Today is"):
        assert line in text


@given(st.times(), st.times())
def test_all_of_a_day_s_prompts_are_the_same(one: datetime, other: datetime) -> None:
    first, second = (
        build_prompt(SHOP, manner="m", now=NOON.replace(hour=t.hour, minute=t.minute, second=t.second))
        for t in (one, other)
    )

    assert first == second


def test_only_the_end_changes_with_the_channel_and_the_day() -> None:
    plain = package("Be kind.")
    one = build_prompt(plain, manner="Write short messages.", now=NOON)
    other_channel = build_prompt(plain, manner="Write Markdown.", now=NOON)
    other_day = build_prompt(plain, manner="Write short messages.", now=datetime(2027, 1, 1, tzinfo=UTC))

    assert one.parts[:-2] == other_channel.parts[:-2]
    assert one.parts[:-1] == other_day.parts[:-1]
    assert one.parts[-1] != other_day.parts[-1]


def test_an_agent_that_may_read_is_told_how_to_send_a_file() -> None:
    may = build_prompt(package(allowed_tools=("read?",)), manner="", now=NOON)
    may_not = build_prompt(package(allowed_tools=("write_file",)), manner="", now=NOON)

    assert "write ![its name](its path)" in may.text
    assert "files" not in [part.name for part in may_not.parts]
