"""The workspace of one session: its roots, notebooks, terminals and their descriptions.

Only creates these parts; `client_services` uses them. Runs on the loop thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..core.document_protocol import OpenNotebooks, OpenTabs
from ..core.ipynb.partial_reads import Lines
from ..core.mcp import McpServer
from ..core.mcp_calls import KnownFunction
from .files.disk_watch import DiskWatch
from .files.notebook_cards import NotebookCards
from .files.notebook_files import NotebookFiles
from .files.open_texts import OpenTexts
from .files.roots import ElsewhereRoots, Roots
from .launch import SessionOptions
from .permissions.describer import Describer
from .session_state import SessionState
from .terminals.agent_terminals import AgentTerminals
from .terminals.contract import SessionTerminals


class Workspace:
    """Creates and connects the roots, notebooks, terminals and the describer of one session."""

    def __init__(
        self,
        state: SessionState,
        terminals: SessionTerminals,
        options: SessionOptions,
        servers: Sequence[McpServer] = (),
        *,
        is_local: bool = True,
    ) -> None:
        """`is_local`: its folders are on this machine. If not, none of its paths is looked up here."""
        self._state = state
        self.server_names = tuple(server.name for server in servers)
        """Of the MCP servers that the session was given."""
        self.kernel_name = ""
        """The name of the kernel tools server in the session, or "" if there is none."""
        self.functions: Callable[[], Mapping[str, KnownFunction]] = dict
        """The user's functions that the session offers to the agent."""
        self.terminals = terminals
        self.roots = (Roots if is_local else ElsewhereRoots)([state.cwd, *state.directories])
        self.notebooks = NotebookFiles(
            self.roots,
            state.apply,
            lambda: (None, None) if state.running is None else (state.running.id, state.running.cell),
            self._notebook_read,
            raw=options.raw_notebooks,
            keep_outputs=options.keep_outputs,
        )
        self.open_tabs: OpenTabs | None = None
        """The tabs of pages with unsaved text; None if there is no page."""
        self.texts = OpenTexts(self.roots, lambda: self.open_tabs, state.apply)
        self.cards = NotebookCards(state.cwd)
        state.rewrite = self.cards.rewrite
        self.describer = Describer(
            self.roots,
            self.notebooks,
            state.cwd,
            terminals.environment,
            lambda: state.agent.quirks,
            lambda: state.id,
            self.server_names,
            lambda: self.kernel_name,
            lambda: self.functions(),
            self.texts,
        )
        self.agent_terminals = AgentTerminals(terminals.has_created)
        self._watch = DiskWatch(state, self.notebooks)

    def _notebook_read(self, path: str, lines: Lines) -> None:
        """Now that the notebook has been read, map line locations in tool calls to cells."""
        for event in self.cards.on_read(path, lines, self._state.calls.open()):
            self._state.apply(event)

    @property
    def open_notebooks(self) -> OpenNotebooks | None:
        """The notebooks open in pages; None if there is no page."""
        return self.notebooks.live

    @open_notebooks.setter
    def open_notebooks(self, live: OpenNotebooks | None) -> None:
        self._watch.watch(live)
