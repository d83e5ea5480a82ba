"""The doctor on a home in which everything is well, and on the same home with one thing wrong at a time."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agents_runtime.registry import Registry
from builder_skill.system_skill import NAME, install
from gateway.doctor import examine, machine
from gateway.doctor import home as home_checks
from gateway.doctor.mending import mend
from gateway.ledger.protocol import Ledger
from gateway.ledger.sqlite import open_sqlite
from gateway.ledger.sqlite.lock import worker_lock
from gateway.pairing import offer
from gateway.places import agent_roots, remember_places
from gateway.settings import Settings
from gateway.vault import load_vault, new_key, write_keys
from routes.change import RouteChange
from routes.connection import Connection
from routes.route import Access, Route
from tests.agents_runtime.packages import write_package
from tests.gateway.ledger.support import due_one, message, piece

TOKEN = "123456789:" + "AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc"


@dataclass
class Here:
    """A home that is well: one bot, one agent, one route, one gateway."""

    settings: Settings
    ledger: Ledger
    clock: list[float]
    monkeypatch: pytest.MonkeyPatch
    stack: ExitStack
    registry: Registry
    shown: dict[str, Any] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.settings.home

    async def connect(self, **fields: Any) -> None:
        (row,) = await self.ledger.connections()
        await self.ledger.put_connection(replace(row, **fields))

    async def route(self, *routes: Route) -> None:
        await self.ledger.change_routes(lambda _connections, _routes: RouteChange(routes, "tests", "deploy"))

    async def failing(self) -> set[str]:
        return {
            f.code
            for area in await examine(self.settings, self.ledger, self.registry)
            for f in area.findings
            if not f.ok
        }

    async def noted(self) -> set[str]:
        areas = await examine(self.settings, self.ledger, self.registry)
        return {f.code for area in areas for f in area.findings if f.ok and f.fix}


@pytest.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in os.environ if name.startswith(("POSTROOM_", "OPENAI_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid or 1)
    monkeypatch.setattr(home_checks, "_owner", lambda _home: home_checks.Finding("home_owner", True, "ours"))
    settings = Settings(tmp_path / "home", models=("extractive",))
    settings.home.mkdir(mode=0o700)
    settings.agents_dir.mkdir()
    install(settings.home)
    write_package(settings.agents_dir, "shop")
    clock = [time.time()]
    sealed = load_vault(settings.key_path).seal(TOKEN)
    with ExitStack() as stack:
        async with open_sqlite(settings.ledger_path, worker=True, clock=lambda: clock[0]) as ledger:
            row = Connection("bot", "telegram", secret_names=("bot_token",), owners=("7",), status="ok")
            await ledger.put_connection(row, {"bot_token": sealed})
            registry = Registry(agent_roots(settings))
            found = Here(settings, ledger, clock, monkeypatch, stack, registry)
            await found.route(Route("r1", "bot", "shop"))
            yield found


async def test_a_home_in_which_all_is_well(here: Here):
    areas = await examine(here.settings, here.ledger, here.registry)
    assert [area.name for area in areas] == [
        *("machine", "home", "settings", "models", "agents", "key", "connections", "routes", "ledger"),
    ]
    assert await here.failing() == set()
    assert await here.noted() == set()
    assert all(f.message for area in areas for f in area.findings)


async def test_without_a_ledger_what_is_beside_it_is_told(here: Here):
    areas = await examine(here.settings, None, here.registry)
    assert [area.name for area in areas] == ["machine", "home", "settings", "models", "agents", "key"]
    assert all(area.ok for area in areas)


async def low_disk(here: Here) -> None:
    here.monkeypatch.setattr(machine, "LOW_DISK", 10**18)


async def few_inodes(here: Here) -> None:
    seen = os.statvfs_result((1, 1, 10**13, 10**13, 10**13, 100, 10, 10, 0, 255))
    here.monkeypatch.setattr(os, "statvfs", lambda _: seen)


async def few_files(here: Here) -> None:
    here.monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))


async def no_temporary_folder(here: Here) -> None:
    def refuse() -> None:
        raise PermissionError(13, "Permission denied")

    here.monkeypatch.setattr(machine.tempfile, "TemporaryFile", refuse)


async def open_home(here: Here) -> None:
    here.home.chmod(0o755)


async def read_only(here: Here) -> None:
    def refuse(_path: Path, _data: bytes) -> int:
        raise OSError(30, "Read-only file system")

    here.monkeypatch.setattr(Path, "write_bytes", refuse)


async def on_the_network(here: Here) -> None:
    here.monkeypatch.setattr(home_checks, "_kind", lambda _home: "nfs4")


async def open_ledger_file(here: Here) -> None:
    here.settings.ledger_path.chmod(0o644)


async def no_agents_folder(here: Here) -> None:
    here.settings.agents_dir.rename(here.home / "elsewhere")
    await here.route(Route("r1", "bot", "front-desk"))


async def gone_declared_folder(here: Here) -> None:
    remember_places(here.settings, [here.home / "gone"])


async def changed_builder(here: Here) -> None:
    (here.home / "skills/.system" / NAME / "SKILL.md").write_text("Do as I say.")


async def clear_public_url(here: Here) -> None:
    here.settings = replace(here.settings, public_url="http://bots.example.com")


async def mistyped_tool(here: Here) -> None:
    here.settings = replace(here.settings, auto_approve=frozenset({"agent_craete"}))


async def no_key_for_the_model(here: Here) -> None:
    here.settings = replace(here.settings, models=("anthropic:some-model",))


async def unknown_model(here: Here) -> None:
    here.settings = replace(here.settings, models=("gpt",))


async def no_key_for_the_agents_model(here: Here) -> None:
    write_package(here.settings.agents_dir, "shop", models=["openai-chat:some-model"])


async def broken_agent(here: Here) -> None:
    write_package(here.settings.agents_dir, "spare", entrySkill=None)


async def held_back_agent(here: Here) -> None:
    write_package(here.settings.agents_dir, "spare", allowedTools=["teleport"])


async def secret_in_an_agent(here: Here) -> None:
    write_package(here.settings.agents_dir, "shop", {"README.md": f"The token is {TOKEN}"})


async def open_key(here: Here) -> None:
    here.settings.key_path.chmod(0o640)


async def another_key(here: Here) -> None:
    write_keys(here.settings.key_path, [new_key()])


async def needs_attention(here: Here) -> None:
    await here.connect(status="needs_attention", status_detail="The token was revoked.")


async def unknown_setting(here: Here) -> None:
    await here.connect(settings={"mode": "telepathy"})


async def unknown_channel(here: Here) -> None:
    await here.connect(channel="pager")


async def no_token(here: Here) -> None:
    (row,) = await here.ledger.connections()
    await here.ledger.remove_connection(row.id)
    await here.ledger.put_connection(replace(row, secret_names=()))
    await here.route(Route("r1", "bot", "shop"))


async def unreachable_webhook(here: Here) -> None:
    await here.connect(settings={"mode": "webhook"})


async def silence(here: Here) -> None:
    here.clock[0] -= 40 * 86_400
    for n in range(20):
        here.clock[0] += 86_400
        await here.ledger.accept([a_message(n)])
    while (await here.ledger.claim("w", 1)).turns:
        here.clock[0] += 1


async def no_route(here: Here) -> None:
    await here.route(Route("r1", "bot", "shop", enabled=False))


async def draft_agent(here: Here) -> None:
    write_package(here.settings.agents_dir, "shop", status="draft")


async def clashing_routes(here: Here) -> None:
    await here.route(Route("r2", "bot", "front-desk"))


async def dead_letter(here: Here) -> None:
    await here.ledger.say(a_message(1).conversation, [piece("hello")])
    await here.ledger.failed(await due_one(here.ledger), "blocked")


async def late_message(here: Here) -> None:
    here.clock[0] -= 1000
    await here.ledger.accept([a_message(1)])


async def late_reply(here: Here) -> None:
    here.clock[0] -= 1000
    await here.ledger.say(a_message(1).conversation, [piece("hello")])


async def clock_ahead(here: Here) -> None:
    here.clock[0] += 3600
    await here.ledger.accept([a_message(1)])


async def endless_log(here: Here) -> None:
    here.monkeypatch.setattr("gateway.doctor.ledger.LONG_LOG", -1)


Break = Callable[[Here], Awaitable[None]]

WRONG: dict[Break, tuple[str, ...]] = {
    low_disk: ("disk",),
    few_inodes: ("inodes",),
    few_files: ("open_files",),
    no_temporary_folder: ("temporary_files",),
    open_home: ("home",),
    read_only: ("home_writable",),
    on_the_network: ("file_system",),
    open_ledger_file: ("private_files",),
    no_agents_folder: ("agents_folder",),
    gone_declared_folder: ("declared_folder",),
    changed_builder: ("builder_skill",),
    clear_public_url: ("public_url",),
    mistyped_tool: ("auto_approve",),
    no_key_for_the_model: ("model_key_missing",),
    unknown_model: ("model_unknown",),
    no_key_for_the_agents_model: ("agent_model",),
    broken_agent: ("agent",),
    held_back_agent: ("agent",),
    secret_in_an_agent: ("agent_files",),
    open_key: ("key", "private_files"),
    another_key: ("seal",),
    needs_attention: ("connection",),
    unknown_setting: ("connection_settings",),
    unknown_channel: ("channel_unknown",),
    no_token: ("connection_secrets",),
    unreachable_webhook: ("no_public_url",),
    silence: ("silence", "late_messages"),
    no_route: ("routes",),
    draft_agent: ("route",),
    clashing_routes: ("route_conflict",),
    dead_letter: ("dead_letters",),
    late_message: ("late_messages",),
    late_reply: ("late_deliveries",),
    clock_ahead: ("clock",),
    endless_log: ("write_ahead_log",),
}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda f: f.__name__)
async def test_each_thing_that_is_wrong_is_told_and_nothing_else(here: Here, wrong: Break):
    await wrong(here)
    assert await here.failing() == set(WRONG[wrong])


async def runs_as_root(here: Here) -> None:
    here.monkeypatch.setattr(os, "geteuid", lambda: 0)


async def interrupted_write(here: Here) -> None:
    left = here.home / ".restoring-x"
    left.mkdir()
    os.utime(left, (1, 1))


async def two_ledgers(here: Here) -> None:
    here.settings = replace(here.settings, database_url="postgresql://db/x")


async def no_model(here: Here) -> None:
    here.settings = replace(here.settings, models=())


async def hidden_agent(here: Here) -> None:
    write_package(here.home / "project/.postroom/agents", "shop")
    here.registry = Registry(agent_roots(here.settings, str(here.home / "project")))


async def older_key(here: Here) -> None:
    keys = here.settings.key_path.read_text().split()
    write_keys(here.settings.key_path, [new_key(), *keys])


async def unverified(here: Here) -> None:
    await here.connect(status="unverified")


async def nobody_answers_there(here: Here) -> None:
    await here.ledger.put_connection(replace((await here.ledger.connections())[0], id="second"))


async def no_owner(here: Here) -> None:
    await here.connect(owners=())
    await here.route(Route("r1", "bot", "shop", access=Access("pairing")))


async def disabled_under_a_route(here: Here) -> None:
    await here.connect(enabled=False)


async def unsure(here: Here) -> None:
    """A notice whose send was interrupted: it is not sent again by itself."""
    here.clock[0] -= 10_000
    await here.ledger.say(a_message(1).conversation, [piece("hello", purpose="notice")])
    await due_one(here.ledger)
    here.clock[0] += 10_000
    assert (await here.ledger.due("w", 1)).deliveries == ()


async def stranger(here: Here) -> None:
    assert await offer(here.ledger, Route("r1", "bot", "shop"), a_message(1).sender, again=False)


NOTED: dict[Break, str] = {
    runs_as_root: "user",
    interrupted_write: "unfinished_files",
    two_ledgers: "two_ledgers",
    no_model: "models",
    hidden_agent: "agent_hides",
    older_key: "older_keys",
    unverified: "connection",
    nobody_answers_there: "connection_unrouted",
    no_owner: "connection_owner",
    disabled_under_a_route: "route_connection",
    stranger: "pairings",
    unsure: "unknown_deliveries",
}


@pytest.mark.parametrize("note", NOTED, ids=lambda f: f.__name__)
async def test_each_thing_to_know_of_is_told(here: Here, note: Break):
    await note(here)
    assert NOTED[note] in await here.noted()


async def test_a_home_without_a_gateway(here: Here):
    assert "gateway" not in await here.noted()
    async with open_sqlite(here.home / "second" / "ledger.db", worker=False) as ledger:
        settings = replace(here.settings, home=here.home / "second")
        areas = await examine(settings, ledger, here.registry)
        assert [f.message for f in areas[-1].findings if f.code == "gateway"] == ["No gateway is running."]
        with worker_lock(settings.ledger_path):
            areas = await examine(settings, ledger, here.registry)
            assert [f.message for f in areas[-1].findings if f.code == "gateway"] == ["1 gateway(s) at work."]


async def test_what_is_safe_to_put_right_is_and_the_rest_is_left(here: Here):
    for broken in (open_home, open_ledger_file, changed_builder, interrupted_write, needs_attention):
        await broken(here)
    before = await here.failing()
    done = mend(here.settings, await examine(here.settings, here.ledger, here.registry))
    assert len(done) == 4
    assert before - await here.failing() == {"home", "private_files", "builder_skill"}
    assert await here.failing() == {"connection"}
    assert not (here.home / ".restoring-x").exists()
    assert mend(here.settings, await examine(here.settings, here.ledger, here.registry)) == []


async def test_a_young_unfinished_file_is_somebodys_work(here: Here):
    (here.home / ".restoring-y").mkdir()
    assert await here.noted() == set()


def a_message(n: int):
    return replace(message(n), connection_id="bot", conversation=replace(message(n).conversation, connection_id="bot"))
