"""Messages to a page: exactly the keys that the page reads."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest

from acp_notebook.core import document_protocol as doc
from acp_notebook.core import intents
from acp_notebook.core import page_messages as messages
from acp_notebook.core.page_messages import to_wire

SELECTION = {"t": "undo", "turn": "t1", "file": None, "hunk": None}

FILES = {**SELECTION, "files": ["a", "b"]}

ROW = {"id": "s1", "cwd": "/w", "title": None, "updated_at": None, "open": True, "here": False}

HEADER = {"t": "doc", "view": "v", "rid": "r", "until": None, "tab": None}

MESSAGES: list[tuple[msgspec.Struct, dict[str, Any]]] = [
    (messages.FullState({"items": []}, seq=1), {"t": "state", "state": {"items": []}, "seq": 1}),
    (messages.PatchBatch([["remove", "k"]], seq=2), {"t": "patches", "patches": [["remove", "k"]], "seq": 2}),
    (messages.Beat(3), {"t": "beat", "seq": 3}),
    (
        messages.StaticOutput("t1", {}, "<p>", ["t1"], [["m", "c"]], seq=4),
        {
            "t": "static",
            "turn": "t1",
            "bundle": {},
            "reference": "<p>",
            "parts": ["t1"],
            "places": [["m", "c"]],
            "seq": 4,
        },
    ),
    (
        messages.PanelStatus((messages.QueueEntry("t2", "x"),), (), None),
        {
            "t": "now",
            "queue": [{"turn": "t2", "text": "x", "more": 0, "cut": False}],
            "unsent": [],
            "elapsed": None,
        },
    ),
    (messages.InvalidForm("k1", {"": "no"}), {"t": "invalid", "elicitation": "k1", "errors": {"": "no"}}),
    (messages.ServerPaths("v", (("/a", ""),)), {"t": "places", "view": "v", "prefixes": [["/a", ""]]}),
    (
        messages.OperationProgress(intents.Undo("t1"), 0, 2),
        {"t": "doing", "intent": SELECTION, "at": 0, "of": 2},
    ),
    (messages.OperationEnded(intents.Undo("t1", files=("a", "b"))), {"t": "done", "intent": FILES}),
    (messages.IntentRefused("no"), {"t": "refused", "what": "no"}),
    (messages.IntentRefused("no", "hi"), {"t": "refused", "what": "no", "prompt": "hi"}),
    (
        messages.CompletionAnswer("v", "r", "@d", (messages.CompletionChoice("@df", "a frame"),)),
        {
            "t": "offered",
            "view": "v",
            "rid": "r",
            "fragment": "@d",
            "offered": [{"text": "@df", "about": "a frame"}],
        },
    ),
    (
        messages.ExportAnswer("v", "r", "# Hi", 1, 2, "a.md", "text/markdown"),
        {
            "t": "exported",
            "view": "v",
            "rid": "r",
            "text": "# Hi",
            "part": 1,
            "of": 2,
            "name": "a.md",
            "mime_type": "text/markdown",
        },
    ),
    (
        messages.PickerAnswer("r", (messages.StoredSession("s1", "/w", None, None, True, False),), None, 0),
        {"t": "picked", "rid": "r", "sessions": [ROW], "cursor": None, "left_out": 0},
    ),
    (messages.PickerAnswer("r", model="m", id="s"), {"t": "picked", "rid": "r", "model": "m", "id": "s"}),
    (messages.PickerAnswer("r", error="no"), {"t": "picked", "rid": "r", "error": "no"}),
    (
        messages.PreviewAnswer("v", "r", (messages.MentionPreview("df", "a frame", size=3),)),
        {
            "t": "previewed",
            "view": "v",
            "rid": "r",
            "mentions": [{"name": "df", "about": "a frame", "status": "found", "size": 3, "note": ""}],
        },
    ),
    (
        messages.ExamplePrompts("v", "r", ("Explain @a.py",)),
        {"t": "examples", "view": "v", "rid": "r", "prompts": ["Explain @a.py"]},
    ),
    (
        messages.SessionSettings(
            permissions="kinds",
            given="kinds",
            kinds=(("edit", "ask"),),
            rules=True,
            grants=(messages.ShownGrant("g1", "`ls`", "in this session", "14:05"),),
            servers=(messages.ShownServer("files", "stdio", "npx", own=True),),
            undo=True,
            switches_undo=False,
        ),
        {
            "t": "settings",
            "permissions": "kinds",
            "given": "kinds",
            "kinds": [["edit", "ask"]],
            "rules": True,
            "grants": [{"id": "g1", "allows": "`ls`", "holds": "in this session", "since": "14:05"}],
            "servers": [{"name": "files", "type": "stdio", "where": "npx", "own": True}],
            "undo": True,
            "switches_undo": False,
        },
    ),
    (
        messages.GoingOn("demo", "2 turns", "> hi", (messages.GoingOnWay("fresh", "Start fresh"),)),
        {
            "t": "going_on",
            "title": "demo",
            "text": "2 turns",
            "quoted": "> hi",
            "ways": [{"how": "fresh", "label": "Start fresh"}],
        },
    ),
    (doc.Ping(view="v", rid="r"), {**HEADER, "op": "ping"}),
    (doc.Apply((), view="v", rid="r"), {**HEADER, "op": "apply", "operations": [], "holds": None}),
    (
        doc.ExecuteCells((doc.CellSource("c", "1"),), view="v", rid="r"),
        {**HEADER, "op": "run", "cells": [{"id": "c", "source": "1"}]},
    ),
    (
        doc.ShowOutputs("c", "hash", [], None, True, view="v", rid="r"),
        {
            **HEADER,
            "op": "outputs",
            "id": "c",
            "based_on": "hash",
            "outputs": [],
            "execution_count": None,
            "running": True,
        },
    ),
]


@pytest.mark.parametrize(("message", "wire"), MESSAGES, ids=lambda it: type(it).__name__)
def test_a_message_has_exactly_these_keys(message: msgspec.Struct, wire: dict[str, Any]) -> None:
    assert json.loads(json.dumps(to_wire(message))) == wire


def test_every_message_is_tested() -> None:
    assert {type(message) for message, _ in MESSAGES} >= {*get_args(messages.SessionMessage)}


def test_a_large_message_is_not_copied() -> None:
    patches = [["remove", "k"]]
    assert to_wire(messages.PatchBatch(patches))["patches"] is patches
