"""acp.agents() helps when none is installed, is right about what is, and starts none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent.known_agents import launchers
from acp_notebook.core.settings import OwnAgent
from acp_notebook.setup.agents import Agents
from tests.agent.known_agents.test_catalog import program


@pytest.fixture(autouse=True)
def bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(launchers, "_node_wheel", lambda: None)
    timeouts.replace(agent_version=60.0)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python/python3"))
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def test_with_none_installed_it_names_the_built_in_one_and_how_to_install_others() -> None:
    table = acp.agents()
    for text in (repr(table), table._repr_html_()):
        assert "No agent is installed yet" in text
        assert "npm install -g @google/gemini-cli" in text
        assert "Node is not installed" in text, "there is no Node"
    assert repr(table).splitlines()[1].split()[:3] == ["demo", "built", "in"]
    assert [it.name for it in table if it.ready] == ["demo"]


def test_installed_agents_have_path_and_version_without_being_started(bin: Path, tmp_path: Path) -> None:
    package = tmp_path / "lib/node_modules/@google/gemini-cli"
    (package / "bundle").mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"name": "@google/gemini-cli", "version": "0.61.0"}))
    started = tmp_path / "started"
    program(package / "bundle", "gemini.js", f"#!/bin/sh\ntouch {started}\n")
    (bin / "gemini").symlink_to(package / "bundle/gemini.js")
    record = acp.agents()["gemini"]
    assert (record.found, record.version, record.install) == (str(bin / "gemini"), "0.61.0", "")
    assert "sign-in" in record.missing and "GEMINI_API_KEY" in record.missing
    assert not started.exists()
    assert "acp.connect(NAME) starts one" in repr(acp.agents())


def test_a_set_key_is_not_missing(bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(bin, "gemini", "#!/usr/bin/env node\n")
    monkeypatch.setenv("GEMINI_API_KEY", "something")
    assert acp.agents()["gemini"].missing == ""


def test_a_pip_package_has_its_version(bin: Path, tmp_path: Path) -> None:
    program(tmp_path / "tool-bin", "x")
    home = tmp_path / "tool"
    (home / "lib/python3.12/site-packages/mistral_vibe-2.25.5.dist-info").mkdir(parents=True)
    program(home / "bin", "vibe-acp", "#!/x/python3\n")
    (bin / "vibe-acp").symlink_to(home / "bin/vibe-acp")
    assert acp.agents()["vibe"].version == "2.25.5"


def test_a_program_is_asked_for_its_version(bin: Path) -> None:
    program(bin, "goose", '#!/bin/sh\n[ "$1" = --version ] && echo "goose 1.50.1 (x)"\n')
    assert acp.agents()["goose"].version == "1.50.1"


def test_an_unresponsive_program_is_ended(bin: Path) -> None:
    timeouts.replace(agent_version=0.2)
    program(bin, "goose", "#!/bin/sh\nexec /bin/sleep 60\n")
    program(bin, "stakpak", "no program at all")
    record = acp.agents()["goose"]
    assert (record.version, record.ready) == (None, True)


def test_a_misspelt_name_suggests_the_right_one() -> None:
    with pytest.raises(acp.UsageError, match="did you mean 'gemini'"):
        acp.agents()["gemni"]
    assert "gemini" in acp.agents() and "claude" in acp.agents() and "gemni" not in acp.agents()


def test_the_users_agents_come_first_and_show_no_secrets(bin: Path) -> None:
    own = {
        "mine": OwnAgent(name="mine", command=("gone",), env={"K": "secret-value"}),
        "gemini": OwnAgent(name="gemini", command=("<b>\x1b[2J",)),
        "boxed": OwnAgent(name="boxed", by_hand="install by hand: a binary"),
    }
    table = Agents(own, warning="line 3 is wrong")
    assert [it.name for it in table][:4] == ["demo", "mine", "gemini", "boxed"]
    assert len([it for it in table if it.name == "gemini"]) == 1
    for text in (repr(table), table._repr_html_()):
        assert "secret-value" not in text and "line 3 is wrong" in text and "install by hand" in text
        assert "<b>" not in table._repr_html_() and "\x1b" not in text
