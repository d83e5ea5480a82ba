"""Backups while a ledger is written to, and bringing them back whole or not at all."""

from __future__ import annotations

import asyncio
import gzip
import io
import tarfile
from pathlib import Path

import pytest

from gateway.backup import BackupInvalid, HomeInUse, back_up, restore
from gateway.ledger.opening import open_ledger
from gateway.ledger.sqlite import open_sqlite
from gateway.settings import Settings
from gateway.vault import load_vault
from routes.connection import Connection
from tests.gateway.ledger.support import message
from tests.support.postgres import Server


async def a_home(path: Path) -> Settings:
    settings = Settings(path)
    vault = load_vault(settings.key_path)
    async with open_sqlite(settings.ledger_path, worker=True) as ledger:
        await ledger.put_connection(Connection("shop", "telegram"), {"bot_token": vault.seal("1:secret")})
        await ledger.accept([message(n) for n in range(20)])
    (path / "agents/desk/state").mkdir(parents=True)
    (path / "agents/desk/agent.json").write_text("{}")
    (path / "attachments/ab").mkdir(parents=True)
    (path / "attachments/ab/abc").write_bytes(b"picture")
    return settings


async def test_what_is_backed_up_comes_back_as_it_was(tmp_path: Path) -> None:
    settings = await a_home(tmp_path / "one")
    kept = back_up(settings, tmp_path / "a.tar.gz", with_key=True)
    other = Settings(tmp_path / "two")
    assert restore(other, tmp_path / "a.tar.gz") == kept
    assert (other.home / "attachments/ab/abc").read_bytes() == b"picture"
    assert (other.home / "agents/desk/agent.json").read_text() == "{}"
    for private in (tmp_path / "a.tar.gz", other.key_path, other.ledger_path):
        assert private.stat().st_mode & 0o077 == 0
    async with open_sqlite(other.ledger_path, worker=True) as ledger:
        sealed = await ledger.secrets("shop")
        assert load_vault(other.key_path).open(sealed["bot_token"]) == "1:secret"
        assert (await ledger.depths()).waiting_messages == 20


async def test_the_key_is_left_out_unless_asked_for(tmp_path: Path) -> None:
    settings = await a_home(tmp_path / "one")
    back_up(settings, tmp_path / "a.tar.gz")
    with tarfile.open(tmp_path / "a.tar.gz") as archive:
        assert "key" not in archive.getnames()
    key = settings.key_path.read_bytes()
    assert key not in gzip.decompress((tmp_path / "a.tar.gz").read_bytes())


async def test_a_backup_is_one_moment_of_a_ledger_that_is_written_to(tmp_path: Path) -> None:
    settings = await a_home(tmp_path / "one")
    async with open_sqlite(settings.ledger_path, worker=True) as ledger:
        writing = asyncio.create_task(_write_on(ledger))
        for n in range(3):
            kept = await asyncio.to_thread(back_up, settings, tmp_path / f"{n}.tar.gz")
            assert restore(Settings(tmp_path / f"home-{n}"), tmp_path / f"{n}.tar.gz") == kept
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def _write_on(ledger) -> None:  # type: ignore[no-untyped-def]
    for n in range(20, 100_000, 50):
        await ledger.accept([message(m) for m in range(n, n + 50)])


@pytest.mark.parametrize("harm", ["cut", "flip", "other", "climb", "empty"])
async def test_a_file_that_is_not_the_backup_changes_nothing(tmp_path: Path, harm: str) -> None:
    settings = await a_home(tmp_path / "one")
    file = tmp_path / "a.tar.gz"
    back_up(settings, file)
    data = file.read_bytes()
    match harm:
        case "cut":
            file.write_bytes(data[: len(data) // 2])
        case "flip":
            plain = bytearray(gzip.decompress(data))
            at = plain.index(b"picture")
            plain[at] ^= 1
            file.write_bytes(gzip.compress(bytes(plain)))
        case "other":
            file.write_bytes(b"hello")
        case "empty":
            file.write_bytes(b"")
        case _:
            with tarfile.open(file, "w:gz") as archive:
                info = tarfile.TarInfo("../climbed")
                info.size = 1
                archive.addfile(info, io.BytesIO(b"x"))
    other = Settings(tmp_path / "two")
    with pytest.raises(BackupInvalid) as caught:
        restore(other, file)
    assert caught.value.fix
    assert list(other.home.iterdir()) == []
    assert not (tmp_path / "climbed").exists()


async def test_a_home_with_a_ledger_is_never_written_over(tmp_path: Path) -> None:
    settings = await a_home(tmp_path / "one")
    back_up(settings, tmp_path / "a.tar.gz")
    with pytest.raises(HomeInUse):
        restore(settings, tmp_path / "a.tar.gz")


async def test_a_home_without_a_ledger_has_nothing_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(BackupInvalid):
        back_up(Settings(tmp_path / "none"), tmp_path / "a.tar.gz")
    assert list(tmp_path.glob("*.tar.gz*")) == []


async def test_a_ledger_in_a_database_is_backed_up_as_one_file_too(tmp_path: Path, postgres: Server) -> None:
    with postgres.schema() as url:
        settings = Settings(tmp_path / "one", database_url=url)
        settings.home.mkdir()
        async with open_ledger(settings, worker=True) as ledger:
            await ledger.accept([message(n) for n in range(20)])
            kept = back_up(settings, tmp_path / "a.tar.gz")
    assert kept.counts["messages"] == 20
    other = Settings(tmp_path / "two")
    assert restore(other, tmp_path / "a.tar.gz") == kept
    async with open_ledger(other, worker=True) as ledger:
        assert (await ledger.depths()).waiting_messages == 20
