"""js/src/types.ts is what the records in acp_notebook/core say now, and the records are what is sent."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from hypothesis import given, settings

from acp_notebook.core import events as ev
from acp_notebook.core.records import Json
from acp_notebook.core.snapshot import Header, Item
from acp_notebook.core.transcript import Transcript
from docs.build_types import TARGET, can_be_null, is_optional, types
from tests.core.strategies import event_runs


def test_the_types_are_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == types(), "run: python3 dev.py types"


def test_optional_and_nullable_fields_are_marked() -> None:
    text = types()
    tool = text[text.index("export interface ToolItem {") :]
    tool = tool[: tool.index("}")]
    for line in (
        'readonly type: "tool";',
        "readonly turn: string | null;",
        "readonly content: readonly Content[];",
        "readonly raw_input?: Json;",
        "readonly name?: string;",
        "readonly command?: string | null;",
        "readonly unprompted?: boolean;",
    ):
        assert f"  {line}\n" in tool


ITEMS = {cls.__struct_config__.tag: cls for cls in get_args(Item)}


@settings(deadline=None, max_examples=200)
@given(event_runs)
def test_a_transcript_matches_the_types_exactly(run: list[ev.Event]) -> None:
    transcript = Transcript()
    transcript.apply_all(run)
    state = transcript.plain()
    fits(state["session"], Header)
    for item in state["items"]:
        fits(item, ITEMS[item["type"]])


def fits(value: dict[str, Json], cls: Any) -> None:
    info: Any = msgspec.inspect.type_info(cls)
    fields = {field.encode_name: field for field in info.fields}
    unknown = value.keys() - fields.keys() - {info.tag_field, "raw"}
    missing = {name for name, field in fields.items() if not is_optional(cls, field)} - value.keys()
    nulls = {
        name
        for name in fields.keys() & value.keys()
        if value[name] is None and not can_be_null(cls, fields[name]) and not _is_json(fields[name])
    }
    assert (unknown, missing, nulls) == (set(), set(), set())


def _is_json(field: Any) -> bool:
    return isinstance(field.type, msgspec.inspect.AnyType)
