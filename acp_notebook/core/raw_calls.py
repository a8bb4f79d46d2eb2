"""The tool calls of a turn as the agent sent them, secrets included: the basis of permission decisions.

The transcript shows them differently: without secrets, and with cells in place of a notebook's JSON. The
rules that match updates to calls are the same as in `transcript`.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from . import events as ev
from .describe import readable_command
from .records import Content, Text
from .snapshot import ToolCall
from .transcript import CLOSED_STATUSES, RAW_KEPT, given_fields


class RawCalls:
    """Collects the unredacted tool calls of the newest turn."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}
        """By key: agents use an id for several calls."""
        self._newest: dict[str, str] = {}
        """Keys by the agent's ids."""
        self._asked: set[str] = set()
        self._replaced: dict[str, ev.ToolChanged] = {}
        """By id: the newest update that only replaces a call's content, and is not in the call yet. There may
        be one for each line of output, and few of them are ever read."""
        self._count = 0

    def call(self, id: str) -> ToolCall:
        """The tool call that currently has this id."""
        self._settle(id)
        return self._calls[self._newest[id]]

    def open(self) -> tuple[ToolCall, ...]:
        """The tool calls that have not ended."""
        self._settle(*self._replaced)
        return tuple(it for it in self._calls.values() if it.status not in CLOSED_STATUSES)

    def turn_started(self) -> None:
        for known in (self._calls, self._newest, self._asked, self._replaced):
            known.clear()

    def turn_ended(self) -> None:
        """Close the open calls: nothing more is done for a turn that has ended."""
        self._settle(*self._replaced)
        for key, call in self._calls.items():
            if call.status not in CLOSED_STATUSES:
                self._calls[key] = replace(call, status="unfinished")

    def changed(self, event: ev.ToolChanged) -> None:
        if event.only_replaces_content and self.replaced_content(event):
            return
        key = self._newest.get(event.id)
        self._settle(event.id)
        if key is None or (event.asked and self._is_used(key)):
            self._count += 1
            key = self._newest[event.id] = f"c{self._count}"
            self._calls[key] = ToolCall(key, None, event.id, "", "other", "pending")
        call = self._calls[key]
        self._calls[key] = replace(call, **_changes(call, event))
        if event.asked:
            self._asked.add(key)

    def replaced_content(self, event: ev.ToolChanged) -> bool:
        """Take an event that `only_replaces_content`; False if no call has its id."""
        if event.id not in self._newest:
            return False
        if event.status is ev.UNSET and (earlier := self._replaced.get(event.id)) is not None:
            event = replace(event, status=earlier.status)
        self._replaced[event.id] = event
        return True

    def _settle(self, *ids: str) -> None:
        """Let these calls have the content that replaces theirs."""
        for id in ids:
            if (event := self._replaced.pop(id, None)) is not None:
                key = self._newest[id]
                self._calls[key] = replace(self._calls[key], **_changes(self._calls[key], event))

    def _is_used(self, key: str) -> bool:
        """Whether a new question means another call, because this one was asked about, or has ended."""
        return key in self._asked or self._calls[key].status in CLOSED_STATUSES


def _changes(call: ToolCall, event: ev.ToolChanged) -> dict[str, Any]:
    fields = given_fields(event)
    if "raw_input" in fields:
        fields["command"] = readable_command(fields["raw_input"])
    if event.asked and "content" in fields:
        fields["content"] = _with_earlier_texts(call.content, fields["content"])
    if "meta" in fields:
        fields["meta"] = {**(call.meta or {}), **fields["meta"]}
    if event.raw is not None and len(call.raw) < RAW_KEPT:
        fields["raw"] = (*call.raw, event.raw)
    return fields


def _with_earlier_texts(earlier: tuple[Content, ...], content: tuple[Content, ...]) -> tuple[Content, ...]:
    """Keep the call's earlier texts: some agents cut the command in a question after 50 characters."""
    texts = (it for it in earlier if isinstance(it, Text) and it not in content)
    return (*texts, *content)
