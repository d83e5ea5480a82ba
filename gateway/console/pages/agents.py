"""Agents: who there is, a package's files with an editor, rehearsal, trash, and a trial that touches nothing live."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import JsonValue
from ulid import ULID

from agents_runtime.run import NoJournal, RunRequest
from agents_runtime.state import scratch_state
from agents_runtime.tools.grants import open_to
from agents_runtime.tree import MANIFEST
from builder_skill.desk import Desk
from builder_skill.tools.agent_change import put_manifest
from builder_skill.workspace.checks import Check, check_package
from builder_skill.workspace.files import texts, writable
from builder_skill.workspace.shelf import owned, trashed
from channels.message import Conversation, InboundMessage, Sender
from gateway.builder import KNOWN
from gateway.console.stage import PERSON, Stage
from gateway.desk import lay_desk

TRIALS = 32
"""Trials kept at once; the oldest is forgotten."""


@dataclass(slots=True)
class Trial:
    """One person's chat against an agent as it is on disk, with a state of its own."""

    state: Path
    history: bytes
    lines: list[tuple[str, str]]


class Agents:
    """The list and one package."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._trials: OrderedDict[tuple[str, str], Trial] = OrderedDict()

    async def index(self, request: web.Request) -> web.Response:
        """Every agent, and the trash."""
        desk = lay_desk(self._stage.settings, self._stage.ledger, self._stage.registry, "console")
        users: dict[str, list[str]] = {}
        for route in await self._stage.ledger.routes():
            if route.enabled:
                users.setdefault(route.agent_id, []).append(route.id)
        return self._stage.page(
            request,
            "agents.html",
            title="Agents",
            agents=self._stage.registry.entries(KNOWN),
            users=users,
            trash=[*dict.fromkeys(name.split(".")[0] for name in trashed(desk))],
            tools=[name for name, tool in KNOWN.items() if not tool.reserved_for],
        )

    async def show(self, request: web.Request) -> web.Response:
        """One package: its files, its checks, what changed since it was deployed, and a trial."""
        agent_id, stage = request.match_info["id"], self._stage
        entry = next((e for e in stage.registry.entries(KNOWN) if e.id == agent_id), None)
        if entry is None:
            stage.registry.get(agent_id)
            raise web.HTTPNotFound
        person = request[PERSON]
        values: dict[str, Any] = {"package": None, "found": None, "difference": None, "files": {}, "chosen": ""}
        if entry.source == "user" and (stage.settings.agents_dir / agent_id / MANIFEST).is_file():
            package = await stage.use(person, "agent_read", {"id": agent_id})
            files = texts(stage.settings.agents_dir / agent_id)
            first = f"skills/{entry.entry_skill}/SKILL.md"
            chosen = request.query.get("file", "").strip() or (first if first in files else MANIFEST)
            if chosen not in files:
                writable(stage.settings.agents_dir / agent_id, chosen)
                files[chosen] = ""
            values = {
                "package": package,
                "found": await stage.use(person, "agent_validate", {"id": agent_id}),
                "difference": await stage.use(person, "agent_diff", {"id": agent_id}),
                "files": {p: t for p, t in files.items() if not p.startswith(("state/conversations", "state/senders"))},
                "chosen": chosen,
            }
        trial = self._trials.get((person.name, agent_id))
        lines = [] if trial is None else trial.lines
        return stage.page(request, "agent.html", title=agent_id, entry=entry, trial=lines, **values)

    async def check(self, request: web.Request) -> web.Response:
        """What would be wrong with a file as it stands in the editor: checked on a copy, nothing is written."""
        form, agent_id = await request.post(), request.match_info["id"]
        path, text = str(form.get("path", "")), _text(form)
        checks = await asyncio.to_thread(self._check, agent_id, path, text)
        return self._stage.page(request, "checks.html", checks=[c for c in checks if c.severity != "ok"], chosen=path)

    async def save(self, request: web.Request) -> web.Response:
        """Write a file, if the package is still what the editor was opened on."""
        form, agent_id, person = await request.post(), request.match_info["id"], request[PERSON]
        path, text, revision = str(form.get("path", "")), _text(form), str(form.get("revision", ""))
        before = texts(owned(self._desk(), agent_id)).get(path, "")
        if path == MANIFEST:
            await asyncio.to_thread(put_manifest, self._desk(), agent_id, revision, text)
        else:
            arguments: dict[str, JsonValue] = {"id": agent_id, "path": path, "content": text, "revision": revision}
            await self._stage.use(person, "agent_write_file", arguments)
        await self._stage.note(person, "edit", f"{agent_id}/{path}", before, text)
        return self._stage.back(request, f"agents/{agent_id}?file={path}", f"Saved {path}.")

    async def create(self, request: web.Request) -> web.Response:
        """agent_create, from a form."""
        form, person = await request.post(), request[PERSON]
        agent_id = str(form.get("id", "")).strip()
        steps = [line.partition(":") for line in str(form.get("subSkills", "")).splitlines() if line.strip()]
        arguments: dict[str, JsonValue] = {
            "id": agent_id,
            **({"label": label} if (label := str(form.get("label", "")).strip()) else {}),
            "description": str(form.get("description", "")).strip(),
            "status": "production" if form.get("production") else "draft",
            "allowedTools": [str(t) for t in form.getall("tools", [])],
            "subSkills": [{"id": name.strip(), "description": text.strip()} for name, _, text in steps],
            "stateFiles": [part for part in str(form.get("stateFiles", "")).split() if part],
        }
        await self._stage.use(person, "agent_create", arguments)
        await self._stage.note(person, "create", agent_id, after=json.dumps(arguments))
        return self._stage.back(request, f"agents/{agent_id}", "Made. Write what it does, then try it below.")

    async def act(self, request: web.Request) -> web.Response:
        """Status, trash, restore."""
        form, agent_id, person = await request.post(), request.match_info["id"], request[PERSON]
        match str(form.get("act", "")):
            case "delete":
                await self._stage.use(person, "agent_delete", {"id": agent_id})
                await self._stage.note(person, "delete", agent_id)
                return self._stage.back(request, "agents", f"'{agent_id}' is in the trash.")
            case "restore":
                await self._stage.use(person, "agent_restore", {"id": agent_id})
                await self._stage.note(person, "restore", agent_id)
                return self._stage.back(request, f"agents/{agent_id}", "Back from the trash.")
            case status:
                revision = (await self._stage.use(person, "agent_read", {"id": agent_id}))["revision"]
                change: dict[str, JsonValue] = {"id": agent_id, "revision": revision, "status": status}
                await self._stage.use(person, "agent_update_manifest", change)
                await self._stage.note(person, "set status", agent_id, after=status)
                return self._stage.back(request, f"agents/{agent_id}", f"Its status is {status}.")

    async def rehearse(self, request: web.Request) -> web.Response:
        """Run the benchmark cases and show the table."""
        agent_id = request.match_info["id"]
        found = await self._stage.use(request[PERSON], "agent_rehearse", {"id": agent_id})
        return self._stage.page(request, "rehearsal.html", title=f"Rehearsal of {agent_id}", found=found)

    async def say(self, request: web.Request) -> web.Response:
        """Say something in a trial: the agent as it is on disk, drafts too, on a state of its own."""
        form, agent_id, person = await request.post(), request.match_info["id"], request[PERSON]
        key = (person.name, agent_id)
        if form.get("again") and key in self._trials:
            self._forget(key)
            return self._stage.back(request, f"agents/{agent_id}#trial")
        text = str(form.get("text", "")).strip()
        if text:
            await self._try(key, text)
        return self._stage.back(request, f"agents/{agent_id}#trial")

    async def _try(self, key: tuple[str, str], text: str) -> None:
        package = await asyncio.to_thread(self._stage.registry.get, key[1])
        trial = self._trials.get(key)
        if trial is None:
            state = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="trial-")) / "state"
            await asyncio.to_thread(scratch_state, package, state)
            trial = self._trials[key] = Trial(state, b"", [])
            while len(self._trials) > TRIALS:
                self._forget(next(iter(self._trials)))
        conversation = Conversation("trial", "15550142")
        message = InboundMessage(
            id=str(ULID()),
            connection_id="trial",
            channel="local",
            kind="message",
            dedupe_keys=(),
            conversation=conversation,
            scope="dm",
            sender=Sender("console", name=key[0]),
            text=text,
        )
        request = RunRequest(
            agent=package,
            messages=(message,),
            history=trial.history,
            state_dir=trial.state,
            manner="",
            now=datetime.now(UTC).astimezone(),
            journal=NoJournal(),
        )
        result = await self._stage.run(request)
        trial.history = result.history
        trial.lines += [("you", text), (package.manifest.label, result.text)]

    def _forget(self, key: tuple[str, str]) -> None:
        shutil.rmtree(self._trials.pop(key).state.parent, ignore_errors=True)

    def _check(self, agent_id: str, path: str, text: str) -> list[Check]:
        directory = owned(self._desk(), agent_id)
        if path != MANIFEST:
            writable(directory, path)
        with tempfile.TemporaryDirectory(prefix="check-") as folder:
            copy = Path(folder) / agent_id
            for name, content in {**texts(directory), path: text}.items():
                file = copy / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content, encoding="utf-8")
            return check_package(copy, open_to(agent_id, "user", KNOWN))

    def _desk(self) -> Desk:
        return lay_desk(self._stage.settings, self._stage.ledger, self._stage.registry, "console")


def _text(form: Mapping[str, object]) -> str:
    """A text area's content: browsers send lines with a carriage return."""
    text = str(form.get("text", "")).replace("\r\n", "\n")
    return text if not text or text.endswith("\n") else f"{text}\n"
