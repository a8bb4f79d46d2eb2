"""The settings of a session in its panel: permissions, grants, MCP servers, undo. Runs on the loop thread.

The agent's own settings and the switch for the kernel's tools are in the transcript instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from ...agent.conversation import Conversation
from ...agent.host import AgentHost
from ...agent.permissions.permission_settings import word_of
from ...core import intents
from ...core import page_messages as messages
from ...core.grants import Grant, allowed_by, holds_for
from ...core.mcp import McpServer


class PanelSettings:
    """Sends the settings to the pages, and changes them as a page asks."""

    def __init__(
        self, conversation: Conversation, host: AgentHost, notify: Callable[[messages.SessionSettings], None]
    ) -> None:
        self._conversation = conversation
        self._host = host
        self._notify = notify

    def send(self) -> None:
        permissions, undoing = self._conversation.permission_settings, self._conversation.undoing
        given = permissions.given
        kinds = tuple(given.items()) if isinstance(given, Mapping) else ()
        self._notify(
            messages.SessionSettings(
                permissions=permissions.word,
                given=word_of(given),
                kinds=kinds,
                rules=permissions.has_rules,
                grants=tuple(map(self._grant, permissions.grants())),
                servers=tuple(map(self._server, self._conversation.mcp_servers)),
                undo=undoing.covers,
                switches_undo=undoing.can_switch,
            )
        )

    async def change(self, intent: intents.Permissions | intents.Revoke | intents.Checkpoints) -> None:
        """Do what the page asks; raises Error."""
        permissions = self._conversation.permission_settings
        match intent:
            case intents.Permissions(policy):
                permissions.choose(policy)
            case intents.Revoke(grant):
                await permissions.revoke(grant)
            case intents.Checkpoints(on):
                self._conversation.undoing.switch(on)
        self.send()

    def _grant(self, grant: Grant) -> messages.ShownGrant:
        clean = self._conversation.agent.redactor.text
        return messages.ShownGrant(grant.id, clean(allowed_by(grant)), holds_for(grant), grant.created)

    def _server(self, server: McpServer) -> messages.ShownServer:
        """Without arguments, variables, headers and the path of the address, which may contain secrets."""
        where = os.path.basename(server.command) if server.type == "stdio" else urlsplit(server.url).hostname
        clean = self._conversation.agent.redactor.text
        own = server.name in self._host.options.servers.named
        return messages.ShownServer(clean(server.name), server.type, clean(where or ""), own)
