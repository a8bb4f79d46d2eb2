"""The working directory and environment of an agent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import acp_notebook as acp
from tests.session.conftest import Demo
from tests.session.helpers import LIMIT_S


def variable(session: acp.Session, name: str) -> str:
    return session.prompt(f"/env {name}", timeout=LIMIT_S).text


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a kernel on a hub."""
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "secret")
    monkeypatch.setenv("JPY_PARENT_PID", "1")
    monkeypatch.setenv("JUPYTER_TOKEN", "secret")
    monkeypatch.setenv("MY_SETTING", "mine")
    monkeypatch.setenv("MY_OTHER", "other")


def test_by_default_an_agent_gets_everything_except_the_servers_secrets(demo: Demo) -> None:
    session = demo()
    assert variable(session, "MY_SETTING") == "mine"
    for secret in ("JUPYTERHUB_API_TOKEN", "JPY_PARENT_PID", "JUPYTER_TOKEN"):
        assert variable(session, secret) == "not set"


def test_env_adds_and_overrides(demo: Demo, tmp_path: Path) -> None:
    changed = str(tmp_path)  # an existing folder is not a secret, so it is shown
    session = demo(env={"MY_SETTING": changed, "JPY_ASKED_FOR": changed})
    assert variable(session, "MY_SETTING") == changed
    assert variable(session, "JPY_ASKED_FOR") == changed
    assert variable(session, "MY_OTHER") == "other"


def test_without_inheritance_only_basic_variables_are_passed(demo: Demo) -> None:
    session = demo(inherit_env=False, env={"EXTRA": "1"})
    assert variable(session, "MY_SETTING") == "not set"
    assert variable(session, "EXTRA") == "1"
    # Without a Node on the PATH, that of the wheel is added at its end.
    assert variable(session, "PATH").startswith(os.environ["PATH"])


def test_names_select_exactly_the_inherited_variables(demo: Demo) -> None:
    session = demo(inherit_env=["MY_SETTING", "PATH"])
    assert variable(session, "MY_SETTING") == "mine"
    assert variable(session, "MY_OTHER") == "not set"


def test_an_invalid_environment_is_a_usage_error() -> None:
    with pytest.raises(acp.UsageError, match="must be a string, not int"):
        acp.connect("demo", env={"N": 1})  # type: ignore[dict-item]
    with pytest.raises(acp.UsageError, match="a list of names"):
        acp.connect("demo", inherit_env="PATH")


def test_the_session_works_in_its_folder_or_the_current_one(demo: Demo, tmp_path: Path) -> None:
    session = demo(cwd=tmp_path, permissions="allow")
    assert session.prompt("/cwd", timeout=LIMIT_S).text == session.cwd == str(tmp_path)
    assert session.prompt("/run pwd", timeout=LIMIT_S).terminals[0].output == f"{tmp_path}\n"
    assert demo().cwd == os.getcwd()


def test_a_relative_folder_is_made_absolute(
    demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    assert demo(cwd="inner").prompt("/cwd", timeout=LIMIT_S).text == str(tmp_path / "inner")
