"""An agent's three folders on disk, with everything around them that it must never reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agents_runtime.loader import load_package
from agents_runtime.tools import BUILT_IN
from agents_runtime.tools.tool import ToolContext, ToolError
from tests.agents_runtime.packages import skill, write_package

SECRET = "the owner's secret"
OPEN = "open to the agent"


async def no_skill(name: str, text: str) -> str:
    raise ToolError(f"There is no sub-skill '{name}'.")


def surroundings(base: Path, **manifest: Any) -> ToolContext:
    """An agent under `base/home`, with secrets beside and above it, and links that lead to them."""
    home = base / "home"
    package = write_package(
        home / "agents",
        files={
            "skills/desk/SKILL.md": skill(body=OPEN),
            "skills/desk/references/more.md": OPEN,
            "state/conversations/one/notes.json": f'["{OPEN}"]',
            "state/conversations/one/sub/deep.txt": OPEN,
            "state/conversations/two/notes.json": f'["{SECRET}"]',
            "README.md": SECRET,
        },
        **manifest,
    )
    inbox = home / "inbox/one"
    for path, text in {
        base / "secret.txt": SECRET,
        home / "secret.txt": SECRET,
        home / "secrets/key.json": f'["{SECRET}"]',
        home / "inbox/two/photo.txt": SECRET,
        inbox / "photo.txt": OPEN,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    agent = load_package(package, "user")
    state = package / "state/conversations/one"
    for link, target in {
        state / "file-link": home / "secret.txt",
        state / "folder-link": home / "secrets",
        state / "link.json": Path("../two/notes.json"),
        state / "up": Path(".."),
        state / "loop": Path("loop"),
        state / "nowhere": home / "made.txt",
        state / "sub/folder-link": home / "secrets",
        package / "skills/desk/folder-link": home / "secrets",
        inbox / "file-link": home / "secret.txt",
    }.items():
        link.symlink_to(target)
    return ToolContext(agent, state, no_skill, inbox)


async def call(context: ToolContext, tool: str, **arguments: Any) -> str:
    """Call a built-in tool as the runner does."""
    found = BUILT_IN[tool]
    return await found.call(context, found.arguments.model_validate(arguments))
