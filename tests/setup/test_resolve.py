"""Agents that are not installed are fetched only with consent; older versions get their arguments."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.agent.known_agents import launchers
from acp_notebook.agent.permissions.consent_store import ConsentStore
from acp_notebook.notebook.runtime import Runtime
from acp_notebook.setup import resolve
from tests.agent.known_agents.test_catalog import program

DEMO = shlex.join([sys.executable, "-P", "-m", "acp_notebook.demo"])

PAGE = Runtime(kernel=True, main_thread=True, headless=False, cell_id="c", can_input=True)
CONSOLE = Runtime(kernel=True, main_thread=True, headless=None, cell_id=None, can_input=True)


@pytest.fixture
def bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(launchers, "_node_wheel", lambda: None)
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("PYTHONPATH", str(Path(acp.__file__).parents[1]))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "node")
    log = tmp_path / "log"
    said = f'pwd > {log}\nprintf "%s\\n" "$@" >> {log}'
    text = f'#!/bin/sh\n{said}\nshift 4\nPATH={tmp_path / "fetched"}:$PATH exec "$@"\n'
    program(tmp_path / "bin", "npx", text)
    program(tmp_path / "fetched", "gemini", f"#!/bin/sh\nexec {DEMO}\n")
    return tmp_path / "bin"


def log(bin: Path) -> list[str]:
    file = bin.parent / "log"
    return file.read_text().splitlines() if file.exists() else []


def test_without_consent_nothing_is_fetched(bin: Path) -> None:
    for install in (None, False):
        with pytest.raises(acp.AgentNotFound, match="install=True"):
            acp.connect("gemini", install=install)
    assert log(bin) == []


def test_with_consent_npx_runs_outside_the_project_and_the_agent_inside(bin: Path, tmp_path: Path) -> None:
    project = tmp_path / "it's a project"
    program(project, "gemini", "#!/bin/sh\nexit 9\n")
    with acp.connect("gemini", install=True, cwd=project) as session:
        assert session.agent.name == "gemini"
        assert session.cwd == str(project)
        assert session.prompt("/shell pwd", timeout=60).stop_reason == "end_turn"
        if Path("/proc").exists():
            there = Path(f"/proc/{session.agent.pid}/cwd").resolve()
            assert there == project, "what npx runs has gone to the session's folder"
    assert log(bin)[:5] == ["/", "--yes", "--package", "@google/gemini-cli", "--"]


@pytest.mark.parametrize(
    ("said", "runs", "again"), [("y", True, False), ("a", True, True), ("", False, False)]
)
def test_a_user_without_a_page_is_asked_by_input(
    bin: Path, monkeypatch: pytest.MonkeyPatch, said: str, runs: bool, again: bool
) -> None:
    asked: list[str] = []

    def answer(text: str) -> str:
        asked.append(text)
        return said

    monkeypatch.setattr(resolve, "where", lambda: CONSOLE)
    monkeypatch.setattr("builtins.input", answer)
    if runs:
        acp.connect("gemini").close()
    else:
        with pytest.raises(acp.AgentNotFound):
            acp.connect("gemini")
    assert len(asked) == 1
    assert (ConsentStore().packages() == ["npx @google/gemini-cli"]) is again
    if again:
        acp.connect("gemini").close()
        assert len(asked) == 1, "what is always allowed is not asked again"


def test_in_a_page_python_raises_and_holds_the_kernel_with_no_question(
    bin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "where", lambda: PAGE)
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("asked"))
    with pytest.raises(acp.AgentNotFound, match="install=True"):
        acp.connect("gemini")
    assert log(bin) == []


def test_consent_for_one_package_is_not_for_another(bin: Path) -> None:
    for other in ("npx @google/gemini-cli@0.1.0", "npx evil", "uvx @google/gemini-cli", ""):
        with pytest.raises(acp.AgentNotFound):
            acp.connect("gemini", install=other)
    assert log(bin) == []
    acp.connect("gemini", install="npx @google/gemini-cli").close()
    assert log(bin)[3] == "@google/gemini-cli"


def test_an_older_version_gets_the_arguments_it_supports(bin: Path) -> None:
    refuses = '[ "$1" = --acp ] && { echo "Unknown argument: acp" >&2; exit 1; }'
    program(bin, "gemini", f"#!/bin/sh\n{refuses}\n[ $1 = --experimental-acp ] && exec {DEMO}\n")
    with acp.connect("gemini") as session:
        assert session.agent.name == "gemini"


def test_an_agent_that_dies_for_another_reason_is_not_retried(bin: Path, tmp_path: Path) -> None:
    program(bin, "gemini", f"#!/bin/sh\necho $1 >> {tmp_path}/tries\necho no network >&2\nexit 1\n")
    with pytest.raises(acp.AgentDied, match="no network"):
        acp.connect("gemini")
    assert (tmp_path / "tries").read_text() == "--acp\n"


def test_usage_on_stdout_is_shown_too(bin: Path) -> None:
    program(bin, "thing", "#!/bin/sh\necho 'Usage: thing [--acp]'\necho oops >&2\nexit 2\n")
    with pytest.raises(acp.AgentDied, match=r"Usage: thing \[--acp\]") as caught:
        acp.connect("thing")
    text = str(caught.value)
    assert caught.value.exit_code == 2 and "oops" in text and "is it an ACP agent" in text


def test_an_agent_that_waits_for_input_shows_its_output(bin: Path) -> None:
    words = "echo 'Welcome! Type /help'\necho careful with sk-secret >&2"
    program(bin, "thing", f"#!/bin/sh\n{words}\nexec sleep 60\n")
    with pytest.raises(acp.Timeout, match=r"Welcome! Type /help") as caught:
        acp.connect("thing", start_timeout=5, env={"KEY": "sk-secret"})
    assert "careful with [redacted]" in str(caught.value) and "start_timeout=" in str(caught.value)


def test_a_fetched_agent_gets_more_time(bin: Path) -> None:
    with acp.connect("gemini", install=True) as session:
        assert session.agent._host.agent.launch.start_timeout == 300.0
    with acp.connect("gemini", install=True, start_timeout=70) as session:
        assert session.agent._host.agent.launch.start_timeout == 70


def test_the_demo_is_never_a_module_in_the_folder(tmp_path: Path) -> None:
    for name in ("acp_notebook/__init__.py", "json.py", "asyncio.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"open({str(tmp_path / 'hostile')!r}, 'w')\nraise SystemExit(5)\n")
    with acp.connect("demo", cwd=tmp_path, permissions="allow") as session:
        assert session.prompt("hello").stop_reason == "end_turn"
    assert not (tmp_path / "hostile").exists()
