"""acp.permissions() lists and revokes lasting grants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.agent.permissions.grant_store import FILE_NAME, GrantStore
from acp_notebook.core.actions import FileAccess
from acp_notebook.setup.permissions import Permissions, permissions

EVIL = "<b>x</b>\x1b[2J\u202e\nsecond"


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "config"


def here() -> str:
    return os.path.realpath(".")


def test_at_first_there_are_no_grants(config: Path) -> None:
    table = permissions()
    assert len(table) == 0 and list(table) == [] and not table and table.path == config / FILE_NAME
    assert repr(table) == "<permissions: none>" and "none" in table._repr_html_()
    assert not config.exists()


def test_an_added_grant_is_listed_found_and_revoked() -> None:
    table = permissions()
    grant = table.add(kind="edit", agent="an agent")
    assert (grant.workspace, grant.path, grant.scope) == (here(), here(), "workspace")
    assert (
        list(permissions()) == [grant] and table[grant.id] == grant and grant.id in table and grant in table
    )
    assert GrantStore().find("an agent", here(), FileAccess("edit", f"{here()}/x")) == grant
    command = table.add(kind="execute", agent="an agent", command="make test")
    assert len(table) == 2 and "make test" in repr(table) and grant.id in repr(table)
    table.revoke(command)
    table.revoke(grant.id)
    assert GrantStore().find("an agent", here(), FileAccess("edit", f"{here()}/x")) is None
    table.add(kind="edit", agent="an agent")
    assert table.revoke_all() == 1 and not table


def test_paths_are_resolved_when_they_are_added(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "here")
    grant = permissions().add(kind="edit", agent="a", workspace=tmp_path / "link", path="../link/./sub")
    assert grant.workspace == here() and grant.path == f"{here()}/sub"
    always = permissions().add(kind="execute", agent="a", command="ls", path="~", scope="always")
    assert always.path == os.path.realpath(Path.home()) and always.workspace is None


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "fetch"},
        {"kind": ""},
        {"kind": 5},
        {"agent": ""},
        {"agent": None},
        {"scope": "session"},
        {"scope": "once"},
        {"scope": "always"},
        {"scope": "always", "workspace": "."},
        {"path": "/"},
        {"path": "a\0b"},
        {"path": 5},
        {"workspace": "/"},
        {"command": "ls"},
        {"kind": "execute"},
        {"kind": "execute", "command": " "},
        {"kind": "execute", "command": ["ls"]},
        {"kind": "delete"},
        {"kind": "move"},
    ],
)
def test_an_invalid_grant_is_a_usage_error_on_one_line(fields: dict[str, Any], config: Path) -> None:
    known: dict[str, Any] = {"kind": "edit", "agent": "an agent"}
    with pytest.raises(acp.UsageError) as caught:
        permissions().add(**known | fields)
    assert "\n" not in str(caught.value) and len(str(caught.value)) > 10
    assert not (config / FILE_NAME).exists()


def test_an_unknown_id_lists_the_known_ones() -> None:
    table = permissions()
    for wrong in (lambda: table["g1"], lambda: table.revoke("g1")):
        with pytest.raises(acp.UsageError, match="there are none"):
            wrong()
    grant = table.add(kind="edit", agent="an agent")
    with pytest.raises(acp.UsageError, match=grant.id):
        table.revoke("g1")
    assert len(table) == 1


def test_nothing_in_a_grant_can_break_out_of_the_table() -> None:
    table = permissions()
    table.add(kind="execute", agent=EVIL, command=EVIL, path=EVIL.replace("/", ""))
    text, html = repr(table), table._repr_html_()
    assert len(text.split("\n")) == 2
    for shown in (text, html):
        assert "\x1b" not in shown and "\u202e" not in shown and "U+202E" in shown
    assert "<b>" not in html and "&lt;b&gt;" in html


def test_a_damaged_file_is_reported_in_the_table(config: Path) -> None:
    config.mkdir(mode=0o700)
    (config / FILE_NAME).write_text("{")
    (config / FILE_NAME).chmod(0o600)
    table = Permissions(GrantStore())
    assert len(table) == 0 and "damaged" in str(table.warning)
    assert "damaged" in repr(table) and "damaged" in table._repr_html_()
