"""A `cd` before a command is part of where it runs, unless something would run after it failed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from acp_notebook.core.shell import without_cd


def split(line: str) -> tuple[str, str]:
    return without_cd(line, "/here", (), lambda path: path)


@pytest.mark.parametrize(
    "line",
    [
        "make",
        "make && make install",
        "make 2>&1",
        "make 2>&1 | tail -3",
        "make >&2 | tail -3 2>&1 && ls",
        "echo 'a  b'",
    ],
)
def test_a_cd_is_the_folder_of_the_rest(line: str) -> None:
    assert split(f"cd '/the re' && {line}") == (line, "/the re")


@pytest.mark.parametrize(
    "line",
    [
        "make; ls > ran",
        "make\nls > ran",
        "make || ls > ran",
        "make & ls > ran",
        "make 2>&1 & ls > ran",
        "make 2>&1& ls > ran",
        "echo \\>& ls > ran",
        "echo \\>&1 & ls > ran",
    ],
)
def test_a_cd_stays_if_something_would_run_in_the_wrong_folder(line: str, tmp_path: Path) -> None:
    whole = f"cd /not/there && {line}"
    assert split(whole) == (whole, "/here")
    subprocess.run(["bash", "-c", whole], cwd=tmp_path, capture_output=True, timeout=30)
    assert (tmp_path / "ran").exists(), "it does"
