"""Prints a turn as text while it runs, in an IPython terminal.

Prints the agent's messages as they come, and one line for each tool call that has ended. Events arrive on the
loop thread; everything is printed on the main thread, in turn with the questions that are asked there.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from ..agent.conversation import Conversation
from ..agent.turn_queue import TurnRun
from ..core import events as ev
from ..core.escaping import Escaper
from ..core.records import Text, is_for_model_only
from ..core.snapshot import Message, ToolCall
from ..notebook.kernel import run_on_main

UNDER_WAY = frozenset({"pending", "in_progress", "allowed"})
"""The states of a tool call that has not ended."""


def print_turn(conversation: Conversation, run: TurnRun) -> Callable[[], None]:
    """Print the turn from now on. Call the returned function, on the main thread, when it has ended."""
    return _TurnPrinter(conversation, run).finish


class _TurnPrinter:
    """Collects the text of one turn and prints it."""

    def __init__(self, conversation: Conversation, run: TurnRun) -> None:
        self._conversation = conversation
        self._run = run
        self._escaper = Escaper(conversation.state.cwd)
        self._lock = threading.Lock()
        self._unprinted: list[str] = []
        self._at_line_start = True
        self._ended: set[str] = set()
        self._stop: Callable[[], None] = lambda: None
        conversation.agent.loop.post(self._listen)

    # ---- on the loop thread -------------------------------------------------------------------

    def _listen(self) -> None:
        key = self._run.key
        if key is not None:  # it has begun: print what there is
            for item in self._conversation.state.read(lambda transcript: transcript.turn_items(key)):
                if isinstance(item, Message) and item.role == "agent":
                    self._add(item.text)
                elif isinstance(item, ToolCall):
                    self._add_call(item)
        if not self._run.done.done():
            self._stop = self._conversation.state.listen(self._on_event)
            self._run.done.add_done_callback(lambda _: self._stop())

    def _on_event(self, event: ev.Event, _: object) -> None:
        if self._conversation.state.running is not self._run:
            return
        if isinstance(event, ev.MessageChunk):
            block = event.content
            if event.role == "agent" and isinstance(block, Text) and not is_for_model_only(block):
                self._add(block.text)
        elif isinstance(event, ev.ToolChanged):
            self._add_call(self._conversation.state.read(lambda transcript: transcript.tool(event.id)))

    def _add_call(self, call: ToolCall) -> None:
        if call.status not in UNDER_WAY and call.key not in self._ended:
            self._ended.add(call.key)
            kind, title, status = map(self._escaper.line, (call.kind, call.title, call.status))
            self._add_line(f"[{kind}] {title} — {status}")

    def _add(self, text: str) -> None:
        self._print_soon(self._escaper.prose(text))

    def _add_line(self, line: str) -> None:
        self._print_soon(("" if self._at_line_start else "\n") + line + "\n")

    def _print_soon(self, text: str) -> None:
        if not text:
            return
        self._at_line_start = text.endswith("\n")
        with self._lock:
            self._unprinted.append(text)
        run_on_main(self._print)

    # ---- on the main thread -------------------------------------------------------------------

    def _print(self) -> None:
        with self._lock:
            text = "".join(self._unprinted)
            self._unprinted.clear()
        sys.stdout.write(text)
        sys.stdout.flush()

    def finish(self) -> None:
        self._print()
        if not self._at_line_start:
            print()
