"""Notice notebooks that an agent changes on disk with its own tools, when a tool call or a turn ends.

Decides which events can mean such a change; `notebook_files` handles it.
"""

from __future__ import annotations

from collections.abc import Callable

from ...core import events as ev
from ...core.document_protocol import Failed, OpenNotebooks, Unreachable
from ...core.ipynb.percent_format import SUFFIX
from ...core.records import Diff
from ...core.snapshot import ToolCall
from ...log import logger
from ..session_state import SessionState
from .notebook_files import NotebookFiles
from .roots import FileTrouble

_log = logger(__name__)

ENDED = ("completed", "failed")

HARMLESS = ("read", "search", "think", "fetch", "switch_mode")
"""Kinds of tool calls that change no file. Any other kind may change any file: a command, for example."""


class DiskWatch:
    """Checks open notebooks for changes on disk after the events of a session that can mean one."""

    def __init__(self, state: SessionState, notebooks: NotebookFiles) -> None:
        self._state = state
        self._notebooks = notebooks
        self._looking = False
        self._stops: tuple[Callable[[], None], ...] = ()

    def watch(self, live: OpenNotebooks | None) -> None:
        """Watch the notebooks that pages have open, according to `live`; None: stop watching."""
        self._notebooks.live = live
        for stop in self._stops:
            stop()
        self._stops = ()
        if live is not None:
            self._stops = (
                self._state.on(ev.TurnStarted, self._on_turn_started),
                self._state.on(ev.ToolChanged, self._on_tool_changed),
                self._state.on(ev.TurnEnded, self._on_turn_ended),
            )

    def _on_turn_started(self, _: ev.TurnStarted) -> None:
        self._notebooks.reloaded.clear()
        self._state.agent.background(self._look(begin=True))

    def _on_turn_ended(self, _: ev.TurnEnded) -> None:
        self._state.agent.background(self._look())

    def _on_tool_changed(self, event: ev.ToolChanged) -> None:
        if event.status not in ENDED:
            return
        tool = self._state.read(lambda transcript: transcript.tool(event.id))
        if paths := _notebooks(tool):
            self._state.agent.background(self._look(paths))
        elif tool.kind not in HARMLESS and not self._looking:
            self._looking = True  # until the look begins: it also covers calls that end before that
            self._state.agent.background(self._look())

    async def _look(self, paths: tuple[str, ...] | None = None, *, begin: bool = False) -> None:
        notebooks = self._notebooks
        live = notebooks.live
        self._looking = False
        try:
            for path in await live.open_files() if live and paths is None else paths or ():
                await (notebooks.on_turn_begin(path) if begin else notebooks.on_disk_change(path))
        except (FileTrouble, Unreachable, Failed):
            _log.debug("the notebook could not be compared with its page", exc_info=True)
            return  # outside of the session's folders, or gone: nothing to do


def _notebooks(tool: ToolCall) -> tuple[str, ...]:
    """The paths of notebooks that the call names as its targets."""
    named = [it.path for it in tool.locations]
    named += [it.path for it in tool.content if isinstance(it, Diff)]
    return tuple(dict.fromkeys(it for it in named if it.lower().endswith(SUFFIX)))
