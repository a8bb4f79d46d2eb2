"""Session updates of every stable kind: with all fields, and with the required ones only."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Raw

SESSION = "s1"

NOTES = {"audience": ["user", "assistant"], "lastModified": "2026-01-02T03:04:05Z", "priority": 0.5}

TEXT = {"type": "text", "text": "hello", "annotations": NOTES}
BLOCKS: list[dict[str, Any]] = [
    TEXT,
    {"type": "image", "data": "aGk=", "mimeType": "image/png", "uri": "file:///a.png", "annotations": NOTES},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav", "annotations": NOTES},
    {
        "type": "resource_link",
        "uri": "file:///a.py",
        "name": "a.py",
        "title": "A",
        "description": "a file",
        "mimeType": "text/x-python",
        "size": 3,
        "annotations": NOTES,
    },
    {
        "type": "resource",
        "resource": {"uri": "file:///a.py", "text": "x = 1", "mimeType": "text/x-python"},
        "annotations": NOTES,
    },
    {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": "aGk=", "mimeType": "image/png"}},
]

TOOL: dict[str, Any] = {
    "toolCallId": "t1",
    "title": "Edit a.py",
    "name": "edit",
    "kind": "edit",
    "status": "in_progress",
    "content": [
        {"type": "content", "content": TEXT},
        {"type": "diff", "path": "/a.py", "newText": "new", "oldText": "old"},
        {"type": "terminal", "terminalId": "term1"},
    ],
    "locations": [{"path": "/a.py", "line": 3}],
    "rawInput": {"path": "/a.py"},
    "rawOutput": ["done"],
}

CONFIG: list[dict[str, Any]] = [
    {
        "type": "select",
        "id": "model",
        "name": "Model",
        "description": "which",
        "category": "model",
        "currentValue": "m1",
        "options": [
            {"value": "m1", "name": "One", "description": "the first"},
            {"value": "m2", "name": "Two"},
        ],
    },
    {
        "type": "select",
        "id": "mode",
        "name": "Mode",
        "currentValue": "plan",
        "options": [{"group": "g", "name": "Group", "options": [{"value": "plan", "name": "Plan"}]}],
    },
    {
        "type": "boolean",
        "id": "web",
        "name": "Web",
        "description": "search",
        "category": "model_config",
        "currentValue": True,
    },
]

FULL: dict[str, dict[str, Any]] = {
    "user_message_chunk": {"content": BLOCKS[0], "messageId": "m1"},
    "agent_message_chunk": {"content": BLOCKS[3], "messageId": "m1"},
    "agent_thought_chunk": {"content": BLOCKS[4], "messageId": "m1"},
    "tool_call": TOOL,
    "tool_call_update": TOOL,
    "plan": {"entries": [{"content": "think", "priority": "high", "status": "pending"}]},
    "available_commands_update": {
        "availableCommands": [{"name": "init", "description": "begin", "input": {"hint": "where"}}]
    },
    "current_mode_update": {"currentModeId": "plan"},
    "config_option_update": {"configOptions": CONFIG},
    "session_info_update": {"title": "A title", "updatedAt": "2026-01-02T03:04:05Z"},
    "usage_update": {"used": 10, "size": 100, "cost": {"amount": 0.5, "currency": "USD"}},
    "notice": {"severity": "warning", "title": "Careful", "description": "it is hot"},
    "compaction_update": {
        "compactionId": "c1",
        "status": "failed",
        "summary": [TEXT],
        "error": "too long",
    },
    "compaction_summary_chunk": {"compactionId": "c1", "content": TEXT},
}
FULL = {kind: {"sessionUpdate": kind, **fields, "_meta": {"x": 1}} for kind, fields in FULL.items()}

UNSTABLE: list[dict[str, Any]] = [
    {
        "sessionUpdate": "plan_update",
        "plan": {
            "type": "items",
            "planId": "p1",
            "entries": [{"content": "think", "priority": "high", "status": "pending"}],
        },
    },
    {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p1", "content": "# Plan"}},
    {"sessionUpdate": "plan_update", "plan": {"type": "file", "planId": "p1", "uri": "file:///plan.md"}},
    {"sessionUpdate": "plan_removed", "planId": "p1"},
]
"""Not in the stable schema, and already sent by agents."""


def minimal(kind: str, required: list[str]) -> dict[str, Any]:
    return {"sessionUpdate": kind, **{name: FULL[kind][name] for name in required}}


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def params(update: Any) -> Raw:
    return raw({"sessionId": SESSION, "update": update})
