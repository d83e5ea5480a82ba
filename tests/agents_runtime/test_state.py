"""State folders: whose they are, what they begin with, and that no key leads out of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents_runtime import state
from agents_runtime.loader import AgentInvalid, load_package
from agents_runtime.package import AgentPackage, Source
from agents_runtime.state import slug, state_dir
from channels.message import Conversation
from tests.agents_runtime.packages import write_package

CHAT, TOPIC, OTHER = Conversation("shop", "-100", None), Conversation("shop", "-100", "7"), Conversation("b", "-100")
SEEDS = {"state/notes.json": '{"notes": []}', "state/menu/today.md": "Soup", "state/menu/secret.md": "x"}


def agent(tmp_path: Path, scope: str = "conversation", source: Source = "user") -> AgentPackage:
    directory = write_package(tmp_path, files=SEEDS, stateScope=scope, stateFiles=["notes.json", "menu/today.md"])
    return load_package(directory, source)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("source", ["user", "bundled"])
def test_each_conversation_has_its_own(tmp_path: Path, source: Source) -> None:
    shop = agent(tmp_path, source=source)
    home = tmp_path / "home"
    found = {state_dir(shop, chat, "ann", home) for chat in (CHAT, TOPIC, OTHER)}

    assert len(found) == 3
    base = home / "state/shop" if source == "bundled" else shop.directory / "state"
    assert {folder.parent for folder in found} == {base / "conversations"}
    assert state_dir(shop, CHAT, "ben", home) == state_dir(shop, CHAT, "ann", home)


def test_each_sender_has_their_own_on_each_connection(tmp_path: Path) -> None:
    shop = agent(tmp_path, "sender")
    ann, ben = (state_dir(shop, CHAT, sender, tmp_path) for sender in ("ann", "ben"))

    assert ann != ben
    assert ann.parent == ben.parent == shop.directory / "state/senders"
    assert state_dir(shop, TOPIC, "ann", tmp_path) == ann
    assert state_dir(shop, OTHER, "ann", tmp_path) != ann


def test_an_agent_s_own_is_the_package_s_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert state_dir(agent(tmp_path, "agent"), CHAT, "ann", home) == tmp_path / "shop/state"

    bundled = state_dir(agent(tmp_path, "agent", "bundled"), CHAT, "ann", home)
    assert bundled == home / "state/shop"
    assert files(bundled) == ["menu/today.md", "notes.json"]


def test_a_new_one_begins_with_copies(tmp_path: Path) -> None:
    shop = agent(tmp_path)
    (shop.directory / "state/linked.md").symlink_to("/etc/hostname")
    first = state_dir(shop, CHAT, "ann", tmp_path)
    assert files(first) == ["menu/today.md", "notes.json"]

    (first / "notes.json").write_text('{"notes": [1]}')
    assert state_dir(shop, CHAT, "ann", tmp_path) == first
    assert (first / "notes.json").read_text() == '{"notes": [1]}'
    second = state_dir(shop, OTHER, "ann", tmp_path)
    assert (second / "notes.json").read_text() == '{"notes": []}'
    assert files(second) == ["menu/today.md", "notes.json"], "live state is no seed"


def test_an_agent_without_state_begins_with_none(tmp_path: Path) -> None:
    others = {"state/conversations/x": "somebody's"}
    bare = load_package(write_package(tmp_path, files=others, stateFiles=["gone.json", "conversations/x"]), "user")

    assert files(state_dir(bare, CHAT, "ann", tmp_path)) == []


def test_turns_that_begin_at_once_share_one_whole_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = agent(tmp_path, "sender")
    real, inside = state._seeds, []

    def interrupted(seeds: Path, declared: tuple[str, ...]) -> Iterator[Path]:
        """Another turn makes the folder and writes there, while this one is still copying."""
        if not inside:
            inside.append(seeds)
            (state_dir(shop, TOPIC, "ann", tmp_path) / "notes.json").write_text("[1]")
        yield from real(seeds, declared)

    monkeypatch.setattr(state, "_seeds", interrupted)
    folder = state_dir(shop, CHAT, "ann", tmp_path)

    assert (folder / "notes.json").read_text() == "[1]"
    assert [*folder.parent.iterdir()] == [folder]


def test_a_folder_that_could_not_be_filled_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = agent(tmp_path)

    def full(*paths: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(state.shutil, "copyfile", full)
        with pytest.raises(OSError, match="No space"):
            state_dir(shop, CHAT, "ann", tmp_path)
    assert [*(shop.directory / "state/conversations").iterdir()] == []
    assert files(state_dir(shop, CHAT, "ann", tmp_path)) == ["menu/today.md", "notes.json"]


@pytest.mark.parametrize("link", ["state", "state/conversations", None])
def test_a_link_in_a_package_leads_no_agent_elsewhere(tmp_path: Path, link: str | None) -> None:
    shop = agent(tmp_path)
    (outside := tmp_path / "outside").mkdir()
    place = shop.directory / (link or f"state/conversations/{slug('shop', '-100', None)}")
    if place.exists():
        place.rename(tmp_path / "away")
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside)

    with pytest.raises(AgentInvalid, match="a link leads out"):
        state_dir(shop, CHAT, "ann", tmp_path)
    assert files(outside) == []


keys = st.text(max_size=60) | st.text("./-\\:~ aA\0", max_size=8)


@given(keys, st.none() | keys)
@example("x" * 34 + " y", None)
@example("", None)
def test_a_slug_is_a_safe_name(chat: str, thread: str | None) -> None:
    assert re.fullmatch(r"[A-Za-z0-9](-?[A-Za-z0-9]+)*-[0-9a-f]{16}", slug("shop", chat, thread))
    assert len(slug("shop" * 20, chat, thread)) <= 64


@given(st.tuples(keys, st.none() | keys), st.tuples(keys, st.none() | keys))
def test_different_keys_have_different_slugs_whatever_the_case(
    one: tuple[str, str | None], other: tuple[str, str | None]
) -> None:
    assert (slug(*one).lower() == slug(*other).lower()) == (one == other)


def test_parts_of_a_key_do_not_run_together() -> None:
    assert slug("a", "b/c") != slug("a/b", "c")
    assert slug("a", None) != slug("a", "") != slug("a")
