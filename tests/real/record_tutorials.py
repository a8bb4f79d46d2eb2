"""The recordings that the tutorials play: claude-code-acp, with a model that says what stands here.

`python -m tests.real.record_tutorials` makes them anew in notebooks/cassettes, with the agent installed
(`dev.py test --agents`). The folders have neutral names: they are in the recordings.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import acp_notebook as acp
from tests.agents import mock_model
from tests.agents.mock_model import say, use
from tests.real.conftest import _CLAUDE, COMMAND_LIMIT_MS, ROOT, _path

CASSETTES = ROOT / "notebooks" / "cassettes"
BASE = Path("/tmp/acp-tutorials")
PROJECT = BASE / "project"

FILES = {
    "stats.py": "def mean(values):\n    return sum(values) / (len(values) + 1)\n",
    "check.py": (
        "from stats import mean\n\n"
        "assert mean([1, 2, 3]) == 2, f'mean is {mean([1, 2, 3])}'\nprint('all good')\n"
    ),
}


def run(command: str, why: str) -> dict[str, Any]:
    return use("Bash", {"command": command, "description": why, "timeout": COMMAND_LIMIT_MS})


def edit(name: str, old: str, new: str) -> dict[str, Any]:
    return use("Edit", {"file_path": str(PROJECT / name), "old_string": old, "new_string": new})


TALK: dict[str, list[dict[str, Any]]] = {
    "check.py fails. Find out why, and mend it.": [
        run("python3 check.py", "Run the check"),
        use("Read", {"file_path": str(PROJECT / "stats.py")}),
        edit("stats.py", "(len(values) + 1)", "len(values)"),
        run("python3 check.py", "Run the check again"),
        say(
            "`mean` divided by one too many: `len(values) + 1`. I took the `+ 1` away, and `check.py` "
            "passes.",
            thought="The sum is right, so the divisor must be wrong.",
        ),
    ],
    "Say in one sentence what you changed.": [say("The mean is now divided by the number of values.")],
}


def told(message: dict[str, Any]) -> list[str]:
    """In the place of the scripts in a prompt: what is said to it above."""
    if message["role"] != "user":
        return []
    return [json.dumps(steps) for prompt, steps in TALK.items() if prompt in message["text"]]


def main() -> None:
    shutil.rmtree(BASE, ignore_errors=True)
    home = BASE / "home"
    for folder in (home / "claude", home / "tmp", PROJECT):
        folder.mkdir(parents=True)
    for name, text in FILES.items():
        (PROJECT / name).write_text(text)
    mock_model.scripts = told
    os.environ["HOME"] = str(home)
    os.environ["ACP_NOTEBOOK_CONFIG"] = str(home / "config")
    CASSETTES.mkdir(exist_ok=True)
    agent = os.environ.get("ACP_TEST_AGENTS", str(ROOT / ".cache" / "agents"))
    with mock_model.serving() as url:
        env = {"PATH": _path(), "HOME": str(home), "TMPDIR": str(home / "tmp"), "ANTHROPIC_BASE_URL": url}
        session = acp.connect(
            [f"{agent}/node_modules/.bin/claude-code-acp"],
            cwd=PROJECT,
            env=_CLAUDE | env | {"CLAUDE_CONFIG_DIR": str(home / "claude")},
            inherit_env=False,
            permissions="allow",
            record=BASE / "mending.jsonl",
        )
        with session:
            for prompt in TALK:
                print(session.prompt(prompt, timeout=60).text)
    shutil.copy(BASE / "mending.jsonl", CASSETTES / "mending.jsonl")
    shutil.rmtree(BASE)


if __name__ == "__main__":
    main()
