"""Published agents: packed the same everywhere, laid out whole, and swapped at once."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from agents_runtime.registry import Registry
from gateway import publishing
from gateway.ledger.records import Bundle
from gateway.ledger.sqlite import open_sqlite
from gateway.places import agent_roots
from gateway.publishing import PublishRefused, lay_out, pack, publish, unpack
from gateway.settings import Settings
from tests.agents_runtime.packages import write_package


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path / "home", database_url="postgresql://db/x")


@pytest.fixture
async def ledger(tmp_path: Path):
    async with open_sqlite(tmp_path / "ledger.db", worker=False) as opened:
        yield opened


def elsewhere(settings: Settings) -> Settings:
    return replace(settings, home=settings.home.with_name("elsewhere"))


def serving(settings: Settings) -> Registry:
    return Registry(agent_roots(settings, serving=True))


def write(settings: Settings, **fields: object) -> Path:
    return write_package(settings.agents_dir, "shop", {"state/notes.md": "begin", "README.md": "# Shop"}, **fields)


def test_the_same_files_make_the_same_archive(tmp_path: Path, settings: Settings):
    folder = write(settings)
    packed = pack(folder)
    for path in folder.rglob("*"):
        os.utime(path, (1, 1))
    (folder / "state/conversations/x").mkdir(parents=True)
    (folder / "state/conversations/x/notes.md").write_text("somebody's")
    (folder / ".hidden").write_text("x")
    assert pack(folder) == packed
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        names = archive.getnames()
    assert names == ["agent.json", "README.md", "skills/desk/SKILL.md", "state/notes.md"]
    (folder / "README.md").write_text("# Other")
    assert pack(folder) != packed


async def test_a_published_agent_is_on_a_gateway_that_has_none(settings: Settings, ledger):
    write(settings)
    await publish(settings, ledger, "shop", "ann")
    there = elsewhere(settings)
    await lay_out(there, ledger)
    package = serving(there).get("shop")
    assert (package.source, package.revision) == ("published", serving(settings).get("shop").revision)
    assert (package.directory / "state/notes.md").read_text() == "begin"


async def test_who_serves_has_the_published_one_and_who_changes_it_the_homes(settings: Settings, ledger):
    write(settings, label="First")
    await publish(settings, ledger, "shop", "ann")
    await lay_out(settings, ledger)
    write(settings, label="Edited")
    assert serving(settings).get("shop").manifest.label == "First"
    assert serving(settings).get("shop").hides == ("user",)
    assert Registry(agent_roots(settings)).get("shop").manifest.label == "Edited"
    registry = serving(settings)
    assert registry.get("shop").manifest.label == "First"
    await publish(settings, ledger, "shop", "ann")
    await lay_out(settings, ledger)
    assert registry.get("shop").manifest.label == "Edited"
    await ledger.unpublish("shop")
    await lay_out(settings, ledger)
    assert registry.get("shop").source == "user"


async def test_a_bundle_that_is_not_what_was_packed_changes_nothing(settings: Settings, ledger, tmp_path: Path):
    write(settings, label="First")
    await publish(settings, ledger, "shop", "ann")
    await lay_out(settings, ledger)
    await ledger.publish(Bundle("shop", "0" * 64, b"tampered with", "mallory"))
    await lay_out(settings, ledger)
    assert serving(settings).get("shop").manifest.label == "First"
    with pytest.raises(PublishRefused):
        unpack(b"tampered with", "0" * 64, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_an_archive_that_leads_out_of_its_folder_is_not_laid_out(tmp_path: Path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo("../escaped")
        archive.addfile(info, io.BytesIO(b""))
    content = packed.getvalue()
    with pytest.raises(tarfile.OutsideDestinationError):
        unpack(content, hashlib.sha256(content).hexdigest(), tmp_path / "bundles" / "x")
    assert not (tmp_path / "escaped").exists()
    assert list((tmp_path / "bundles").iterdir()) == []


async def test_what_can_not_be_published_is_refused_with_the_next_step(
    settings: Settings, ledger, monkeypatch: pytest.MonkeyPatch
):
    async def refused(at: Settings = settings) -> str:
        with pytest.raises(PublishRefused) as error:
            await publish(at, ledger, "shop", "ann")
        assert error.value.fix
        return error.value.message

    assert "no package" in await refused()
    folder = write(settings)
    assert "one gateway" in await refused(replace(settings, database_url=""))
    (folder / "README.md").write_text("token: 123456789:" + "AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc")
    assert "error(s)" in await refused()
    (folder / "README.md").write_text("# Shop")
    monkeypatch.setattr(publishing, "BUNDLE_MAX", 100)
    assert "larger" in await refused()
    assert await ledger.published() == {}
