"""Where payloads that others wrote are read from: beside the checkout, or where POSTROOM_PAYLOADS says."""

from __future__ import annotations

import os
from pathlib import Path


def payload_files(folder: str, pattern: str = "*.json") -> list[Path]:
    """The payload files of one provider, sorted; none where the folder isn't there."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "payloads"
    return sorted((Path(os.environ.get("POSTROOM_PAYLOADS", beside)) / folder).glob(pattern))
