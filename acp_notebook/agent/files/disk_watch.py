"""Notebooks that an agent changes on disk by itself: noticed when a tool call or a turn ends.

Knows which events can mean such a change; what to do about one is `notebook_files`' business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import events as ev
from ...core.document_protocol import Failed, Unreachable
from ...core.ipynb.percent_format import SUFFIX
from ...core.records import Diff
from ...core.snapshot import ToolCall
from .roots import FileTrouble

if TYPE_CHECKING:
    from ..conversation import Conversation

ENDED = ("completed", "failed")

HARMLESS = ("read", "search", "think", "fetch", "switch_mode")
"""Kinds of tool calls that change no file. Any other may, whatever it names: a command, say."""


class DiskWatch:
    """One session's; listens to its conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._looking = False
        conversation.listen(self._noticed)

    def _noticed(self, event: ev.Event, _: object) -> None:
        if self._conversation.services.notebooks.live is None:
            return
        background = self._conversation.host.background
        match event:
            case ev.TurnStarted():
                self._conversation.services.notebooks.reloaded.clear()
                background(self._look(begin=True))
            case ev.ToolChanged(id=id, status=status) if status in ENDED:
                tool = self._conversation.read(lambda transcript: transcript.tool(id))
                if paths := _notebooks(tool):
                    background(self._look(paths))
                elif tool.kind not in HARMLESS and not self._looking:
                    self._looking = True  # until it begins: what ends meanwhile is seen by it, too
                    background(self._look())
            case ev.TurnEnded():
                background(self._look())

    async def _look(self, paths: tuple[str, ...] | None = None, *, begin: bool = False) -> None:
        notebooks = self._conversation.services.notebooks
        live = notebooks.live
        self._looking = False
        try:
            for path in await live.open_files() if live and paths is None else paths or ():
                await (notebooks.turn_began(path) if begin else notebooks.changed_on_disk(path))
        except (FileTrouble, Unreachable, Failed):
            return  # outside of the session's folders, or gone: then it is not for us


def _notebooks(tool: ToolCall) -> tuple[str, ...]:
    """Paths of notebooks that the call names as what it works on."""
    named = [it.path for it in tool.locations]
    named += [it.path for it in tool.content if isinstance(it, Diff)]
    return tuple(dict.fromkeys(it for it in named if it.lower().endswith(SUFFIX)))
