"""An agent asks for one thing and does another: nothing unseen is done."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import acp_notebook as acp
from acp_notebook.core.policy import PermissionRequest
from acp_notebook.core.snapshot import Question
from tests.session.helpers import LIMIT_S

AGENT = [sys.executable, str(Path(__file__).parent.parent / "agents" / "scripted.py")]


class Scripted:
    """A session with the scripted agent; `answers` decide its questions and ours, in order."""

    def __init__(self, folder: Path, *answers: Any) -> None:
        self.folder = folder
        self.requests: list[PermissionRequest] = []
        self._answers = list(answers)
        self.session = acp.connect(AGENT, cwd=folder, permissions=self._policy)

    def _policy(self, request: PermissionRequest) -> str:
        self.requests.append(request)
        answer = self._answers.pop(0) if self._answers else "reject"
        return answer(request) if callable(answer) else str(answer)

    def __call__(self, *steps: list[Any]) -> list[Any]:
        results: list[Any] = json.loads(self.session.prompt(json.dumps(steps), timeout=LIMIT_S).text)
        return results

    def write(self, name: str, text: str) -> list[Any]:
        return ["call", "fs/write_text_file", {"path": str(self.folder / name), "content": text}]

    def questions(self) -> list[Question]:
        return [it for it in self.session.transcript.items if isinstance(it, Question)]


@pytest.fixture(autouse=True)
def own_grants(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path_factory.mktemp("config")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    return project


@pytest.fixture
def opened() -> Iterator[list[Scripted]]:
    made: list[Scripted] = []
    yield made
    for agent in made:
        agent.session.close()


def run(command: str, **more: Any) -> list[Any]:
    return ["call", "terminal/create", {"command": command, **more}]


def env(**values: str) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]


def start(opened: list[Scripted], folder: Path, *answers: Any) -> Scripted:
    opened.append(Scripted(folder, *answers))
    return opened[-1]


def test_only_the_described_command_runs(opened: list[Scripted], folder: Path) -> None:
    agent = start(opened, folder, "once")
    asked = {"toolCallId": "1", "kind": "execute", "title": "ls", "rawInput": {"command": "ls -la"}}
    done = agent(
        ["ask", asked],
        run("touch evil"),
        run("ls -la", env=env(LD_PRELOAD="/tmp/x.so")),
        run("ls -la", cwd=str(folder.parent)),
        run("ls -la", env=env(NO_COLOR="1")),
        run("ls -la"),
    )
    assert done[0] == "once" and "terminalId" in done[4]
    assert all("error" in it for it in (*done[1:4], done[5])), done
    assert not (folder / "evil").exists()
    assert agent.requests[2].env == {"LD_PRELOAD": "/tmp/x.so"} and agent.requests[2].command == "ls -la"


def test_a_title_is_not_a_description(opened: list[Scripted], folder: Path) -> None:
    agent = start(opened, folder, "once", "reject", "once", "reject")
    done = agent(
        ["ask", {"toolCallId": "1", "kind": "execute", "title": "ls -la"}],
        run("touch evil"),
        ["ask", {"toolCallId": "2", "kind": "edit", "title": "Fix typo in README.md"}],
        agent.write("README.md", "evil"),
    )
    assert done[0] == done[2] == "once" and "error" in done[1] and "error" in done[3]
    assert os.listdir(folder) == []


def test_a_file_named_like_a_command_line_is_not_run_instead(opened: list[Scripted], folder: Path) -> None:
    """Without arguments a command may be a line or a program: what runs is what was described."""
    trap = folder / "ls -la ."
    trap.mkdir()
    (trap / "x").write_text("#!/bin/sh\ntouch evil\n")
    (trap / "x").chmod(0o755)
    agent = start(opened, folder, "once", "reject")
    asked = {"toolCallId": "1", "kind": "execute", "title": "ls", "rawInput": {"command": "ls -la ./x"}}
    done = agent(["ask", asked], run("ls -la ./x"))
    assert "error" in done[1] and not (folder / "evil").exists()
    assert agent.requests[1].command == "'ls -la ./x'", "the question about it shows what would run"


def test_the_shown_content_is_written(opened: list[Scripted], folder: Path) -> None:
    agent = start(opened, folder, "once", "reject", "reject")
    shown = {"type": "diff", "path": str(folder / "a.txt"), "newText": "good\n"}
    done = agent(
        ["ask", {"toolCallId": "1", "kind": "edit", "title": "Write a.txt", "content": [shown]}],
        agent.write("a.txt", "evil\n"),
        agent.write("a.txt", "good\n"),
        agent.write("a.txt", "good, then evil\n"),
    )
    assert "error" in done[1] and done[2] == {} and "error" in done[3]
    assert (folder / "a.txt").read_text() == "good\n"
    assert [it.content for it in agent.requests] == ["good\n", "evil\n", "good, then evil\n"]


def test_a_shown_edit_covers_the_resulting_file(opened: list[Scripted], folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"hello from me\r\nand more\r\n")
    agent = start(opened, folder, "once")
    shown = {"type": "diff", "path": "a.txt", "oldText": "hello", "newText": "goodbye"}
    done = agent(
        ["ask", {"toolCallId": "1", "kind": "edit", "title": "Edit a.txt", "content": [shown]}],
        agent.write("a.txt", "goodbye from me\nand more\n"),
    )
    assert done == ["once", {}] and len(agent.requests) == 1
    assert (folder / "a.txt").read_bytes() == b"goodbye from me\r\nand more\r\n"


def test_a_link_is_shown_with_its_target(opened: list[Scripted], folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("[core]\n")
    (folder / "notes.txt").symlink_to(".git/config")
    agent = start(opened, folder, "allow")
    assert agent(agent.write("notes.txt", "evil\n")) == [{}]
    [action] = agent.requests[0].actions
    assert action.text == f"{folder}/notes.txt → {folder}/.git/config"
    assert agent.requests[0].paths == (str(folder / ".git/config"),)
    [question] = agent.questions()
    assert question.actions[0].text == action.text
    assert "→ .git/config)" in agent.session.to_markdown()


def test_a_link_swapped_during_the_question_is_not_followed(
    opened: list[Scripted], folder: Path, tmp_path: Path
) -> None:
    config = Path(os.environ["ACP_NOTEBOOK_CONFIG"])
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")

    def swap(request: PermissionRequest) -> str:
        (folder / "real").rename(folder / "gone")
        (folder / "real").symlink_to(config)
        return "allow"

    agent = start(opened, folder, swap)
    [answer] = agent(agent.write("link/permissions.json", "{}"))
    assert "error" in answer and os.listdir(config) == [] and os.listdir(folder / "gone") == []


def test_a_file_changed_during_the_question_is_not_overwritten(opened: list[Scripted], folder: Path) -> None:
    def edit(request: PermissionRequest) -> str:
        (folder / "a.txt").write_text("mine")
        return "allow"

    agent = start(opened, folder, edit)
    [answer] = agent(agent.write("a.txt", "the agent's"))
    assert "changed while the user was asked" in answer["error"]
    assert (folder / "a.txt").read_text() == "mine"


@pytest.mark.parametrize("in_line", [False, True])
def test_a_folder_swapped_during_the_question_runs_nothing(
    opened: list[Scripted], folder: Path, tmp_path: Path, in_line: bool
) -> None:
    """The question shows the folder in which the command would run."""
    (folder / "sub").mkdir()
    (tmp_path / "evil").mkdir()

    def swap(request: PermissionRequest) -> str:
        assert request.command == "touch done" and request.cwd == str(folder / "sub")
        (folder / "sub").rmdir()
        (folder / "sub").symlink_to(tmp_path / "evil")
        return "allow"

    agent = start(opened, folder, swap)
    line = f"cd {folder}/sub && touch done" if in_line else "touch done"
    where = {} if in_line else {"cwd": str(folder / "sub")}
    [answer] = agent(run(line, **where))
    assert "changed while the user was asked" in answer.get("error", "")
    assert os.listdir(tmp_path / "evil") == []


def test_a_home_folder_is_not_a_file_of_the_session(
    opened: list[Scripted], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents expand "~" themselves, so that a grant for the session's folders must not cover it."""
    monkeypatch.setenv("HOME", str(folder.parent))
    agent = start(opened, folder, "always", "ask", "ask")

    def ask(id: str, path: str, **more: Any) -> list[Any]:
        named = {"path": path, "content": "x", **more}
        return ["ask", {"toolCallId": id, "kind": "edit", "title": "Write", "rawInput": named}]

    done = agent(ask("1", "a.txt"), ask("2", "b.txt"), ask("3", "~/a.txt"))
    assert done == ["always", "once", "no"]
    assert agent.requests[2].paths == (str(folder.parent / "a.txt"),)
    agent(["ask", {"toolCallId": "4", "kind": "execute", "rawInput": {"command": "ls", "cwd": "~/x"}}])
    assert agent.requests[3].cwd == str(folder.parent / "x")


