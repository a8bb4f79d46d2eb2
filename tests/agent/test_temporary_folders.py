"""Temporary folders are removed with their process, or by the next one if it was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acp_notebook.agent import temporary_folders
from tests.agent.process_helpers import ROOT

MAKE = """
import socket, sys
from acp_notebook.agent import temporary_folders
folders = [temporary_folders.make(it, in_memory=it != "acp-cassette-") for it in temporary_folders.PREFIXES]
socket.socket(socket.AF_UNIX).bind(str(folders[-1] / "s"))
print(*folders, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    temporary_folders._swept.clear()
    return tmp_path


def test_only_folders_of_dead_processes_are_removed(places: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", MAKE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        assert process.stdout is not None
        folders = [Path(it) for it in process.stdout.readline().split()]
        stranger = places / "acp-cassette-of-somebody"
        stranger.mkdir()
        temporary_folders.sweep()
        assert all(folder.is_dir() for folder in folders)
        process.kill()
        process.wait()
        assert all(folder.is_dir() for folder in folders)
        temporary_folders.sweep()  # once in a process
        assert all(folder.is_dir() for folder in folders)
        temporary_folders._swept.clear()
        temporary_folders.sweep()
    assert not any(folder.exists() for folder in folders)
    assert stranger.is_dir()


def test_a_normal_exit_leaves_nothing(places: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", MAKE], input="", stdout=subprocess.PIPE, env=environment, text=True
    )
    assert len(done.stdout.split()) == len(temporary_folders.PREFIXES)
    assert list(places.iterdir()) == []


def test_a_folder_is_removed_when_it_is_no_longer_needed(places: Path) -> None:
    folder = temporary_folders.make("acp-sign-in-")
    assert folder.stat().st_mode & 0o777 == 0o700
    (folder / "file").write_text("x")
    temporary_folders.remove(folder)
    assert not folder.exists()


def test_the_lock_goes_last(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed while it removes a folder leaves one that the next process can remove."""
    folder = temporary_folders.make("acp-run-")
    for number in range(30):
        (folder / f"file{number}").touch()
        (folder / f"folder{number}").mkdir()
        (folder / f"folder{number}" / "inner").touch()
    gone: list[str] = []
    unlink = os.unlink

    def noted(path: str, **rest: int) -> None:
        gone.append(os.path.basename(path))
        unlink(path, **rest)

    monkeypatch.setattr(os, "unlink", noted)
    temporary_folders.remove(folder)
    assert not folder.exists()
    assert len(gone) == 61 and gone[-1] == temporary_folders.LOCK
