"""Agents that all gateways have: packed into one archive, known by its digest, and laid out on each of them."""

from __future__ import annotations

import asyncio
import hashlib
import io
import secrets
import shutil
import tarfile
from contextlib import suppress
from pathlib import Path

import structlog

from builder_skill.workspace.checks import check_package
from builder_skill.workspace.files import files_of
from channels.errors import PostroomError
from gateway.builder import KNOWN
from gateway.ledger.protocol import Ledger
from gateway.ledger.records import Bundle
from gateway.settings import Settings

log = structlog.get_logger()

BUNDLE_MAX = 20_000_000
"""Bytes of a package's files together: it goes through the database, and into every gateway's memory once."""

BUNDLES = ".bundles"


class PublishRefused(PostroomError):
    """The agent can't be published as it is, or not from here."""

    code = "publish_refused"


async def publish(settings: Settings, ledger: Ledger, agent_id: str, by: str) -> Bundle:
    """Make the home's package of that id the one that every gateway has. Raises PublishRefused."""
    if not settings.database_url:
        raise PublishRefused(
            "There is one gateway here, which has its agents already.",
            fix="Publishing is for gateways that share a database: set POSTROOM_DATABASE_URL.",
        )
    directory = settings.agents_dir / agent_id
    if not (directory / "agent.json").is_file() or directory.is_symlink():
        raise PublishRefused(
            f"There is no package '{agent_id}' in {settings.agents_dir}.", fix="`postroom agent list` shows what is."
        )
    wrong = [check for check in check_package(directory, KNOWN) if check.severity == "error"]
    if wrong:
        raise PublishRefused(
            f"'{agent_id}' has {len(wrong)} error(s); the first: {wrong[0].message}",
            fix=f"postroom agent validate {agent_id}",
        )
    content = await asyncio.to_thread(pack, directory)
    bundle = Bundle(agent_id, hashlib.sha256(content).hexdigest(), content, by)
    await ledger.publish(bundle)
    return bundle


def pack(directory: Path) -> bytes:
    """The files of a package as one archive, the same for the same files. Raises PublishRefused."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in files_of(directory):
            content = path.read_bytes()
            info = tarfile.TarInfo(str(path.relative_to(directory)))
            info.size, info.mode = len(content), 0o600
            archive.addfile(info, io.BytesIO(content))
            if packed.tell() > BUNDLE_MAX:
                raise PublishRefused(
                    f"The package is larger than {BUNDLE_MAX // 1_000_000} MB.", fix="Leave large files out of it."
                )
    return packed.getvalue()


async def lay_out(settings: Settings, ledger: Ledger) -> None:
    """Make the folder of published agents what the ledger says: a link for each, swapped at once."""
    if not settings.database_url:
        return
    wanted = await ledger.published()
    for agent_id, digest in wanted.items():
        place = settings.published_dir / BUNDLES / digest
        if not place.is_dir():
            try:
                content = (await ledger.bundle(digest)).content
                await asyncio.to_thread(unpack, content, digest, place)
            except (PostroomError, OSError, tarfile.TarError) as error:  # what was there before goes on answering
                log.error("bundle_not_laid_out", agent=agent_id, error=str(error))
                continue
        _point(settings.published_dir / agent_id, Path(BUNDLES) / digest)
    for link in settings.published_dir.glob("*"):
        if link.is_symlink() and link.name not in wanted:
            link.unlink(missing_ok=True)


def unpack(content: bytes, digest: str, place: Path) -> None:
    """Lay an archive out in a folder, whole or not at all. Raises PublishRefused for other bytes than were packed."""
    if hashlib.sha256(content).hexdigest() != digest:
        raise PublishRefused("A published agent is not what was packed.", fix="Publish it again.")
    fresh = place.with_name(f".{digest[:12]}-{secrets.token_hex(6)}")
    fresh.mkdir(parents=True)
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(fresh, filter="data")
        with suppress(OSError):  # another gateway on the same disk was quicker
            fresh.rename(place)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _point(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    fresh = link.with_name(f".{link.name}-{secrets.token_hex(6)}")
    fresh.symlink_to(target)
    fresh.replace(link)
