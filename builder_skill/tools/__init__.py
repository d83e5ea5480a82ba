"""The builder's tools, by name: one catalogue for the command line, MCP, HTTP, the console and the builder agent."""

from __future__ import annotations

from collections.abc import Mapping

from builder_skill.tools.agent_change import AGENT_UPDATE_MANIFEST, AGENT_WRITE_FILE
from builder_skill.tools.agent_create import AGENT_CREATE
from builder_skill.tools.agent_list import AGENT_LIST
from builder_skill.tools.agent_read import AGENT_DIFF, AGENT_READ, AGENT_VALIDATE
from builder_skill.tools.agent_rehearse import AGENT_REHEARSE
from builder_skill.tools.agent_trash import AGENT_DELETE, AGENT_RESTORE
from builder_skill.tools.route_change import AGENT_DEPLOY_CHANNEL, CHANNEL_ROUTE_DISABLE, CHANNEL_ROUTE_ROLLBACK
from builder_skill.tools.route_look import (
    CHANNEL_CONNECTION_LIST,
    CHANNEL_EXPLAIN,
    CHANNEL_ROUTE_LIST,
    CHANNEL_ROUTE_PREFLIGHT,
)
from builder_skill.tools.tool import AnyBuilderTool

CATALOGUE: Mapping[str, AnyBuilderTool] = {
    tool.name: tool
    for tool in (
        AGENT_LIST,
        AGENT_READ,
        AGENT_CREATE,
        AGENT_UPDATE_MANIFEST,
        AGENT_WRITE_FILE,
        AGENT_VALIDATE,
        AGENT_DELETE,
        AGENT_RESTORE,
        AGENT_DIFF,
        AGENT_REHEARSE,
        CHANNEL_CONNECTION_LIST,
        CHANNEL_ROUTE_LIST,
        CHANNEL_ROUTE_PREFLIGHT,
        AGENT_DEPLOY_CHANNEL,
        CHANNEL_ROUTE_DISABLE,
        CHANNEL_ROUTE_ROLLBACK,
        CHANNEL_EXPLAIN,
    )
}
