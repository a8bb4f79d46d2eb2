"""The audit file grows by one line an entry; a failing disk is reported once and stops nothing."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.agent.audit_file import AuditFile
from acp_notebook.core.audit import Audit, Entry


def entry(audit: Audit, target: str = "ls", **fields: Any) -> Entry:
    return audit.append(time="12:00", session="s", what="act", kind="execute", target=target, **fields)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def test_each_entry_is_written_immediately_as_one_line(tmp_path: Path) -> None:
    path, audit = tmp_path / "audit.jsonl", Audit()
    file = AuditFile(path)
    long = "x" * 100_000 + "\n\u2028\udcff\x00"
    for target in ("ls", long):
        file.append(entry(audit, target, detail={"exit_code": 1, "odd": object}))
        assert lines(path)[-1]["target"] == target
    assert [it["number"] for it in lines(path)] == [1, 2] and lines(path)[0]["detail"]["exit_code"] == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    file.close()
    file.close()
    file.append(entry(audit))
    assert len(lines(path)) == 2


def test_a_second_session_appends(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    files = [AuditFile(path), AuditFile(path)]
    for number in range(10):
        files[number % 2].append(entry(Audit(), str(number)))
    for file in files:
        file.close()
    assert [it["target"] for it in lines(path)] == [str(number) for number in range(10)]


def test_an_incomplete_line_after_a_crash_does_not_affect_the_next(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text('{"number": 1}\n{"num')
    file = AuditFile(path)
    file.append(entry(Audit()))
    file.append(entry(Audit()))
    file.close()
    whole = path.read_text().split("\n")
    assert whole[:2] == ['{"number": 1}', '{"num'] and json.loads(whole[2])["target"] == "ls"
    assert len(whole) == 5 and whole[4] == ""


def test_a_disk_error_is_reported_once_and_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, audit, warnings = tmp_path / "audit.jsonl", Audit(), list[str]()
    file = AuditFile(path, warn=warnings.append)
    file.append(entry(audit))
    write, room = os.write, [5]

    def full(handle: int, data: Any) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = write(handle, bytes(data[: room[0]]))
        room[0] -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        file.append(entry(audit))
        file.append(entry(audit))
    assert len(warnings) == 1 and "No space left" in warnings[0] and str(path) in warnings[0]
    file.append(entry(audit))
    file.close()
    first, torn, last, end = path.read_text().split("\n")
    assert json.loads(first)["number"] == 1 and len(torn) == 5 and json.loads(last)["number"] == 4 and not end


def test_without_a_reporter_it_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = AuditFile(tmp_path / "a")

    def fails(handle: int, data: Any) -> int:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fails)
        with pytest.warns(UserWarning, match="Input/output error"):
            file.append(entry(Audit()))
        file.append(entry(Audit()))
    file.close()


def test_an_unwritable_audit_file_is_reported_at_the_start(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for bad in (tmp_path / "no" / "folder", tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(acp.UsageError, match="cannot write the audit"):
            AuditFile(bad)
