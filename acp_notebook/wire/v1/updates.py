"""Translate every kind of session/update to our events. Keeps no state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from ...core import events as ev
from ...core import records as rec
from .. import jsonrpc, lenient_types, tolerant_json
from .. import schema as s
from .parts import config_options, content_record, meta_of, tool_event
from .reading import REFUSED

_update = msgspec.json.Decoder(s.SessionNotification)

ASIDE = frozenset(
    {
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
        "usage_update",
    }
)
"""Updates whose events are `is_aside`, even if their fields cannot be read."""


class UpdateMessage(Struct, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A whole session/update notification."""

    jsonrpc: Literal["2.0"] = "2.0"
    method: Literal["session/update"]
    params: s.SessionNotification


class _Flat(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """A part of a FlatUpdate: it has no `_meta`, nor anything else that may have any form."""


class _FlatText(_Flat, tag="text"):
    text: str


class _FlatContent(_Flat, tag="content"):
    content: _FlatText


class _FlatChunk(_Flat, tag_field="sessionUpdate", tag="agent_message_chunk"):
    content: _FlatText
    message_id: str | None = None


class _FlatThought(_Flat, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    content: _FlatText
    message_id: str | None = None


class _FlatCall(_Flat, tag_field="sessionUpdate", tag="tool_call_update"):
    """New content of a tool call: some agents send the content so far for each line of output."""

    tool_call_id: str
    content: tuple[_FlatContent, ...]
    status: str | None = None


class _FlatParams(_Flat):
    session_id: str
    update: _FlatChunk | _FlatThought | _FlatCall


class FlatUpdate(_Flat, kw_only=True):
    """A session/update with plain text: so are nearly all updates."""

    jsonrpc: Literal["2.0"] = "2.0"
    method: Literal["session/update"]
    params: _FlatParams


Update = FlatUpdate | UpdateMessage

_flat = msgspec.json.Decoder(FlatUpdate)
typed_updates: jsonrpc.Typed[Update] = jsonrpc.Typed(
    _flat.decode, _flat.decode_lines, msgspec.json.Decoder(UpdateMessage).decode
)
"""Read the lines of updates that follow the schema."""


def _flat_event(update: _FlatChunk | _FlatThought | _FlatCall) -> ev.Event:
    if type(update) is _FlatCall:
        status = ev.UNSET if update.status is None else update.status
        if len(update.content) == 1:  # the same, faster
            return ev.ToolChanged(
                update.tool_call_id, status=status, content=(rec.Text(update.content[0].content.text),)
            )
        content = tuple(rec.Text(it.content.text) for it in update.content)
        return ev.ToolChanged(update.tool_call_id, status=status, content=content)
    role: ev.Role = "agent" if type(update) is _FlatChunk else "thought"
    return ev.MessageChunk(role, rec.Text(update.content.text), update.message_id)  # type: ignore[union-attr]


def read_update(params: Raw | s.SessionNotification) -> tuple[str | None, ev.Event]:
    """The session (None if it cannot be read) and the event of an update."""
    if isinstance(params, Raw):
        try:
            params = _update.decode(params)
        except REFUSED:
            assert isinstance(params, Raw)
            return _read_nonstandard_update(params)
    update = params.update
    if update.meta is not UNSET or params.meta is not UNSET:
        return params.session_id, _with_meta(_event(update), params)
    return params.session_id, _event(update)


def read_updates(
    messages: Iterable[Update], failed: Callable[[Update, Exception], None]
) -> Iterator[tuple[str | None, list[ev.Event]]]:
    """The events of updates, in order: consecutive ones of the same session and type together.

    A bug in reading one update must not lose the others: `failed` gets it with the error.
    """
    events: list[ev.Event] = []
    session: str | None = None
    kind: type[ev.Event] | None = None
    session_id: str | None
    for message in messages:
        try:
            if isinstance(message, FlatUpdate):
                session_id, event = message.params.session_id, _flat_event(message.params.update)
            else:
                session_id, event = read_update(message.params)
        except Exception as error:
            failed(message, error)
            continue
        if type(event) is not kind or session_id != session:
            if events:
                yield session, events
            events, session, kind = [], session_id, type(event)
        events.append(event)
    if events:
        yield session, events


def read_unknown_notification(method: str, params: Raw) -> tuple[str | None, ev.Event]:
    """The session that an unknown notification names, and an event that keeps the notification."""
    try:
        value = tolerant_json.loads(bytes(params))
    except tolerant_json.Unreadable:
        value = bytes(params)[:400].decode("utf-8", "replace")
    session_id = value.get("sessionId") if isinstance(value, dict) else None
    return session_id if isinstance(session_id, str) else None, ev.UnknownReceived(method, value)


def _read_nonstandard_update(params: Raw) -> tuple[str | None, ev.Event]:
    try:
        value = tolerant_json.loads(bytes(params))
    except tolerant_json.Unreadable as error:
        return None, ev.UnknownReceived(
            f"session/update ({error})", bytes(params)[:400].decode("utf-8", "replace")
        )
    body = value if isinstance(value, dict) else {}
    session_id, update = body.get("sessionId"), body.get("update")
    if not isinstance(session_id, str):
        return None, ev.UnknownReceived("session/update without a session", value)
    name = update.get("sessionUpdate") if isinstance(update, dict) else None
    try:
        message = lenient_types.read(s.SessionNotification, {**body, "update": _corrected(update)})
        if isinstance(message.update, lenient_types.Opaque):
            return session_id, ev.UnknownReceived(str(name), update)
        return session_id, _with_meta(with_raw(_event(message.update), update), message)
    except msgspec.ValidationError:
        return session_id, ev.UnknownReceived(str(name or "session/update"), update)


_BLOCKS = frozenset({"text", "image", "audio", "resource", "resource_link"})


def _corrected(update: Any) -> Any:
    """Correct two forms that the official documentation shows, but the schema does not have."""
    if not isinstance(update, dict):
        return update
    if update.get("sessionUpdate") == "current_mode_update" and "currentModeId" not in update:
        return {**update, "currentModeId": update.get("modeId")}
    content = update.get("content")
    if update.get("sessionUpdate") in ("tool_call", "tool_call_update") and isinstance(content, list):
        return {**update, "content": [_wrapped(it) for it in content]}
    return update


def _wrapped(block: Any) -> Any:
    kind = block.get("type") if isinstance(block, dict) else None
    bare = isinstance(kind, str) and kind in _BLOCKS
    return {"type": "content", "content": block} if bare else block


def _event(update: s.SessionUpdate) -> ev.Event:
    match update:
        case s.AgentMessageChunk(content=content, message_id=id):
            return ev.MessageChunk("agent", content_record(content), id)
        case s.AgentThoughtChunk(content=content, message_id=id):
            return ev.MessageChunk("thought", content_record(content), id)
        case s.UserMessageChunk(content=content, message_id=id):
            return ev.MessageChunk("user", content_record(content), id)
        case s.ToolCall():
            return tool_event(update, created=True)
        case s.ToolCallUpdate():
            return tool_event(update)
        case s.Plan(entries=entries):
            return ev.PlanReplaced(_plan_entries(entries))
        case s.PlanUpdate(plan=plan):
            return _plan(plan)
        case s.PlanRemoved(plan_id=id):
            return ev.PlanRemoved(id)
        case s.UsageUpdate(used=used, size=size, cost=cost):
            money = rec.Cost(cost.amount, cost.currency) if cost else None
            return ev.UsageChanged(rec.Usage(used, size, money))
        case s.AvailableCommandsUpdate(available_commands=commands):
            return ev.CommandsReplaced(tuple(_command(command) for command in commands))
        case s.CurrentModeUpdate(current_mode_id=id):
            return ev.ModeChanged(id)
        case s.ConfigOptionUpdate(config_options=options):
            return ev.ConfigReplaced(config_options(options))
        case s.SessionInfoUpdate(title=title, updated_at=updated_at):
            return ev.InfoChanged(_or_unset(title), _or_unset(updated_at))
        case s.Notice(severity=severity, title=title, description=description):
            return ev.NoticeGiven(severity, title, description)
        case s.CompactionUpdate(compaction_id=id, status=status, summary=summary, error=error):
            blocks = ev.UNSET if summary is None else tuple(map(content_record, summary))
            return ev.CompactionChanged(id, status, blocks, error)
        case s.CompactionSummaryChunk(compaction_id=id, content=content):
            return ev.CompactionChunk(id, content_record(content))


def _with_meta(event: ev.Event, message: s.SessionNotification) -> ev.Event:
    """The event with the `_meta` of the notification and of the update in it, which wins."""
    meta = meta_of(message, message.update)
    if meta is None or isinstance(event, ev.UnknownReceived):  # that one is kept as it is
        return event
    changed: ev.Event = replace(event, meta=meta)
    return changed


def with_raw(event: ev.Event, raw: Any) -> ev.Event:
    """The event with its raw message."""
    changed: ev.Event = replace(event, raw=raw)  # every event of an update has the field
    return changed


def _or_unset(value: Any) -> Any:
    return ev.UNSET if value is UNSET else value


def _plan_entries(entries: Iterable[s.PlanEntry]) -> tuple[rec.PlanEntry, ...]:
    return tuple(rec.PlanEntry(entry.content, entry.priority, entry.status) for entry in entries)


def _plan(plan: Any) -> ev.Event:
    match plan:
        case s.PlanItems(plan_id=id, entries=entries):
            return ev.PlanReplaced(_plan_entries(entries), id)
        case s.PlanMarkdown(plan_id=id, content=text):
            return ev.PlanReplaced((), id, text=text)
        case s.PlanFile(plan_id=id, uri=uri):
            return ev.PlanReplaced((), id, uri=uri)
    return ev.UnknownReceived("plan_update", plan.raw if isinstance(plan, lenient_types.Opaque) else None)


def _command(command: s.AvailableCommand) -> rec.Command:
    return rec.Command(command.name, command.description, command.input.hint if command.input else None)
