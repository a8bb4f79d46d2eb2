"""Tasks and results as bytes."""

from __future__ import annotations

import os
import zlib

import msgspec
import pytest

from acp_notebook.core.changes import Version
from acp_notebook.core.fan_out.task import (
    AgentSpec,
    ChangedFile,
    FolderSpec,
    IncompatibleVersion,
    Result,
    ScoreSpec,
    Task,
    result_from,
    task_from,
    to_bytes,
)

TASK = Task(
    id="1",
    prompt=({"type": "text", "text": "hello"},),
    agent=AgentSpec(("python", "agent.py"), "agent", config={"model": "m"}),
    folder=FolderSpec("git", "/somewhere", share=(("/data", "data"),)),
    score=ScoreSpec("command", "make", seconds=5),
    env=("HOME",),
)
RESULT = Result(
    id="1",
    state="done",
    files=(ChangedFile("a", None, Version(b"\0\xff", 0o755)), ChangedFile("b", Version(b"x"))),
    patch=b"\xff",
)


def test_there_and_back() -> None:
    assert task_from(to_bytes(TASK)) == TASK
    assert result_from(to_bytes(RESULT)) == RESULT


def test_names_that_are_not_utf_8() -> None:
    name = os.fsdecode(b"caf\xe9")
    folder = msgspec.structs.replace(TASK.folder, exclude=f"/{name}\n", share=((f"/{name}", name),))
    task = msgspec.structs.replace(TASK, folder=folder)
    result = msgspec.structs.replace(RESULT, files=(*RESULT.files, ChangedFile(name, Version(b"\xff"))))
    assert task_from(to_bytes(task)) == task
    assert result_from(to_bytes(result)) == result


def test_another_version_is_refused_and_says_what_to_do() -> None:
    data = zlib.compress(msgspec.msgpack.encode({"version": 99, "new": "fields"}))
    with pytest.raises(IncompatibleVersion, match="install the same version of acp_notebook"):
        task_from(data)


@pytest.mark.parametrize("data", [b"", b"nonsense", zlib.compress(b"nonsense"), to_bytes(RESULT)[:-5]])
def test_damaged_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(IncompatibleVersion):
        result_from(data)


def test_a_later_version_may_add_fields() -> None:
    plain = msgspec.msgpack.decode(msgspec.msgpack.encode(RESULT)) | {"later": 1}
    assert result_from(zlib.compress(msgspec.msgpack.encode(plain))).id == "1"
