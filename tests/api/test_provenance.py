"""Writing a notebook of what was run: whole, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.api.provenance import write_notebook
from acp_notebook.core.records import Json

NOTEBOOK: dict[str, Json] = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def test_a_file_is_replaced_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    write_notebook(path, NOTEBOOK, overwrite=False)
    with pytest.raises(acp.UsageError, match=r"exists; overwrite=True replaces it$"):
        write_notebook(path, NOTEBOOK, overwrite=False)
    path.write_text("old")
    path.chmod(0o640)
    write_notebook(path, NOTEBOOK, overwrite=True)
    assert '"nbformat": 4' in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.ipynb"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text("old")
    link = tmp_path / "link.ipynb"
    link.symlink_to("a.ipynb")
    write_notebook(link, NOTEBOOK, overwrite=True)
    assert link.is_symlink() and "nbformat" in (tmp_path / "a.ipynb").read_text()


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text("old")

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(acp.UsageError, match="cannot be written: No space left on device"):
        write_notebook(path, NOTEBOOK, overwrite=True)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.ipynb"]


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(acp.UsageError, match="cannot be written: No such file or directory"):
        write_notebook(tmp_path / "none" / "a.ipynb", NOTEBOOK, overwrite=True)
