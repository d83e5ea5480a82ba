"""Agents' state where several gateways share a database: it lives in the ledger, and a turn has a copy to work on.

Around each tool call that touches state the copy is brought up to date, and what the call wrote is put into the ledger
over the version it was made from. So a file is compared and swapped across machines, and a gateway that lost its
turn writes nothing.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agents_runtime.package import AgentPackage
from agents_runtime.state import OWN, folder_of, scratch_state
from agents_runtime.tools.confine import UNFINISHED, FileChanged
from gateway.ledger.errors import StateChanged
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import StateFile, Turn
from gateway.patience import until_written
from gateway.settings import Settings
from gateway.states import State


@dataclass(slots=True)
class _Copy:
    """One folder on this gateway: what is in it by path, as it is in the ledger. `users` are turns at work on it."""

    agent_id: str
    name: str
    folder: Path
    files: dict[str, StateFile] = field(default_factory=dict[str, StateFile])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class SharedStates:
    """The state of all agents, in a ledger that all gateways share."""

    def __init__(self, ledger: Ledger, settings: Settings) -> None:
        """In the home is what was kept before there were several gateways: it begins a folder."""
        self._ledger = ledger
        self._settings = settings
        self._cache = tempfile.TemporaryDirectory(prefix="postroom-state-", ignore_cleanup_errors=True)
        self._copies: dict[tuple[str, str], _Copy] = {}

    @asynccontextmanager
    async def open(self, turn: Turn, package: AgentPackage, sender_id: str) -> AsyncIterator[State]:
        """See States."""
        name = folder_of(package, turn.conversation, sender_id)
        copy = self._copy(package.id, name)
        copy.users += 1
        try:
            async with copy.lock:
                if not await self._pull(copy):
                    seeds = await asyncio.to_thread(_seeds, package, name, self._settings)
                    await until_written(self._ledger.begin_state, package.id, name, seeds)
                    await self._pull(copy)
            yield State(copy.folder, partial(self._guarded, copy, turn))
        finally:
            copy.users -= 1
            if not copy.users:
                del self._copies[package.id, name]
                await asyncio.to_thread(shutil.rmtree, copy.folder, ignore_errors=True)

    @asynccontextmanager
    async def _guarded(self, copy: _Copy, turn: Turn, *, writes: bool) -> AsyncIterator[None]:
        async with copy.lock:
            await self._pull(copy)
            try:
                yield
            except BaseException:
                _restore(copy)
                raise
            if writes:
                await self._push(copy, turn)

    def _copy(self, agent_id: str, name: str) -> _Copy:
        """The copy that other turns of this gateway work on too, or a new one."""
        key = (agent_id, name)
        if key not in self._copies:
            self._copies[key] = _Copy(agent_id, name, Path(tempfile.mkdtemp(dir=self._cache.name)))
        return self._copies[key]

    async def _pull(self, copy: _Copy) -> bool:
        """Fetch what others wrote. A folder that was erased is empty again; False where it isn't begun."""
        news = await self._ledger.state(copy.agent_id, copy.name, _versions(copy))
        if news is None:
            await asyncio.to_thread(_clear, copy.folder)
            copy.files.clear()
        elif news:
            await asyncio.to_thread(_write_all, copy.folder, news)
            copy.files |= news
        return news is not None

    async def _push(self, copy: _Copy, turn: Turn) -> None:
        """Put what was written here into the ledger. Raises FileChanged where another gateway was quicker."""
        for path, content in (await asyncio.to_thread(files_below, copy.folder)).items():
            known = copy.files.get(path)
            if known is not None and known.content == content:
                continue
            file = StateFile(1 if known is None else known.version + 1, content)
            put = partial(self._ledger.put_state, turn, copy.agent_id, copy.name, path)
            try:
                await until_written(put, file)
            except StateChanged as error:
                await self._forget(copy, path)
                if copy.files.get(path) != file:  # else it was this write, and its answer was lost
                    shown = f"state/{path}"
                    raise FileChanged(f"'{shown}' changed meanwhile.", fix="Read it again, then write.") from error
            except BaseException:
                await self._forget(copy, path)
                raise
            else:
                copy.files[path] = file

    async def _forget(self, copy: _Copy, path: str) -> None:
        """Take the ledger's word for a file."""
        copy.files.pop(path, None)
        (copy.folder / path).unlink(missing_ok=True)
        await self._pull(copy)


def files_below(folder: Path, without: tuple[str, ...] = ()) -> dict[str, bytes]:
    """What is in a folder, by path; links and what is not wholly written are left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not path.is_symlink()
        and not path.name.startswith(UNFINISHED)
        and path.relative_to(folder).parts[0] not in without
    }


def _seeds(package: AgentPackage, name: str, settings: Settings) -> dict[str, bytes]:
    """What a folder begins with: what it held in the home, or else what the package says."""
    own = settings.agents_dir / package.id / "state"
    for base in (package.directory / "state", own, settings.home / "state" / package.id):
        if name and (base / name).is_dir():
            return files_below(base / name)
        if not name and base.is_dir():
            return files_below(base, OWN)
    with tempfile.TemporaryDirectory() as fresh:
        scratch_state(package, Path(fresh) / "state")
        return files_below(Path(fresh) / "state")


def _versions(copy: _Copy) -> dict[str, int]:
    return {path: file.version for path, file in copy.files.items()}


def _write_all(folder: Path, files: dict[str, StateFile]) -> None:
    for path, file in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)


def _restore(copy: _Copy) -> None:
    """Undo what a call that failed has left in a copy."""
    for path, content in files_below(copy.folder).items():
        known = copy.files.get(path)
        if known is None:
            (copy.folder / path).unlink()
        elif known.content != content:
            (copy.folder / path).write_bytes(known.content)


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
