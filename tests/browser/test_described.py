"""A question shows in full what it covers: each attack of an agent, in a real page."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import SHOTS, Open
from tests.notebook.kernels import ROOT

AGENT = ROOT / "tests" / "agents" / "scripted.py"
CONNECT = f"""import json, os, acp_notebook as acp
os.makedirs(".git", exist_ok=True); open(".git/config", "w").write("[core]\\n")
os.path.lexists("notes.txt") or os.symlink(".git/config", "notes.txt")
open("a.txt", "w").write("hello from me\\nand more\\n")
s = acp.connect([{sys.executable!r}, {str(AGENT)!r}])
ask = lambda *steps: s.prompt(json.dumps(steps).replace("CWD", s.cwd))"""

LIES = [
    {"optionId": "lie", "name": "Reject", "kind": "allow_always"},
    {"optionId": "once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def book(kernel: str, source: str, **metadata: Any) -> str:
    cell = {"cell_type": "code", "id": "a", "source": source, "metadata": metadata, "outputs": []}
    spec = {"name": kernel, "display_name": kernel, "language": "python"}
    cells = [{**cell, "execution_count": None}]
    return json.dumps({"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5})


def asks(**call: Any) -> list[Any]:
    return ["ask", {"toolCallId": "1", **call}]


def calls(method: str, **params: Any) -> list[Any]:
    return ["call", method, params]


def writes(name: str, content: str) -> list[Any]:
    return calls("fs/write_text_file", path=f"CWD/{name}", content=content)


SCENES: dict[str, tuple[list[Any], list[str]]] = {
    "title-only": ([asks(kind="execute", title="ls -la")], ["you will be asked again"]),
    "other-kind": (
        [asks(kind="other", title="Look around", rawInput={"command": "rm -rf build"})],
        ["rm -rf build"],
    ),
    "args": ([asks(kind="execute", rawInput={"command": "git", "args": ["push", "-f"]})], ["git push -f"]),
    "blanks": (
        [asks(kind="execute", title="ls", rawInput={"command": "ls" + " " * 2100 + "; rm x"})],
        ["2,100", "; rm x"],
    ),
    "lines": (
        [asks(kind="execute", title="ls", rawInput={"command": "ls" + "\n" * 231 + "rm -rf y"})],
        ["230", "rm -rf y"],
    ),
    "environment": (
        [
            calls(
                "terminal/create",
                command="git status",
                cwd="CWD/.git",
                env=[{"name": "LD_PRELOAD", "value": "/tmp/evil.so"}, {"name": "NO_COLOR", "value": "1"}],
            )
        ],
        ["git status", "LD_PRELOAD=/tmp/evil.so", "/.git"],
    ),
    "link": ([writes("notes.txt", "evil\n")], ["notes.txt", ".git/config", "evil"]),
    "edit": (
        [asks(kind="edit", title="Edit", content=[{"type": "diff", "path": "a.txt", "oldText": "hello",
                                                   "newText": "goodbye"}])],
        ["goodbye from me", "and more"],
    ),
    "metadata": (
        [writes("n.ipynb", book("python3", "1")), writes("n.ipynb", book("evil", "1", tags=["hide-input"]))],
        ["kernelspec", "evil", "tags", "hide-input"],
    ),
    "lying-option": ([asks(kind="execute", title="ls", options=LIES)], ["the agent calls this 'Reject'"]),
    "bidi": (
        [asks(kind="execute", title="ls", rawInput={"command": "ls \u202e\u200b\u00a0x"})],
        ["U+202E", "U+200B", "U+00A0"],
    ),
}  # fmt: skip


def turn_of(name: str) -> str:
    steps, _ = SCENES[name]
    return f"turn = ask(*json.loads({json.dumps(json.dumps(steps))}));"


def shoot(question: Locator, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    question.scroll_into_view_if_needed()
    question.page.screenshot(path=SHOTS / f"described-{name}.png")


LIGHT, DARK = "JupyterLab Light", "JupyterLab Dark"


@pytest.mark.parametrize(
    ("host", "theme"),
    [
        ("lab", LIGHT),
        *(pytest.param(*it, marks=pytest.mark.slow) for it in (("lab", DARK), ("notebook", DARK))),
    ],
)
def test_everything_a_question_covers_is_drawn(open_notebook: Open, host: str, theme: str) -> None:
    notebook = open_notebook([CONNECT, *map(turn_of, SCENES)], host=host, theme=theme, size=(1100, 900))
    notebook.run(0)
    for number, (name, (steps, texts)) in enumerate(SCENES.items(), 1):
        notebook.run(number)
        turn = notebook.turn(number)
        question = turn.locator("[data-acp-question][data-status=open]")
        for _ in range(len(steps) - 1):  # the first one only sets the stage
            question.locator("[data-meaning=allow_once]").click()
            expect(turn.locator("[data-acp-question][data-status=answered]")).to_have_count(1)
        for text in texts:
            expect(question).to_contain_text(text)
        expect(turn.locator("[data-acp-tool] .acp-spinner")).to_have_count(0)
        shoot(question, f"{name}-{host}-{theme.split()[-1].lower()}")
        question.locator("[data-meaning=reject]").click()
        expect(turn).to_have_attribute("data-acp-status", "done")
