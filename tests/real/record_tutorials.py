"""Records the cassettes of the tutorials: claude-code-acp with a scripted model.

`python -m tests.real.record_tutorials` records them again in notebooks/cassettes, with the agent installed
(`dev.py test --agents`); names of some after it: only those. The folders have neutral names: they are in the
recordings. What uses the kernel is recorded in one, which has the tutorial's data and a notebook.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import acp_notebook as acp
from tests.agents import mock_model
from tests.agents.mock_model import say, use
from tests.real.conftest import COMMAND_LIMIT_MS, ROOT, _path, claude_env

CASSETTES = ROOT / "notebooks" / "cassettes"
BASE = Path("/tmp/acp-tutorials")
PROJECT = BASE / "project"
LIMIT_S = 120

NEUTRAL = {sys.executable: "/usr/bin/python3", f"{ROOT}/": "/recorded/packages/"}
"""Paths of this machine in the command of the kernel's server, which the agent received."""

Talk = dict[str, list[dict[str, Any]]]
"""Prompts, and what the model does."""


def run(command: str, why: str) -> dict[str, Any]:
    return use("Bash", {"command": command, "description": why, "timeout": COMMAND_LIMIT_MS})


def edit(name: str, old: str, new: str) -> dict[str, Any]:
    return use("Edit", {"file_path": str(PROJECT / name), "old_string": old, "new_string": new})


# ---- mending: files and commands

MENDING_FILES = {
    "stats.py": "def mean(values):\n    return sum(values) / (len(values) + 1)\n",
    "check.py": (
        "from stats import mean\n\n"
        "assert mean([1, 2, 3]) == 2, f'mean is {mean([1, 2, 3])}'\nprint('all good')\n"
    ),
}
MENDING: Talk = {
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

# ---- penguins: the kernel

FIGURE = """\
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(5, 3))
for species, group in penguins.groupby("species"):
    axes.scatter(group["mass_g"], group["flipper_mm"], label=species)
axes.set(xlabel="body mass (g)", ylabel="flipper (mm)")
axes.legend()
plt.show()
penguins[["mass_g", "flipper_mm"]].corr().round(2)"""

CELL = 'penguins.groupby("species")["mass_g"].mean()'
CELL_ID = "meanmass"
"""Where it is random, and the model must know it."""

PENGUINS: Talk = {
    "Do heavier penguins have longer flippers?": [
        use("list_variables", {}),
        use("inspect_variable", {"name": "penguins", "rows": 3}),
        use("run_code", {"code": FIGURE, "purpose": "Draw flipper length against body mass"}),
        say(
            "Yes. In `penguins`, body mass and flipper length are **strongly correlated (0.96)**. Gentoo "
            "penguins are far from the rest: heavier, and with longer flippers.",
            thought="Two numeric columns: a scatter plot by species, and their correlation.",
        ),
    ],
    "Add a cell with the mean mass of each species, and run it.": [
        use("edit_notebook", {"edits": [{"op": "insert", "source": CELL, "after": "bottom"}]}),
        use("run_cells", {"cells": [CELL_ID]}),
        say("The cell is at the end of your notebook. Gentoo penguins weigh 5,125 g on average."),
    ],
}


def data() -> str:
    """What makes the data frame: the cell of the tutorial that does."""
    tutorial = json.loads((ROOT / "notebooks" / "kernel_tools.ipynb").read_text(encoding="utf-8"))
    (source,) = ("".join(it["source"]) for it in tutorial["cells"] if it["id"] == "kernel-data")
    return source


def penguins_in_a_kernel() -> None:
    """Start a kernel with that data, for a notebook of the project, and record there."""
    start_new_kernel: Any = import_module("jupyter_client.manager").start_new_kernel
    cell = {"cell_type": "code", "id": "data", "metadata": {}, "source": data(), "outputs": []}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell | {"execution_count": 1}]}
    path = PROJECT / "penguins.ipynb"
    path.write_text(json.dumps(notebook))
    env = os.environ | {"JPY_SESSION_NAME": str(path), "PYTHONPATH": str(ROOT)}
    manager, client = start_new_kernel(LIMIT_S, "python3", cwd=str(PROJECT), env=env)
    try:
        loaded = "import matplotlib.pyplot as _pyplot\nfrom tests.real import record_tutorials as _tutorials"
        for code in (data(), loaded, "_tutorials.penguins()"):
            reply = client.execute_interactive(code, allow_stdin=False, timeout=LIMIT_S)
            assert reply["content"]["status"] == "ok", reply["content"]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def penguins() -> None:
    """In the kernel."""
    editor: Any = import_module("acp_notebook.agent.kernel_tools.editor")
    new_id = SimpleNamespace(hex=CELL_ID)
    editor.uuid = SimpleNamespace(uuid4=lambda: new_id)
    record("penguins", PENGUINS, tools=True)


# ---- recording


def record(name: str, talk: Talk, **options: Any) -> None:
    def scripts_of(message: dict[str, Any]) -> list[str]:
        """In the place of the scripts in a prompt: what is said to it above."""
        if message["role"] != "user":
            return []
        return [json.dumps(steps) for prompt, steps in talk.items() if prompt in message["text"]]

    mock_model.scripts = scripts_of
    home = BASE / "home"
    agent = os.environ.get("ACP_TEST_AGENTS", str(ROOT / ".cache" / "agents"))
    with mock_model.serving() as url:
        env = {"PATH": _path(), "HOME": str(home), "TMPDIR": str(home / "tmp"), "NO_PROXY": "127.0.0.1"}
        session = acp.connect(
            [f"{agent}/node_modules/.bin/claude-code-acp"],
            cwd=PROJECT,
            env=env | claude_env(url, home),
            inherit_env=False,
            permissions="allow",
            record=BASE / f"{name}.jsonl",
            **options,
        )
        with session:
            for prompt in talk:
                print(session.prompt(prompt, timeout=LIMIT_S).text)
    recorded = (BASE / f"{name}.jsonl").read_text(encoding="utf-8")
    for real, neutral in NEUTRAL.items():
        recorded = recorded.replace(real, neutral)
    (CASSETTES / f"{name}.jsonl").write_text(recorded, encoding="utf-8")


def prepare(files: dict[str, str]) -> None:
    shutil.rmtree(BASE, ignore_errors=True)
    home = BASE / "home"
    for folder in (home / "claude", home / "tmp", PROJECT):
        folder.mkdir(parents=True)
    for name, text in files.items():
        (PROJECT / name).write_text(text)
    os.environ["HOME"] = str(home)
    os.environ["ACP_NOTEBOOK_CONFIG"] = str(home / "config")
    CASSETTES.mkdir(exist_ok=True)


def main(names: list[str]) -> None:
    if not names or "mending" in names:
        prepare(MENDING_FILES)
        record("mending", MENDING)
    if not names or "penguins" in names:
        prepare({})
        penguins_in_a_kernel()
    shutil.rmtree(BASE)


if __name__ == "__main__":
    main(sys.argv[1:])
