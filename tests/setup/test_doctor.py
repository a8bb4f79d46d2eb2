"""acp.doctor() works whatever is broken, says what to do, and leaks nothing."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.agent.undo.backend import CheckpointUnavailable
from acp_notebook.agent.undo.git_backend import GitBackend
from acp_notebook.core.settings import OwnAgent
from acp_notebook.setup import doctor as doctor_module
from acp_notebook.setup import remote_check
from acp_notebook.setup.doctor import Finding, Report, Section
from acp_notebook.setup.remote_check import Reached
from tests.patience import be_patient


@pytest.fixture(autouse=True)
def own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    timeouts.replace(doctor=60.0)
    return tmp_path / "config"


@pytest.fixture(autouse=True)
def time_enough() -> None:
    """A slow machine is not what is looked at."""
    timeouts.replace(doctor=120.0)


def values(report: Report, title: str) -> dict[str, str]:
    (section,) = [it for it in report.sections if it.title == title]
    return {it.name: it.value for it in section.findings}


def test_the_report_lists_the_environment() -> None:
    with acp.connect("demo"):
        report = acp.doctor()
    assert values(report, "Versions")["acp_notebook"] == acp.__version__
    assert values(report, "Notebook")["place"].startswith("a script")
    assert values(report, "Agents")["demo"].startswith("built in")
    (running,) = [it.findings for it in report.sections if it.title == "Running"]
    assert any(it.name == "demo" and it.value.endswith("1 open: idle") for it in running)
    assert values(report, "Your settings")["permanent grants"].startswith("0")
    assert [section.title for section in report.sections] == [
        *(
            "Versions",
            "Notebook",
            "Agents",
            "Node",
            "Running",
            "Remote agents",
            "Undo",
            "Your settings",
            "The package",
        )
    ]
    for form in (repr(report), report.to_markdown(), report._repr_html_()):
        assert acp.__version__ in form and "anywidget" in form


def test_the_report_says_how_folders_are_covered_and_what_is_allowed(tmp_path: Path) -> None:
    be_patient()
    policies: list[Any] = ["ask", {"edit": "allow", "execute": "reject"}, lambda request: "allow"]
    reported = []
    for policy in policies:
        with acp.connect("demo", cwd=tmp_path, permissions=policy) as session:
            session.prompt("hello", timeout=60)
            report = acp.doctor()
        reported.append(values(report, "Your settings")["permissions of demo"])
    assert reported == ["ask", "edit: allow, execute: reject", "your function"]
    assert "git" in values(report, "Undo")
    assert "the last checkpoint took" in values(report, "Undo")[str(tmp_path)]
    with acp.connect("demo", cwd=tmp_path, undo=False):
        assert "undo=False" in values(acp.doctor(), "Undo")[str(tmp_path)]


def test_a_checkpoint_that_was_skipped_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(backend: GitBackend) -> Any:
        raise CheckpointUnavailable("the disk is on fire")

    monkeypatch.setattr(GitBackend, "mark", refuses)
    be_patient()
    with acp.connect("demo", cwd=tmp_path, permissions="allow") as session:
        session.prompt("/sh true", timeout=60)
        found = [it for it in acp.doctor().problems if it.name.startswith("no checkpoint")]
    assert [it.value for it in found] == [f"{tmp_path}: the disk is on fire"]


def test_the_report_says_whether_the_projects_file_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    reported = [values(acp.doctor(), "Your settings")["project's file"]]
    file = tmp_path / ".acp_notebook.toml"
    file.write_text('[permissions]\ndefault = "reject"\n')
    reported.append(values(acp.doctor(), "Your settings")["project's file"])
    acp.trust()
    reported.append(values(acp.doctor(), "Your settings")["project's file"])
    file.write_text('[permissions]\ndefault = "ask"\n')
    reported.append(values(acp.doctor(), "Your settings")["project's file"])
    words = ("no .acp_notebook.toml", "not trusted", ": trusted", "changed since")
    assert [word for word, it in zip(words, reported, strict=True) if word not in it] == []


def test_node_and_npm_are_reported_with_their_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    (tmp_path / "npm" / "bin").mkdir(parents=True)
    folder.mkdir()
    node, npx = folder / "node", tmp_path / "npm" / "bin" / "npx-cli.js"
    node.write_text("#!/bin/sh\necho v22.1.0\n")
    npx.write_text("#!/usr/bin/env node\n")
    (tmp_path / "npm" / "package.json").write_text('{"name": "npm", "version": "10.7.0"}')
    for it in (node, npx):
        it.chmod(0o755)
    (folder / "npx").symlink_to(npx)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    reported = values(acp.doctor(), "Node")
    assert reported["Node"] == f"22.1.0 · {node} (on the PATH)"
    assert reported["npm"] == f"10.7.0 · {folder / 'npx'} (on the PATH)"
    monkeypatch.setattr("acp_notebook.agent.known_agents.launchers._node_wheel", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "not found" in values(acp.doctor(), "Node")["Node"]


def test_problems_come_first_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor_module, "__file__", str(tmp_path / "setup" / "doctor.py"))
    report = acp.doctor()
    (problem,) = [it for it in report.problems if it.name == "frontend bundle"]
    assert "session.js" in problem.value and "install" in problem.advice
    text = repr(report)
    assert text.index(problem.advice) < text.index("Versions\n")
    markdown = report.to_markdown()
    assert markdown.index(problem.advice) < markdown.index("### Versions")


def test_an_untrustworthy_grant_file_is_a_problem(own_config: Path) -> None:
    own_config.mkdir(mode=0o700)
    path = acp.permissions().path
    path.write_text("no JSON")
    path.chmod(0o600)
    assert [it.name for it in acp.doctor().problems if it.name == "permissions"]
    own_config.chmod(0o777)
    assert [it.advice for it in acp.doctor().problems if it.name == "permissions of the folder"]


def test_a_failing_check_is_reported_with_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        yield Finding("first", "found")
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(doctor_module, "_agents", broken)
    monkeypatch.setattr(doctor_module, "_notebook", broken)
    report = acp.doctor()
    assert values(report, "Agents")["first"] == "found"
    assert "broken on purpose" in values(report, "Notebook")["check failed"]
    assert values(report, "Versions")["msgspec"]


def test_a_hanging_check_does_not_delay_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    timeouts.replace(doctor=0.2)
    monkeypatch.setattr(doctor_module, "_settings", lambda: [Finding("x", str(never.wait(60)))])
    report = acp.doctor()
    assert "0.2 s" in values(report, "Your settings")["unknown"]
    never.set()


def test_the_report_contains_no_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = "very-secret-4711"
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GH_TOKEN", "MY_PASSWORD"):
        monkeypatch.setenv(name, secret)
    home = tmp_path / "someone"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(home / "config"))
    with acp.connect("demo", env={"KEY": secret}):
        report = acp.doctor()
    for form in (repr(report), report.to_markdown(), report._repr_html_()):
        assert secret not in form and str(home) not in form
    assert values(report, "Your settings")["folder"] == f"~{os.sep}config (does not exist yet)"


def test_a_report_is_safe_to_show_and_to_paste() -> None:
    report = Report([Section("A <b>", (Finding("n|ame", "<script>\n|", True, "do <it>"),))])
    assert "<script>" not in report._repr_html_() and "<b>" not in report._repr_html_()
    assert "| n\\|ame | <script> \\| |" in report.to_markdown()
    assert repr(report).startswith(f"acp_notebook {acp.__version__}: 1 problem\n")


def test_the_servers_of_remote_agents_are_asked_at_the_same_time(
    own_config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may take seconds until it counts as silent."""
    own_config.mkdir()
    entries = [f'[agents.a{n}]\nurl = "wss://host{n}.example/acp"\ncwd = "/srv"\n' for n in range(3)]
    (own_config / "config.toml").write_text("".join(entries))
    together = threading.Barrier(3, timeout=60)

    def check(agent: OwnAgent) -> Reached:
        together.wait()
        return Reached(f"asked {agent.name}")

    monkeypatch.setattr(remote_check, "check", check)
    found = values(acp.doctor(), "Remote agents")
    assert [found[f"a{n}"] for n in range(3)] == ["asked a0", "asked a1", "asked a2"]
