"""Writes js/src/types.ts from the records that cross to the page and back: `python3 dev.py types`.

Knows no record in particular: it starts at the unions below and follows their fields. What `core.records`
says of the JSON holds here, too: a field with a default is optional unless the default is `written`, and
can be null only if it is `_nullable`. The text is the same on every machine, so that a test can say whether
the file is up to date.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import msgspec.inspect as ms

from acp_notebook.core import actions, document_protocol, forms, intents, page_messages, snapshot
from acp_notebook.core.fan_out import messages as runs_messages
from acp_notebook.core.fan_out.rows import Row
from acp_notebook.core.ipynb import Operation
from acp_notebook.core.records import Content
from docs.build_reference import class_body, flat, own_classes, string_after

TARGET = Path(__file__).parent.parent / "js" / "src" / "types.ts"

WIDTH = 100
"""As in the other files of js/src; prettier leaves this one alone."""

HEAD = """\
// What crosses from the kernel to the page and back. Written by `python3 dev.py types` from the records in
// acp_notebook/core: change those, not this file. What has no record there is in page_types.ts.

export * from "./page_types";
import type { Annotations, Fields, Json, State, WirePatch } from "./page_types";
"""

UNIONS: dict[str, tuple[Any, str]] = {
    "Content": (Content, "Content"),
    "Action": (actions.Action, "Action"),
    "Item": (snapshot.Item, "Item"),
    "DocOperation": (Operation, "Operation"),
    "ToKernel": (intents.Intent, "Intent"),
    "FromKernel": (page_messages.SessionMessage, "Message"),
    "DocRequest": (document_protocol.AnyDocRequest, "Request"),
    "ToRuns": (runs_messages.RunsIntent, "Intent"),
    "FromRuns": (runs_messages.RunsMessage, "Message"),
}
"""Each with the ending of its members' names: the tag says the rest."""

GROUPS = {
    "OperationIntent": intents.OfChanges,
    "Picking": intents.Picked,
    "SigningIn": intents.OfSignIn,
    "Looking": intents.Looking,
}
"""Parts of the unions that the page uses by name."""

ALSO = (snapshot.Header,)

NAMES: dict[type, str] = {forms.Field: "FormField", Row: "TableRow"}
"""Where another name is clearer among all the others."""

SCALARS: dict[type, str] = {
    ms.StrType: "string",
    ms.BoolType: "boolean",
    ms.IntType: "number",
    ms.FloatType: "number",
}


def types() -> str:
    """The whole file."""
    page = Page()
    for name, (union, ending) in UNIONS.items():
        page.add_union(name, union, ending)
    for name, union in GROUPS.items():
        page.alias(name, union)
    for cls in ALSO:
        page.name_of(cls)
    return "\n".join([HEAD, *page.written()])


