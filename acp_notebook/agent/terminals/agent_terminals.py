"""Terminals that an agent runs itself and only reports: as the same events as our own terminals.

Tracks which of them are open and which tool calls they belong to. Runs nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from ...core import events as ev
from ...wire import v1

ENDED = ("completed", "failed")


class _OpenTerminal(Struct):
    """A terminal that has not ended: its tool call, and how much output was reported."""

    tool: str
    characters: int = 0


class AgentTerminals:
    """Turns what an agent reports about its own terminals into events."""

    def __init__(self, is_ours: Callable[[str], bool]) -> None:
        self._is_ours = is_ours
        """Whether a terminal is ours: what an agent reports about those is ignored."""
        self._open: dict[str, _OpenTerminal] = {}

    def expand(self, *events: ev.ToolChanged) -> tuple[ev.Event, ...]:
        """The events, each followed by events for what it reports about terminals."""
        if not self._open and all(event.meta is ev.UNSET for event in events):
            return events
        return tuple(each for event in events for each in self._expand(event))

    def _expand(self, event: ev.ToolChanged) -> Iterator[ev.Event]:
        yield event
        reported = [it for it in v1.terminal_events(event.meta) if not self._is_ours(it.id)]
        ends = {it.id: it for it in reported if isinstance(it, ev.TerminalChanged) and it.status == "exited"}
        for each in reported:
            if each.id not in ends or ends[each.id] is not each:
                yield from self._apply(each, event.id)
        for id in [id for id, it in self._open.items() if it.tool == event.id]:
            yield from self._follow_call(id, event, ends.get(id))

    def _apply(self, each: ev.TerminalChanged | ev.TerminalOutput, tool: str) -> Iterator[ev.Event]:
        """The first report about a terminal, of any kind, opens it."""
        if each.id not in self._open:
            self._open[each.id] = _OpenTerminal(tool)
            if isinstance(each, ev.TerminalOutput):
                yield ev.TerminalChanged(each.id, status="running")
        if isinstance(each, ev.TerminalOutput):
            self._open[each.id].characters += len(each.text)
        yield each

    def _follow_call(
        self, id: str, event: ev.ToolChanged, end: ev.TerminalChanged | None
    ) -> Iterator[ev.Event]:
        """What the tool call itself says about its terminal: the command, the whole output, the end."""
        if command := _command(event.raw_input):
            yield ev.TerminalChanged(id, command=command)
        output = v1.whole_output(event.raw_output)
        if output is not None and len(output) > self._open[id].characters:
            yield ev.TerminalOutput(id, output, whole=True)
        if end is not None or event.status in ENDED:  # some agents never report the end of a terminal
            del self._open[id]
            yield end or ev.TerminalChanged(id, status="exited")

    def on_turn_ended(self) -> Iterator[ev.Event]:
        """Close the open terminals: after the turn, the agent will not report them any more."""
        for id in self._open:
            yield ev.TerminalChanged(id, status="killed")
        self._open.clear()


def _command(raw_input: Any) -> str | None:
    command = raw_input.get("command") if isinstance(raw_input, dict) else None
    match command:
        case str():
            return command
        case [_, "-c" | "-lc", str(line)]:
            return line
        case list() if command and all(isinstance(word, str) for word in command):
            return shlex.join(command)
    return None
