"""Translate the parts that updates, responses and requests share: content, tool calls, config options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from ...core import events as ev
from ...core import records as rec
from .. import lenient_types
from .. import schema as s


def meta_of(*parts: s.Wire) -> dict[str, Any] | None:
    """The `_meta` of a message and its parts as one, in which the later ones win; None if there is none."""
    given = [part.meta for part in parts if isinstance(part.meta, dict)]
    return {name: it for meta in given for name, it in meta.items()} or None


def content_record(block: Any) -> rec.Content:
    if type(block) is s.ContentItem:
        block = block.content
    if type(block) is s.TextContent and block.annotations is None:
        return rec.Text(block.text)
    match block:
        case s.TextContent(text=text):
            return rec.Text(text, _annotations(block))
        case s.ImageContent(data=data, mime_type=mime_type, uri=uri):
            return rec.Image(data, mime_type, uri, _annotations(block))
        case s.AudioContent(data=data, mime_type=mime_type):
            return rec.Audio(data, mime_type, _annotations(block))
        case s.ResourceLink(
            uri=uri, name=name, title=title, description=description, mime_type=mime, size=size
        ):
            return rec.ResourceLink(uri, name, title, description, mime, size, _annotations(block))
        case s.EmbeddedResource(resource=it):
            return rec.Resource(it.uri, it.text, it.blob, it.mime_type, _annotations(block))
        case s.DiffItem(path=path, new_text=new, old_text=old):
            return rec.Diff(path, new, old)
        case s.TerminalItem(terminal_id=id):
            return rec.Terminal(id)
        case lenient_types.Opaque(raw=raw):
            return rec.UnknownContent(raw)
    return rec.UnknownContent(msgspec.to_builtins(block))


def _annotations(block: Any) -> Mapping[str, Any] | None:
    annotations = block.annotations
    return None if annotations is None else msgspec.to_builtins(annotations)


def tool_event(fields: s.ToolFields, *, created: bool = False) -> ev.ToolChanged:
    """The event of a tool call, in which a field that is null or missing is unchanged."""
    given: dict[str, Any] = {}
    for name in _TOOL_FIELDS:
        value = getattr(fields, name)
        if value is not None and value is not UNSET:
            given[name] = value
    if "content" in given:
        given["content"] = tuple([content_record(it) for it in given["content"]])
    if "locations" in given:
        given["locations"] = tuple(rec.Location(at.path, at.line) for at in given["locations"])
    if "meta" in given and not (isinstance(given["meta"], dict) and given["meta"]):
        del given["meta"]
    return ev.ToolChanged(fields.tool_call_id, created=created, **given)


_TOOL_FIELDS = tuple(name for name in s.ToolFields.__struct_fields__ if name != "tool_call_id")


def config_options(options: Iterable[Any]) -> tuple[rec.ConfigOption, ...]:
    return tuple(read for option in options if (read := _config_option(option)) is not None)


def _config_option(option: Any) -> rec.ConfigOption | None:
    match option:
        case s.ConfigSelect(id=id, name=name, current_value=value, description=text, category=category):
            return rec.ConfigOption(
                id, name, "select", value, tuple(_choices(option.options)), text, category
            )
        case s.ConfigBoolean(id=id, name=name, current_value=value, description=text, category=category):
            return rec.ConfigOption(id, name, "boolean", value, (), text, category)
    return None


def _choices(options: Iterable[Any], group: str | None = None) -> Iterable[rec.Choice]:
    for option in options:
        match option:
            case {"group": str(), "options": list(inner)}:
                yield from _choices(inner, str(option.get("name") or option["group"]))
            case {"value": str(value)}:
                text = option.get("description")
                name = str(option.get("name") or value)
                yield rec.Choice(value, name, text if isinstance(text, str) else None, group)
