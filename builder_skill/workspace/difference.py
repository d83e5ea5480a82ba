"""What differs between two sets of files, as a person reads it. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Mapping


def unified(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """A unified diff over all files, or an empty string where nothing differs."""
    lines: list[str] = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        lines += difflib.unified_diff(
            (old or "").splitlines(),
            (new or "").splitlines(),
            "/dev/null" if old is None else f"a/{path}",
            "/dev/null" if new is None else f"b/{path}",
            lineterm="",
        )
        if not (old or new):
            lines += [f"--- {path}", "+++ empty file" if old is None else "+++ gone"]
    return "\n".join(lines)
