"""Serves the kernel tools of one session: joins the kernel, the gate, the cards, the editor, the connections.

`session_tools` imports and creates it when the agent first connects: tools that nobody uses cost nothing.
Runs on the loop thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core import events as ev
from ..core.snapshot import ToolCall
from ..wire.mcp import ToolRequest
from .kernel_tools.access import KernelAccess
from .kernel_tools.cards import KernelCards
from .kernel_tools.current_call import called_by
from .kernel_tools.editor import NotebookEditor, Writes
from .kernel_tools.functions import Functions
from .kernel_tools.gate import SessionGate
from .kernel_tools.server import McpConnection, Send
from .kernel_tools.service import KernelService
from .permissions.permission_manager import PermissionManager
from .session_state import SessionState
from .threads import on_a_thread
from .workspace import Workspace


class SessionService:
    """Serves the tools to the connections of one session's agent, until `close`."""

    def __init__(
        self,
        access: KernelAccess,
        state: SessionState,
        workspace: Workspace,
        permissions: PermissionManager,
        services: Writes,
        functions: Functions,
        *,
        cancel: Callable[[], None],
        on_use: Callable[[], None],
    ) -> None:
        """`cancel` cancels the running turn. `on_use` is called for each call."""
        assert access.make is not None
        self._access = access
        self._workspace = workspace
        self._kernel = access.make(access.options.hide, lambda: workspace.open_notebooks, cancel)
        self._connections: set[McpConnection] = set()
        cards = KernelCards()
        self._gate = SessionGate(
            permissions,
            state.auditor,
            cards,
            state.apply,
            state.calls.open,
            lambda: workspace.describer.naming,
            lambda: state.accepts_actions,
        )
        self.tools = KernelService(
            self._kernel,
            self._gate,
            NotebookEditor(services, workspace.notebooks, self._notebooks, self._gate.own_edit),
            denied=access.options.deny,
            functions=functions,
            called_by=lambda: called_by(state),
            titled=workspace.kernel_name if state.agent.quirks.mcp_title_by_server else "",
            clean=state.agent.redactor.text,
            on_use=on_use,
        )
        self._follow(state, cards)

    def _follow(self, state: SessionState, cards: KernelCards) -> None:
        rewrite = state.rewrite
        state.rewrite = lambda event: cards.seen(rewrite(event))
        state.on(ev.TurnStarted, lambda _: cards.turn_started())
        state.on(ev.TurnStarted, lambda _: self._gate.turn_started())
        state.on(ev.ToolChanged, lambda _: self._gate.call_changed())
        state.on(ev.TurnCancelling, lambda _: self.tools.stop())
        state.on(ev.TurnEnded, lambda _: self.tools.stop())
        state.on(ev.StatusChanged, self._status_changed)

    def connect(self, send: Send) -> McpConnection:
        connection = McpConnection(self.tools, send, on_closed=self._connections.discard)
        self._connections.add(connection)
        return connection

    def tools_changed(self) -> None:
        for connection in self._connections:
            connection.tools_changed()

    async def own_call(self, request: ToolRequest) -> ToolCall | None:
        """The session's tool call that makes this MCP call. Waits a moment for it."""
        return await self._gate.own_call(request)

    def close(self) -> None:
        """Stop running code."""
        self.tools.stop()
        close = getattr(self._kernel, "close", None)
        if close is not None:
            close()

    def _status_changed(self, event: ev.StatusChanged) -> None:
        if event.status in ("dead", "disconnected", "lost", "closed", "restarting"):
            self.tools.stop()

    async def _notebooks(self) -> Sequence[str]:
        live = self._workspace.open_notebooks
        opened = () if live is None else await live.open_files()
        return opened or await on_a_thread(self._access.notebook_files)
