"""Which file a notebook in a page is."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from acp_notebook.core.document_protocol import FileFacts
from acp_notebook.notebook import notebook_path


def facts(path: Path) -> FileFacts:
    status = path.stat()
    modified = datetime.fromtimestamp(status.st_mtime, UTC).isoformat().replace("+00:00", "Z")
    hash = hashlib.sha256(path.read_bytes()).hexdigest()
    return FileFacts(modified, status.st_size, hash, "sha256")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "root" / "work" / "a.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    return path


def test_a_file_that_matches_the_metadata_is_proved(file: Path) -> None:
    assert notebook_path.matches(str(file), facts(file))
    reported = facts(file)
    assert notebook_path.matches(str(file), FileFacts(reported.last_modified, reported.size))


@pytest.mark.parametrize(
    "change",
    [
        {"last_modified": "2020-01-01T00:00:00Z"},
        {"last_modified": "yesterday"},
        {"size": 3},
        {"hash": "0" * 64},
        {"hash_algorithm": "none"},
        {"hash_algorithm": None},
        {"hash": None, "size": None},
    ],
    ids=str,
)
def test_anything_else_proves_nothing(file: Path, change: dict[str, object]) -> None:
    reported = facts(file)
    fields = {name: getattr(reported, name) for name in reported.__struct_fields__} | change
    assert not notebook_path.matches(str(file), FileFacts(**fields))


def test_a_missing_file_is_not_proved(file: Path) -> None:
    reported = facts(file)
    file.unlink()
    assert not notebook_path.matches(str(file), reported)


def test_the_servers_root_follows_from_what_the_kernel_was_started_for(file: Path) -> None:
    first = next(notebook_path.candidates("work/a.ipynb", [str(file)]))
    assert first == str(file)
    assert next(notebook_path.candidates("RTC:work/a.ipynb", [str(file)])) == str(file)


def test_after_a_rename_the_folders_above_are_tried(file: Path) -> None:
    found = list(notebook_path.candidates("work/b.ipynb", [str(file)]))
    assert str(file.parent / "b.ipynb") in found
    assert len(found) == len(set(found))
    assert list(notebook_path.candidates("", [str(file)])) == []


def test_links_are_followed(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file.parent.parent)
    started = str(tmp_path / "link" / "work" / "a.ipynb")
    assert next(notebook_path.candidates("work/a.ipynb", [started])) == os.path.realpath(file)
    (file.parent / "hard.ipynb").hardlink_to(file)
    assert notebook_path.is_same(str(file), str(file.parent / "hard.ipynb"))
    assert not notebook_path.is_same(str(file), str(file.parent / "none.ipynb"))


def test_only_absolute_paths_are_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "a.ipynb")
    assert notebook_path.started_paths() == []
    monkeypatch.setenv("JPY_SESSION_NAME", "/x/a.ipynb")
    assert notebook_path.started_paths() == ["/x/a.ipynb"]


def test_server_paths_of_a_folder(file: Path, tmp_path: Path) -> None:
    root, work = str(tmp_path / "root"), str(file.parent)
    (tmp_path / "link").symlink_to(file.parent)
    folders = [work, str(tmp_path / "link"), str(tmp_path), "/"]
    served = notebook_path.server_prefixes("work/a.ipynb", str(file), [str(file)], folders)
    assert dict(served) == {work: "work", str(tmp_path / "link"): "work", root: ""}
    assert served[0] == (work, "work")
    assert notebook_path.server_prefixes("RTC:work/a.ipynb", str(file), [str(file)], []) == [(root, "")]


def test_a_root_behind_a_link_has_both_names(file: Path, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path / "root")
    started = str(tmp_path / "linked" / "work" / "a.ipynb")
    served = notebook_path.server_prefixes("work/a.ipynb", str(file), [started], [])
    assert served == [(str(tmp_path / "linked"), ""), (str(tmp_path / "root"), "")]


def test_with_an_ambiguous_root_nothing_is_served(file: Path, tmp_path: Path) -> None:
    (tmp_path / "root" / "a.ipynb").symlink_to(file)
    assert notebook_path.server_prefixes("a.ipynb", str(file), [str(file)], []) == []
    assert notebook_path.server_prefixes("other.ipynb", str(file), [str(file)], []) == []
