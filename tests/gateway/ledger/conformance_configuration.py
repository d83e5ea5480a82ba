"""What must hold of connections, secrets and routes."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from channels.errors import PostroomError
from gateway.ledger.errors import NotFound
from gateway.ledger.protocol import Ledger
from routes.change import RouteChange
from routes.connection import Connection
from routes.route import Access, Route
from routes.scope import Scope
from tests.gateway.ledger.support import CHAT, START, Store, due_one, message, piece, said, states

SHOP = Connection(
    "shop",
    "telegram",
    label="Shop",
    settings={"mode": "polling", "n": [1, None]},
    owners=("7", "8"),
    hook_secret="s3",
    status="ok",
    status_detail="fine",
)
TEAM = Connection("team", "slack", enabled=False)

FULL = Route(
    "r2",
    "shop",
    "front-desk",
    scope=Scope(
        "group", frozenset({"1", "2"}), frozenset({"t"}), frozenset({"u,1", 'u"2', "é"}), frozenset({"start", "help"})
    ),
    access=Access("allowlist", frozenset({"7", "8"}), mention_required=False, stranger="silent"),
    fallback=True,
    enabled=False,
)
PLAIN = Route("r1", "shop", "front-desk")
NOTHING = Route("r3", "shop", "front-desk", scope=Scope("dm", chats=frozenset()))


class Refused(PostroomError):
    code = "refused"


class Connections:
    async def test_connections_come_back_by_id(self, ledger: Ledger) -> None:
        await ledger.put_connection(TEAM)
        await ledger.put_connection(SHOP)
        assert await ledger.connections() == [SHOP, TEAM]
        await ledger.put_connection(replace(SHOP, enabled=False))
        assert await ledger.connections() == [replace(SHOP, enabled=False), TEAM]

    async def test_secrets_are_kept_by_name(self, ledger: Ledger) -> None:
        await ledger.put_connection(SHOP, {"token": b"\x00\xff", "app": b"1"})
        await ledger.put_connection(TEAM, {"token": b"other"})
        assert await ledger.secrets("shop") == {"token": b"\x00\xff", "app": b"1"}
        await ledger.put_connection(SHOP, {"token": b"new"})
        await ledger.put_connection(SHOP)
        assert await ledger.secrets("shop") == {"token": b"new", "app": b"1"}
        assert await ledger.secrets("nothing") == {}

    async def test_a_connection_names_the_secrets_there_are(self, ledger: Ledger) -> None:
        await ledger.put_connection(replace(SHOP, secret_names=("imagined",)), {"token": b"1", "app": b"2"})
        assert (await ledger.connections())[0].secret_names == ("app", "token")

    async def test_a_removed_connection_takes_secrets_and_routes_along_and_leaves_what_was_said(
        self, ledger: Ledger
    ) -> None:
        await ledger.put_connection(SHOP, {"token": b"1"})
        await ledger.put_connection(TEAM, {"token": b"2"})
        other = replace(PLAIN, id="r9", connection_id="team")
        await ledger.change_routes(lambda _c, _r: RouteChange((PLAIN, other), "deploy"))
        await ledger.accept([message(1)])
        await ledger.remove_connection("shop")
        assert [c.id for c in await ledger.connections()] == ["team"]
        assert await ledger.secrets("shop") == {}
        assert await ledger.secrets("team") == {"token": b"2"}
        assert await ledger.routes() == [other]
        assert await states(ledger) == [("text 1", "waiting", "")]
        with pytest.raises(NotFound) as error:
            await ledger.remove_connection("shop")
        assert error.value.fix


class Resealing:
    async def test_every_secret_is_written_anew_or_none(self, ledger: Ledger) -> None:
        await ledger.put_connection(SHOP, {"token": b"1", "other": b"2"})
        await ledger.put_connection(replace(SHOP, id="team"), {"token": b"3"})
        version = await ledger.config_version()

        def refuse(sealed: bytes) -> bytes:
            if sealed == b"3":
                raise RuntimeError("no key")
            return sealed * 2

        with pytest.raises(RuntimeError, match="no key"):
            await ledger.reseal(refuse)
        assert await ledger.secrets("shop") == {"token": b"1", "other": b"2"}
        assert await ledger.config_version() == version
        assert await ledger.reseal(lambda sealed: sealed * 2) == 3
        assert await ledger.secrets("shop") == {"token": b"11", "other": b"22"}
        assert await ledger.secrets("team") == {"token": b"33"}
        assert await ledger.config_version() > version


class Routes:
    async def test_routes_come_back_as_they_went_in(self, ledger: Ledger) -> None:
        await ledger.change_routes(lambda _c, _r: RouteChange((FULL, PLAIN, NOTHING), "deploy"))
        assert await ledger.routes() == [PLAIN, FULL, NOTHING]

    async def test_a_change_may_bring_connections_with_their_secrets_or_nothing_at_all(self, ledger: Ledger) -> None:
        await ledger.put_connection(SHOP, {"token": b"1", "app": b"2"})
        change = RouteChange(
            (PLAIN,), "apply", connections=(replace(SHOP, label="New"), TEAM), secrets={"shop": {"token": b"3"}}
        )
        version = await ledger.config_version()
        await ledger.change_routes(lambda _c, _r: change)
        assert [c.label for c in await ledger.connections() if c.id == "shop"] == ["New"]
        assert [c.id for c in await ledger.connections()] == ["shop", "team"]
        assert await ledger.secrets("shop") == {"token": b"3", "app": b"2"}
        assert await ledger.config_version() > version

        def refuse(_c: list[Connection], _r: list[Route]) -> RouteChange:
            raise NotFound("no")

        with pytest.raises(NotFound):
            await ledger.change_routes(refuse)
        assert await ledger.secrets("shop") == {"token": b"3", "app": b"2"}

    async def test_a_change_reads_what_is_and_is_kept_in_the_history(self, ledger: Ledger, store: Store) -> None:
        await ledger.put_connection(SHOP, {"token": b"1"})
        await ledger.change_routes(lambda _c, _r: RouteChange((PLAIN, FULL), "deploy", by="ann"))
        changed = replace(PLAIN, agent_id="back-office")
        seen: list[object] = []

        def decide(connections: list[Connection], routes: list[Route]) -> RouteChange:
            seen.extend((connections, routes))
            return RouteChange((changed,), "rollback", remove=frozenset({"r2", "unknown"}))

        store.clock.advance(5)
        done = await ledger.change_routes(decide)
        assert seen == [[replace(SHOP, secret_names=("token",))], [PLAIN, FULL]]
        assert await ledger.routes() == [changed]
        assert (done.at, done.by, done.action) == (START + 5, "owner", "rollback")
        assert (done.before, done.after) == ((PLAIN, FULL), (changed,))
        newest, oldest = await ledger.deployments()
        assert newest == done
        assert (oldest.by, oldest.action, oldest.before, oldest.after) == ("ann", "deploy", (), (PLAIN, FULL))
        assert newest.number > oldest.number
        assert await ledger.deployments(limit=1) == [newest]

    async def test_a_refused_change_writes_nothing(self, ledger: Ledger) -> None:
        await ledger.change_routes(lambda _c, _r: RouteChange((PLAIN,), "deploy"))
        version = await ledger.config_version()

        def refuse(_connections: list[Connection], routes: list[Route]) -> RouteChange:
            routes.clear()
            raise Refused("No.")

        with pytest.raises(Refused):
            await ledger.change_routes(refuse)
        assert await ledger.routes() == [PLAIN]
        assert len(await ledger.deployments()) == 1
        assert await ledger.config_version() == version

    async def test_racing_changes_see_each_other(self, ledger: Ledger, store: Store) -> None:
        def add_if_free(_connections: list[Connection], routes: list[Route]) -> RouteChange:
            if any(r.fallback for r in routes):
                raise Refused("There is a fallback already.")
            return RouteChange((replace(FULL, id=f"r{len(routes)}"),), "deploy")

        async with store.open(worker=False) as beside:
            results = await asyncio.gather(
                *(each.change_routes(add_if_free) for each in (ledger, beside) * 4), return_exceptions=True
            )
        assert sum(isinstance(r, Refused) for r in results) == 7
        assert len(await ledger.routes()) == 1


class Versions:
    async def test_every_change_of_configuration_grows_the_version(self, ledger: Ledger) -> None:
        seen = [await ledger.config_version()]

        async def grown() -> bool:
            seen.append(await ledger.config_version())
            return seen[-1] > seen[-2]

        await ledger.put_connection(SHOP)
        assert await grown()
        await ledger.put_connection(replace(SHOP, label="New"))
        assert await grown()
        await ledger.put_connection(replace(SHOP, label="New"), {"token": b"1"})
        assert await grown()
        await ledger.put_connection(replace(SHOP, label="New"), {"token": b"2"})
        assert await grown()
        await ledger.change_routes(lambda _c, _r: RouteChange((PLAIN,), "deploy"))
        assert await grown()
        await ledger.change_routes(lambda _c, _r: RouteChange((replace(PLAIN, enabled=False),), "disable"))
        assert await grown()
        await ledger.change_routes(lambda _c, _r: RouteChange((), "remove", remove=frozenset({"r1"})))
        assert await grown()
        await ledger.remove_connection("shop")
        assert await grown()

    async def test_work_does_not_grow_the_version(self, ledger: Ledger) -> None:
        await ledger.put_connection(SHOP, {"token": b"1"})
        version = await ledger.config_version()
        await ledger.accept([message(1)])
        await ledger.claim("w1", 10)
        await ledger.connections()
        await ledger.put_connection(SHOP, {"token": b"1"})
        assert await ledger.config_version() == version

    async def test_another_process_changes_configuration_and_speaks_beside_the_worker(
        self, ledger: Ledger, store: Store
    ) -> None:
        version = await ledger.config_version()
        assert (await ledger.due("w1", 10)).next_at is None
        async with store.open(worker=False) as beside:
            await beside.put_connection(SHOP, {"token": b"1"})
            await beside.change_routes(lambda _c, _r: RouteChange((PLAIN,), "deploy"))
            assert await ledger.config_version() > version
            assert await ledger.routes() == [PLAIN]
            assert await ledger.secrets("shop") == {"token": b"1"}
            waiting = asyncio.create_task(ledger.wait_for_deliveries(60))
            await asyncio.sleep(0)
            await beside.say(CHAT, [piece("a")])
            await asyncio.wait_for(waiting, 10)
        assert said(await due_one(ledger)) == "a"
