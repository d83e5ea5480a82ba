"""The builder's tools, by name: one catalogue for the command line, MCP, HTTP, the console and the builder agent."""

from __future__ import annotations

from collections.abc import Mapping

from builder_skill.tools.agent_list import AGENT_LIST
from builder_skill.tools.tool import AnyBuilderTool

CATALOGUE: Mapping[str, AnyBuilderTool] = {tool.name: tool for tool in (AGENT_LIST,)}