@pytest.mark.parametrize("address", ["file://{}", "file:{}", "FILE://localhost{}"])
def test_a_file_address_is_not_a_file_of_the_session(
    opened: list[Scripted], folder: Path, address: str
) -> None:
    """Some tools accept addresses of files, so that a grant for the session's folders must not cover them."""
    agent = start(opened, folder, "always", "ask")
    outside = folder.parent / "a b.txt"
    named = {"path": address.format(quote(str(outside))), "content": "x"}

    def ask(id: str, **raw: Any) -> list[Any]:
        return ["ask", {"toolCallId": id, "kind": "edit", "title": "Write", "rawInput": raw}]

    done = agent(ask("1", path="a.txt", content="x"), ask("2", **named), ask("3", path="file:///%00"))
    assert done == ["always", "no", "no"]
    assert agent.requests[1].paths == (str(outside),)
    folder_named = {"command": "ls", "cwd": address.format(quote(str(folder.parent)))}
    agent(["ask", {"toolCallId": "4", "kind": "execute", "rawInput": folder_named}])
    assert agent.requests[-1].cwd == str(folder.parent)


def test_line_ends_that_were_not_shown_are_not_written(opened: list[Scripted], folder: Path) -> None:
    agent = start(opened, folder, "once", "reject")
    shown = {"type": "diff", "path": str(folder / "a.sh"), "newText": "rm -r build\nls\n"}
    done = agent(
        ["ask", {"toolCallId": "1", "kind": "edit", "title": "Write a.sh", "content": [shown]}],
        agent.write("a.sh", "rm -r build\r\nls\n"),
        agent.write("a.sh", "rm -r build\nls\n"),
    )
    assert done[0] == "once" and "error" in done[1] and done[2] == {}
    assert (folder / "a.sh").read_bytes() == b"rm -r build\nls\n"


