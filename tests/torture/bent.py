"""A process whose wall clock jumps and whose disk is slow, when the test says so. Needs a C compiler."""

from __future__ import annotations

import mmap
import struct
import subprocess
from pathlib import Path

from tests.support.gateway import Home

SOURCE = Path(__file__).with_name("shim.c")


class Bent:
    """What gateways started in a home see of the clock and the disk."""

    def __init__(self, home: Home, folder: Path) -> None:
        library, numbers = folder / "shim.so", folder / "shim.numbers"
        command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(SOURCE), "-ldl"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        numbers.write_bytes(bytes(16))
        with numbers.open("r+b") as file:
            self._numbers = mmap.mmap(file.fileno(), 16)
        self.env = {"LD_PRELOAD": str(library), "TORTURE_SHIM": str(numbers)}
        home.env |= self.env
        home.fresh = True

    def clock(self, offset: int) -> None:
        """Set the wall clock so many seconds off the real one."""
        self._numbers[:8] = struct.pack("d", float(offset))

    def disk(self, seconds: float) -> None:
        """Let each flush to disk take so long."""
        self._numbers[8:] = struct.pack("d", seconds)
