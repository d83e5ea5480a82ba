"""What the pages are made of, and how a page and its answer look. One `Stage` serves them all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp import web
from pydantic import JsonValue

from agents_runtime.registry import Registry
from agents_runtime.run import Run
from builder_skill.tools import CATALOGUE
from builder_skill.tools.tool import call, find
from channels.errors import PostroomError
from gateway.connections import Connections
from gateway.console.keys import Keys, Person
from gateway.desk import lay_desk
from gateway.ledger.audit import Change
from gateway.ledger.protocol import Ledger
from gateway.logs import redact
from gateway.pipeline import Pipeline
from gateway.routebook import RouteBook
from gateway.settings import Settings
from gateway.vault import Vault

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent

BASE = "/console"

PERSON = web.RequestKey("person", Person)

NAV = (
    ("now", "Now"),
    ("conversations", "Conversations"),
    ("agents", "Agents"),
    ("routes", "Routes"),
    ("connections", "Connections"),
    ("phones", "Phones"),
    ("letters", "Dead letters"),
    ("approvals", "Approvals"),
    ("health", "Health"),
)


@dataclass(frozen=True)
class Stage:
    """The running gateway, as the console uses it.

    `controls` are the rehearsal servers' addresses by channel; `closing` is set when the gateway is told to stop.
    """

    settings: Settings
    ledger: Ledger
    vault: Vault
    registry: Registry
    connections: Connections
    pipeline: Pipeline
    routes: RouteBook
    run: Run
    keys: Keys
    reload: Callable[[], Awaitable[None]]
    controls: Mapping[str, str] = field(default_factory=dict[str, str])
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    @cached_property
    def templates(self) -> Environment:
        """The templates: everything put into them is escaped. Imported with the first page, or beside the start."""
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        made = Environment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        made.filters["time"] = _time
        made.filters["ago"] = _ago
        made.filters["pretty"] = _pretty
        made.globals |= {"nav": NAV, "base": BASE, "version": version("postroom")}
        return made

    def warm(self) -> None:
        """Make every template ready, so that the first page is as quick as the next. Slow once; call it in a thread."""
        for name in self.templates.list_templates():
            self.templates.get_template(name)

    def page(self, request: web.Request, template: str, *, status: int = 200, **values: object) -> web.Response:
        """A page, or the part of one that htmx asks for."""
        person = request.get(PERSON)
        said = None if person is None else take_flash(self, request)
        values |= {"person": person, "path": request.path, "flash": said, "now": datetime.now(UTC).timestamp()}
        text = self.templates.get_template(template).render(values)
        response = web.Response(text=text, content_type="text/html", status=status)
        if said is not None:
            response.del_cookie("flash", path=BASE)
        return response

    def back(
        self, request: web.Request, to: str, message: str = "", error: PostroomError | None = None
    ) -> web.Response:
        """After a write: to a page that says what came of it."""
        response = web.Response(status=303, headers={"Location": f"{BASE}/{to}"})
        if message or error is not None:
            code, text = ("", message) if error is None else (error.code, redact(str(error)))
            sealed = self.vault.seal(json.dumps({"code": code, "text": text[:2000]})).decode()
            response.set_cookie("flash", sealed, path=BASE, max_age=60, httponly=True, samesite="Strict")
        return response

    async def use(self, person: Person, name: str, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Call one of the builder's tools in a person's name."""
        desk = lay_desk(self.settings, self.ledger, self.registry, f"console:{person.name}")
        return await call(find(CATALOGUE, name), desk, arguments)

    async def note(self, person: Person, action: str, target: str, before: str = "", after: str = "") -> None:
        """Write what a person did into the audit log."""
        await self.ledger.note(Change(person.name, action, target, redact(before)[:4000], redact(after)[:4000]))


def take_flash(stage: Stage, request: web.Request) -> dict[str, str] | None:
    """What the last write has to say, once."""
    sealed = request.cookies.get("flash")
    if not sealed:
        return None
    try:
        said: dict[str, str] = json.loads(stage.vault.open(sealed.encode()))
    except (PostroomError, ValueError):
        return None
    return said


def _time(at: float | None) -> str:
    return "–" if at is None else f"{datetime.fromtimestamp(at, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


def _ago(at: float | None, now: float) -> str:
    if at is None:
        return "never"
    seconds = max(0, int(now - at))
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name} ago"
    return f"{seconds} s ago"


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)
