"""Homes, models and gateways for tests that drive real processes."""

from __future__ import annotations

import pytest

from tests.support.gateway import Home


@pytest.fixture
def home(tmp_path) -> Home:
    """A fresh POSTROOM_HOME."""
    return Home(tmp_path / "home")
