"""The disk is slow, full, or turns read-only: nothing acknowledged is lost, and nothing is answered twice."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.test_gateways import each_once_and_in_order, numbers_heard
from tests.e2e.test_messages import echo, staged
from tests.support.gateway import Home
from tests.torture.bent import Bent

MEGABYTES = 64


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=60)


class Disk:
    """A disk of its own under a home."""

    def __init__(self, image: Path, at: Path) -> None:
        self.image, self.at = image, at
        at.mkdir(parents=True)
        with image.open("wb") as file:
            file.truncate(MEGABYTES * 1_000_000)
        run("mkfs.ext4", "-q", str(image))

    @contextmanager
    def mounted(self) -> Iterator[None]:
        """In place for as long as the context lasts; mended first, as at a restart."""
        subprocess.run(["e2fsck", "-p", str(self.image)], check=False, capture_output=True, timeout=60)
        run("mount", "-o", "loop", str(self.image), str(self.at))
        try:
            yield
        finally:
            run("umount", str(self.at))

    def fail(self) -> None:
        """Turn read-only at once, as a file system does when its disk answers no more."""
        run("mount", "-o", "remount,abort", str(self.at))
        subprocess.run(["touch", str(self.at / "probe")], check=False, capture_output=True, timeout=10)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Without a byte left."""
        ballast = self.at / "ballast"
        try:
            with ballast.open("wb", buffering=0) as file:
                for size in (1_000_000, 4096, 1):
                    try:
                        while True:
                            file.write(bytes(size))
                    except OSError:
                        continue
            yield
        finally:
            ballast.unlink()


@pytest.fixture
def disk(home: Home, tmp_path: Path) -> Disk:
    return Disk(tmp_path / "disk.img", home.path)


async def say(line, begin: int, end: int) -> None:
    for n in range(begin, end):
        await line.client.say(f"message {n}", user=f"user {n % 5}")


def as_delivered(channel: str, numbers: dict[str, list[int]]) -> bool:
    """Each once; in order, too, where the provider keeps it: Slack delivers what was refused after what came later."""
    return each_once_and_in_order(
        numbers if channel == "telegram" else {chat: sorted(found) for chat, found in numbers.items()}
    )


@pytest.mark.parametrize("channel", ["telegram", "slack"])
async def test_each_flush_takes_a_third_of_a_second(channel: str, home: Home, tmp_path: Path) -> None:
    bent = Bent(home, tmp_path)
    async with staged(channel, home, echo) as stage, stage.up():
        bent.disk(0.3)
        begun = time.monotonic()
        await say(stage.line, 0, 40)
        numbers = await numbers_heard(stage.line, 40)
        assert each_once_and_in_order(numbers), numbers
        assert time.monotonic() - begun < 40 * 5 * 0.3, "flushes are shared: one for each write would take longer"


@pytest.mark.parametrize("channel", ["telegram", "slack"])
async def test_a_full_disk_that_is_emptied_again(channel: str, home: Home, disk: Disk) -> None:
    with disk.mounted():
        async with staged(channel, home, echo) as stage, stage.up():
            await say(stage.line, 0, 10)
            await numbers_heard(stage.line, 10)
            with disk.full():
                await say(stage.line, 10, 30)
            await say(stage.line, 30, 35)
            assert as_delivered(channel, await numbers_heard(stage.line, 35))
            assert await home.json("ledger", "check") == []


@pytest.mark.parametrize("channel", ["telegram", "slack"])
async def test_a_disk_that_turns_read_only_and_is_mended(channel: str, home: Home, disk: Disk) -> None:
    with disk.mounted():
        stack = staged(channel, home, echo)
        stage = await stack.__aenter__()
    try:
        with disk.mounted():
            async with stage.up():
                await say(stage.line, 0, 10)
                before = await numbers_heard(stage.line, 10)
                assert each_once_and_in_order(before), before
                disk.fail()
                await say(stage.line, 10, 20)
                assert await numbers_heard(stage.line, 10) == before, "what is not on disk is not answered"
        with disk.mounted():
            async with stage.up():
                await say(stage.line, 20, 25)
                assert as_delivered(channel, await numbers_heard(stage.line, 25))
                assert await home.json("ledger", "check") == []
    finally:
        await stack.__aexit__(None, None, None)