def test_a_reused_id_is_a_new_call(opened: list[Scripted], folder: Path) -> None:
    agent = start(opened, folder, "always", "ask", "ask")
    first = {"toolCallId": "1", "kind": "execute", "title": "ls", "rawInput": {"command": "ls"}}
    assert agent(["ask", first]) == ["always"]
    again = {"toolCallId": "1", "kind": "execute", "title": "rm -rf /"}
    assert agent(["ask", again]) == ["no"], "nobody is there, and no grant holds for it"
    assert agent.requests[1].command is None and agent.requests[1].tool.raw_input is None
    assert agent(["ask", first]) == ["once"], "the grant for ls holds"


def test_an_option_with_a_misleading_name_is_labelled_by_its_kind(
    opened: list[Scripted], folder: Path
) -> None:
    agent = start(opened, folder, "yes")
    lying = [{"optionId": "yes", "name": "Reject", "kind": "allow_always"}]
    agent(["ask", {"toolCallId": "1", "kind": "execute", "title": "ls", "options": lying}])
    [question] = agent.questions()
    assert question.chosen == "Always allow" and question.answers == ()
    assert "`ls` — allowed, Always allow by policy" in agent.session.to_markdown()


def test_an_option_that_shares_its_id_with_another_cannot_be_chosen(
    opened: list[Scripted], folder: Path
) -> None:
    def reject(request: PermissionRequest) -> str:
        return next((it.id for it in request.options if it.kind == "reject_once"), "reject")

    agent = start(opened, folder, reject, reject)
    same = [
        {"optionId": "x", "name": "Reject", "kind": "reject_once"},
        {"optionId": "x", "name": "Allow", "kind": "allow_once"},
    ]
    our_word = [{**same[0], "optionId": "allow"}, {**same[1], "optionId": "y"}]
    for number, options in enumerate((same, our_word)):
        asked = {"toolCallId": str(number), "kind": "execute", "rawInput": {"command": "touch evil"}}
        answer, ran = agent(["ask", {**asked, "title": "ls", "options": options}], run("touch evil"))
        assert answer not in ("x", "y") and "error" in ran
    assert not (folder / "evil").exists()


def test_the_audit_contains_the_described_action(opened: list[Scripted], folder: Path) -> None:
    agent = start(opened, folder, "allow", "allow")
    agent(run("ls", env=env(HOME="/tmp/x")), agent.write("a.txt", "x"))
    command, write = agent.session.audit.where(what="decision")
    assert command.detail["actions"] == [
        {"type": "command", "line": "ls", "cwd": str(folder), "env": [["HOME", "/tmp/x"]]}
    ]
    assert command.target == "HOME=/tmp/x ls"
    [described] = write.detail["actions"]
    assert described["path"] == str(folder / "a.txt") and len(described["sha256"]) == 64


def test_a_changed_kernel_and_hidden_source_are_on_the_card(opened: list[Scripted], folder: Path) -> None:
    def book(kernel: str, **metadata: Any) -> str:
        cell = {"cell_type": "code", "id": "a", "source": "1", "metadata": metadata, "outputs": []}
        cells = [{**cell, "execution_count": None}]
        spec = {"name": kernel, "display_name": kernel, "language": "python"}
        return json.dumps(
            {"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
        )

    (folder / "n.ipynb").write_text(book("python3"))
    agent = start(opened, folder, "allow", "allow")
    read = ["call", "fs/read_text_file", {"path": str(folder / "n.ipynb")}]
    hidden = book("evil", jupyter={"source_hidden": True})
    assert agent(read, agent.write("n.ipynb", hidden))[1] == {}
    [action] = agent.requests[0].actions
    changed = {(it.where, it.name) for it in getattr(action, "metadata", ())}
    assert changed == {("notebook", "kernelspec"), ("cell 1", "jupyter")}
    assert "kernel from 'python3' to 'evil'" in (getattr(action, "note", "") or "")
