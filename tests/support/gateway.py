"""A real `postroom up` in a process of its own, and the command line beside it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from tests.support.processes import Process, spawn

POSTROOM = Path(sys.executable).parent / "postroom"


class CommandFailed(AssertionError):
    """A command exited with an error."""


class Home:
    """One POSTROOM_HOME, the commands run on it, and the gateway working on it."""

    def __init__(self, path: Path, env: dict[str, str] | None = None) -> None:
        self.path = path
        self.fresh = False
        """Whether `up` starts an interpreter of its own, as in earnest, instead of a fork with everything imported."""
        self.env = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("POSTROOM_", "OPENAI_", "ANTHROPIC_"))},
            "POSTROOM_HOME": str(path),
            **(env or {}),
        }

    async def run(self, *args: str, stdin: str = "") -> tuple[int, str, str]:
        """Run a command to its end: exit code, standard output, standard error."""
        process = await spawn([*args], self.env, stdin=stdin.encode())
        out, err = await process.communicate()
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()

    async def ok(self, *args: str) -> str:
        """Run a command that must succeed; its standard output."""
        code, out, err = await self.run(*args)
        if code != 0:
            raise CommandFailed(f"postroom {' '.join(args)} exited {code}: {out} {err}")
        return out

    async def json(self, *args: str) -> Any:
        """Run a listing with --json."""
        return json.loads(await self.ok(*args, "--json"))

    def agent(self, agent_id: str, skill: str = "Answer briefly.", **manifest: Any) -> Path:
        """Write a small production agent into the home's agents."""
        folder = self.path / "agents" / agent_id
        entry = folder / "skills" / agent_id
        entry.mkdir(parents=True, exist_ok=True)
        (folder / "state").mkdir(exist_ok=True)
        (folder / "agent.json").write_text(
            json.dumps(
                {
                    "schemaVersion": 1,
                    "id": agent_id,
                    "label": agent_id.title(),
                    "description": f"The {agent_id} agent.",
                    "entrySkill": agent_id,
                    "status": "production",
                    **manifest,
                }
            )
        )
        (entry / "SKILL.md").write_text(f"---\nname: {agent_id}\ndescription: Test skill.\n---\n\n{skill}\n")
        return folder

    async def up(self, port: int = 0, *args: str) -> GatewayProcess:
        """Start the gateway and return once it is ready."""
        command = ["up", "--port", str(port), *args]
        process = (
            await asyncio.create_subprocess_exec(POSTROOM, *command, env=self.env, stdout=-3, stderr=-1)
            if self.fresh
            else await spawn(command, self.env, keep_stdout=False)
        )
        gateway = GatewayProcess(process)
        await gateway.ready()
        return gateway


class GatewayProcess:
    """A running gateway; its log is read as it comes."""

    def __init__(self, process: Process | asyncio.subprocess.Process) -> None:
        self._process = process
        self.port = 0
        self.log: list[dict[str, Any]] = []
        self._ready = asyncio.Event()
        self._reader = asyncio.create_task(self._read())

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def ready(self) -> None:
        """Return when it is ready; fail with its log when it ends first."""
        ended = asyncio.create_task(self._process.wait())
        ready = asyncio.create_task(self._ready.wait())
        done, _ = await asyncio.wait({ended, ready}, timeout=30, return_when=asyncio.FIRST_COMPLETED)
        if ready not in done:
            await self.kill()
            raise AssertionError(f"The gateway did not start: {self.log}")
        ended.cancel()

    def signal(self, number: int) -> None:
        """Send a signal and go on."""
        self._process.send_signal(number)

    async def kill(self) -> None:
        """SIGKILL, as a crash would."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
        await self._end()

    async def stop(self) -> int:
        """SIGTERM, as an operator would; its exit code."""
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGTERM)
        return await self._end()

    def events(self, name: str) -> list[dict[str, Any]]:
        """The log lines of one event."""
        return [line for line in self.log if line.get("event") == name]

    async def _end(self) -> int:
        code = await asyncio.wait_for(self._process.wait(), 30)
        await self._reader
        return code

    async def _read(self) -> None:
        assert self._process.stderr is not None
        async for raw in self._process.stderr:
            try:
                line = json.loads(raw)
            except ValueError:
                self.log.append({"event": "text", "text": raw.decode(errors="replace")})
                continue
            self.log.append(line)
            if line.get("event") == "ready":
                self.port = line["port"]
                self._ready.set()