class Page:
    """The types that were met, each with its name."""

    def __init__(self) -> None:
        self._names: dict[type, str] = dict(NAMES)
        self._waiting: list[type] = []
        self._aliases: list[str] = []
        self._unions: dict[frozenset[type], str] = {}

    def add_union(self, name: str, union: Any, ending: str) -> None:
        for cls in get_args(union):
            self._names[cls] = f"{tag_of(cls).title().replace('_', '')}{ending}"
        self.alias(name, union)

    def alias(self, name: str, union: Any) -> None:
        members = [self.name_of(cls) for cls in get_args(union)]
        self._unions.setdefault(frozenset(get_args(union)), name)
        line = f"export type {name} = {' | '.join(members)};"
        lines = [f"export type {name} =", *(f"  | {member}" for member in members)]
        self._aliases.append((line if len(line) <= WIDTH else "\n".join(lines) + ";") + "\n")

    def name_of(self, cls: type) -> str:
        if cls not in self._waiting:
            self._waiting.append(cls)
        return self._names.setdefault(cls, cls.__name__)

    def written(self) -> Iterator[str]:
        """An interface for each, also for those that are met on the way."""
        for cls in self._waiting:
            yield "\n".join(self._interface(cls)) + "\n"
        taken = [self._names[cls] for cls in self._waiting]
        assert len(set(taken)) == len(taken), f"one name for two records: {sorted(taken)}"
        yield from self._aliases

    def _interface(self, cls: type) -> Iterator[str]:
        info: Any = ms.type_info(cls)
        yield from comment(str(vars(cls).get("__doc__") or ""), "")
        yield f"export interface {self._names[cls]} {{"
        if isinstance(info, ms.StructType) and info.tag_field:
            yield f"  readonly {info.tag_field}: {tags(cls)};"
        notes = dict(field_notes(cls))
        for field in info.fields:
            if field.name not in hidden(cls):
                yield from comment(notes.get(field.name, ""), "  ")
                mark = "?" if is_optional(cls, field) else ""
                yield f"  readonly {field.encode_name}{mark}: {self._field(field, can_be_null(cls, field))};"
        yield "}"

    def _field(self, field: Any, null: bool) -> str:
        if field.name == "annotations":
            return "Annotations"
        text = self._text(field.type)
        return text if null else text.removesuffix(" | null")

    def _text(self, kind: Any) -> str:
        match kind:
            case ms.Metadata():
                return str((kind.extra or {})["typescript"])
            case ms.UnionType() if name := self._unions.get(classes_of(kind)):
                return name
            case ms.UnionType():
                members = [self._text(it) for it in kind.types]
                return " | ".join(sorted(dict.fromkeys(members), key=lambda it: it == "null"))
            case ms.StructType() | ms.TypedDictType():
                return self.name_of(kind.cls)
            case ms.VarTupleType() | ms.ListType():
                inner = self._text(kind.item_type)
                return f"readonly ({inner})[]" if " " in inner else f"readonly {inner}[]"
            case ms.TupleType():
                return f"readonly [{', '.join(map(self._text, kind.item_types))}]"
            case ms.DictType():
                inner = self._text(kind.value_type)
                return "Fields" if inner == "Json" else f"{{ readonly [name: string]: {inner} }}"
            case ms.LiteralType():
                return " | ".join(f'"{value}"' for value in kind.values)
            case ms.AnyType():
                return "Json"
            case ms.NoneType():
                return "null"
        return SCALARS[type(kind)]


def classes_of(union: ms.UnionType) -> frozenset[type]:
    return frozenset(getattr(it, "cls", type(None)) for it in union.types)


def is_optional(cls: Any, field: Any) -> bool:
    """Whether it may be absent; pages may always omit a field that can be null."""
    if field.name in getattr(cls, "_nullable", ()):
        return True
    return not field.required and field.default_factory in (msgspec.NODEFAULT, list, dict)


def can_be_null(cls: Any, field: Any) -> bool:
    """Of a type that allows it."""
    return not is_optional(cls, field) or field.name in getattr(cls, "_nullable", ())


def tag_of(cls: type) -> str:
    info: Any = ms.type_info(cls)
    return str(info.tag)


def tags(cls: type) -> str:
    """What a record is called in the JSON: a file access is called by its kind."""
    names = actions.PATH_KINDS if cls is actions.FileAccess else (tag_of(cls),)
    return " | ".join(f'"{name}"' for name in names)


def hidden(cls: type) -> frozenset[str]:
    """Fields that the page does not get, or has by another name."""
    return actions.NOT_SHOWN | ({"kind"} if cls is actions.FileAccess else set())


def field_notes(cls: type) -> Iterator[tuple[str, str]]:
    for owner in reversed(own_classes(cls)):
        body = class_body(owner)
        for at, node in enumerate(body):
            if (target := getattr(node, "target", None)) is not None:
                yield target.id, string_after(body, at)


def comment(text: str, indent: str) -> Iterator[str]:
    lines = textwrap.wrap(flat(text), WIDTH - len(indent) - 8)
    if len(lines) == 1:
        yield f"{indent}/** {lines[0]} */"
    elif lines:
        yield from (f"{indent}/**", *(f"{indent} * {line}" for line in lines), f"{indent} */")


def main() -> None:
    TARGET.write_text(types(), encoding="utf-8")
    print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()
