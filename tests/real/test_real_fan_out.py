"""Two real agents on a mock model do the same task, each in its copy; the best is applied, and undone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import acp_notebook as acp
from tests.agents.mock_model import say, script, use
from tests.real.conftest import COMMAND_LIMIT_MS, installed

pytestmark = [pytest.mark.real_agent, pytest.mark.slow]

LIMIT_S = 300.0
"""For all runs, and for the start of their agents."""


def launcher(path: Path, command: Sequence[str], env: Mapping[str, str]) -> str:
    """A program that starts an agent with an environment of its own: runs share the kernel's."""
    settings = " ".join(shlex.quote(f"{name}={value}") for name, value in env.items())
    path.write_text(f"#!/bin/sh\nexec env -i {settings} {shlex.join(command)}\n")
    path.chmod(0o755)
    return str(path)


def agents(model: str, folder: Path, *names: str) -> list[dict[str, str]]:
    """The agents, each with its own home."""
    made = []
    for name in names:
        home = folder / f"home-{name}"
        home.mkdir()
        program = launcher(folder / f"{name}.sh", *installed(name, model, home))
        made.append({"agent": program, "label": name})
    return made


def writes(text: str, answer: str) -> str:
    """A prompt whose model writes this into vat.py with the agent's own shell, and says something."""
    command = f"printf '{text}\\n' > vat.py"
    run = use("Bash", {"command": command, "description": "Write it", "timeout": COMMAND_LIMIT_MS})
    return script(run, say(answer))


def test_the_best_of_two_agents_is_applied_and_undone(model: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    file = project / "vat.py"
    file.write_text("rate = 0.19\n")
    prompts = {"right": writes("rate = 0.25", "It is 25 % now."), "wrong": writes("rate = 25", "Done.")}
    runs = acp.fan_out(
        prompts,
        agents=agents(model, tmp_path, "claude", "kimi"),
        cwd=project,
        score=lambda run: (run.folder / "vat.py").read_text() == "rate = 0.25\n",
        permissions="allow",
        max_seconds=LIMIT_S,
        at_once=2,
    ).wait(LIMIT_S)
    assert [(it.prompt != "", it.agent, it.state, it.error) for it in runs] == [
        (True, name, "done", None) for name in ("claude", "kimi", "claude", "kimi")
    ]
    assert [it.score for it in runs] == [1.0, 1.0, 0.0, 0.0]
    assert "25 %" in runs[0].text and "25 %" in runs[1].text
    assert file.read_text() == "rate = 0.19\n", "each run has a copy"

    best = runs.best()
    assert best.score == 1.0
    applied = best.apply()
    assert file.read_text() == "rate = 0.25\n"
    applied.revert()
    assert file.read_text() == "rate = 0.19\n"

    shown = runs.compare(0, 3)._repr_html_()
    assert "0 · claude" in shown and "3 · kimi" in shown
    assert "rate = 0.25" in shown and "rate = 25" in shown
