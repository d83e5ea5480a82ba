from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from builder_skill.desk import Desk
from tests.builder_skill.desks import a_desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with a_desk(tmp_path / "home") as desk:
        yield desk
