"""The tools that come with Postroom."""

from agents_runtime.tools.files import EDIT_FILE, LIST_FILES, READ, WRITE_FILE
from agents_runtime.tools.skills import EXECUTE_SKILL
from agents_runtime.tools.tool import AnyTool

BUILT_IN: dict[str, AnyTool] = {tool.name: tool for tool in (EXECUTE_SKILL, READ, WRITE_FILE, EDIT_FILE, LIST_FILES)}

__all__ = ["BUILT_IN"]
