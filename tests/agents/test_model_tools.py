"""An intention of the model becomes a call of the tools that an agent offers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agents.model_tools import NoTool, Tool, chosen, example


def tool(name: str, *required: str, **properties: Any) -> Tool:
    return Tool(name, {"type": "object", "properties": properties, "required": list(required)})


TEXT = {"type": "string"}
WRITE = {"path": "/a", "text": "hi\n"}


@pytest.mark.parametrize(
    ("offered", "name", "arguments"),
    [
        (
            [tool("Write", "file_path", file_path=TEXT, content=TEXT)],
            "Write",
            {"file_path": "/a", "content": "hi\n"},
        ),
        (
            [tool("mcp__acp__Write", file_path=TEXT, content=TEXT)],
            "mcp__acp__Write",
            {"file_path": "/a", "content": "hi\n"},
        ),
        ([tool("write", filePath=TEXT, content=TEXT)], "write", {"filePath": "/a", "content": "hi\n"}),
        (
            [tool("file_editor", command={"enum": ["view", "create"]}, path=TEXT, file_text=TEXT)],
            "file_editor",
            {"command": "create", "path": "/a", "file_text": "hi\n"},
        ),
        ([tool("bash", command=TEXT)], "bash", {"command": "printf %s 'hi\n' > /a"}),
        (
            [Tool("apply_patch", free=True)],
            "apply_patch",
            {"input": "*** Begin Patch\n*** Add File: /a\n+hi\n*** End Patch\n"},
        ),
    ],
)
def test_a_file_is_written_with_any_available_tool(
    offered: list[Tool], name: str, arguments: dict[str, Any]
) -> None:
    found, given = chosen("write", WRITE, offered)
    assert (found.name, given) == (name, arguments)


def test_other_required_arguments_are_filled_in() -> None:
    offered = [tool("run", "command", "why", "wait", command=TEXT, why=TEXT, wait={"type": "integer"})]
    with pytest.raises(NoTool, match="run"):
        chosen("run", {"line": "ls"}, offered)
    offered = [tool("shell", "command", "why", "wait", command=TEXT, why=TEXT, wait={"type": "integer"})]
    assert chosen("run", {"line": "ls"}, offered)[1] == {"command": "ls", "why": "as asked", "wait": 1}


def test_a_list_of_paths_or_objects_gets_one_entry() -> None:
    many = tool("read_files", paths={"type": "array", "items": TEXT})
    assert chosen("read", {"path": "/a"}, [many])[1] == {"paths": ["/a"]}
    inner = {"type": "object", "properties": {"path": TEXT}, "required": ["path"]}
    many = tool("read_files", files={"type": "array", "items": inner})
    assert chosen("read", {"path": "/a"}, [many])[1] == {"files": [{"path": "/a"}]}


def test_an_example_follows_references_and_choices() -> None:
    schema = {
        "$defs": {"kind": {"enum": ["a", "b"]}},
        "type": "object",
        "properties": {
            "kind": {"$ref": "#/$defs/kind"},
            "n": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
        "required": ["kind", "n"],
    }
    assert example(schema, schema) == {"kind": "a", "n": 1}
