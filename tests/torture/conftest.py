"""What takes too long for every run: `make torture`."""

from __future__ import annotations

from tests.e2e.conftest import home

__all__ = ["home"]
