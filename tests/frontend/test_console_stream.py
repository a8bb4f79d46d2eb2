"""IPython in a real terminal: text as it comes, questions by `input()`, Ctrl-C stops the turn."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.kernels import ROOT
from tests.waiting import DEADLINE_S

IPYTHON = [sys.executable, "-m", "IPython", "--simple-prompt", "--colors=nocolor", "--no-banner"]
SCRIPTED = ROOT / "tests" / "agents" / "scripted.py"
CTRL_C = b"\x03"


def environment(folder: Path) -> dict[str, str]:
    own = {"PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / "ipython"), "HOME": str(folder)}
    env = {**os.environ, **own, "TERM": "dumb", "COLUMNS": "200"}
    env.pop("ACP_NOTEBOOK_HEADLESS", None)
    return env


class Terminal:
    """IPython on a pseudo-terminal: types lines and reads what appears."""

    def __init__(self, folder: Path) -> None:
        self._fd, other = pty.openpty()
        self._process = subprocess.Popen(
            IPYTHON,
            stdin=other,
            stdout=other,
            stderr=other,
            cwd=folder,
            env=environment(folder),
            start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # its terminal: Ctrl-C is for it
        )
        os.close(other)
        self._read = 0
        self.text = ""

    def until(self, text: str) -> str:
        """Read until this text appears; return what came before it, since the last call."""
        deadline = time.monotonic() + DEADLINE_S
        while text not in self.text[self._read :]:
            assert time.monotonic() < deadline, f"waited for {text!r}; the terminal shows:\n{self.text}"
            if select.select([self._fd], [], [], 0.1)[0]:
                self.text += os.read(self._fd, 4096).decode(errors="replace").replace("\r", "")
        at = self.text.index(text, self._read)
        before, self._read = self.text[self._read : at], at + len(text)
        return before

    def write(self, line: str) -> None:
        os.write(self._fd, f"{line}\n".encode())

    def press(self, key: bytes) -> None:
        os.write(self._fd, key)

    def run(self, line: str) -> str:
        """Run a cell to its end; return what it printed."""
        self.write(line)
        return self.cell_end()

    def cell_end(self) -> str:
        before = self.until("\nIn [")
        self.until("]: ")
        return before

    def end(self) -> None:
        self._process.kill()
        self._process.wait(DEADLINE_S)
        os.close(self._fd)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    shell = Terminal(tmp_path)
    try:
        shell.until("In [1]: ")
        shell.run("%load_ext acp_notebook")
        shell.started = shell.run("%acp_agent demo")  # type: ignore[attr-defined]
        yield shell
        shell.run("session.close()")
    finally:
        shell.end()


def test_a_new_session_says_what_to_do(terminal: Terminal) -> None:
    said = terminal.started  # type: ignore[attr-defined]
    assert "demo is ready: %acp TEXT sends a prompt" in said and "Ctrl-C" in said


def test_a_question_shows_the_exact_action_and_is_answered_in_the_terminal(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.write("%acp /edit a.txt hello")
    asked = terminal.until("Your answer (")
    assert "The agent asks for permission: Edit a.txt" in asked
    assert "New file: a.txt" in asked and "+hello" in asked, "all that an allow covers"
    assert not (tmp_path / "a.txt").exists()
    terminal.write("1")
    said = terminal.cell_end()
    assert "[edit] Edit a.txt — completed" in said and "Wrote `a.txt`." in said
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    terminal.write("%acp /edit b.txt hello")
    terminal.until("Your answer (")
    terminal.write("")
    assert "Not one of the answers: rejected." in terminal.cell_end()
    assert not (tmp_path / "b.txt").exists()


def test_what_was_typed_before_a_question_does_not_answer_it(terminal: Terminal, tmp_path: Path) -> None:
    line_typed = "import select; print('be' + 'gun'); select.select([0], [], [])"
    terminal.write(f"{line_typed}; turn = session.prompt('/edit a.txt hello')")
    terminal.until("begun")
    terminal.write("1")  # for the next cell
    terminal.until("Your answer (")
    assert not (tmp_path / "a.txt").exists()
    terminal.write("2")
    terminal.cell_end()
    assert not (tmp_path / "a.txt").exists(), "the answer is the one that was typed at the question"


@pytest.mark.parametrize(("again", "writes"), [("3", True), ("", False), ("1", False)])
def test_an_answer_that_lasts_is_typed_twice(
    terminal: Terminal, tmp_path: Path, again: str, writes: bool
) -> None:
    terminal.write("%acp /edit a.txt hello")
    terminal.until("Your answer (")
    terminal.write("3")
    terminal.until("Allow all edits in this session: type 3 again to confirm: ")
    assert not (tmp_path / "a.txt").exists()
    terminal.write(again)
    assert ("Not confirmed: rejected." in terminal.cell_end()) != writes
    assert (tmp_path / "a.txt").exists() == writes
    assert terminal.run("len(session.grants)").split()[-1] == str(int(writes))


def test_text_streams_and_ctrl_c_stops_the_turn_without_a_traceback(terminal: Terminal) -> None:
    terminal.write("%acp /slow 600")
    terminal.until("tick1")
    terminal.until("tick3")  # the turn is still running
    terminal.press(CTRL_C)
    said = terminal.cell_end()
    assert said.endswith("Stopped.\n") and "Traceback" not in said
    assert "cancelled" in terminal.run("session.turns[-1].stop_reason")
    terminal.write("%acp /ask")
    terminal.until("Your answer (")
    terminal.press(CTRL_C)
    assert terminal.cell_end().endswith("Stopped.\n")


def test_a_turn_is_printed_once(terminal: Terminal) -> None:
    assert terminal.run("session.prompt('hello')").count("You said") == 1
    assert terminal.run("%acp hello").count("You said") == 1
    assert terminal.run("turn = session.prompt('hello')").count("You said") == 1
    assert "You said" in terminal.run("turn")


def test_escape_sequences_of_an_agent_do_not_reach_the_terminal(terminal: Terminal) -> None:
    terminal.run(r"turn = session.prompt('a\x1b[2Jb \x07c')")
    assert "\x1b" not in terminal.text and "\x07" not in terminal.text


def test_the_kind_and_status_of_a_call_do_not_control_the_terminal(
    terminal: Terminal, tmp_path: Path
) -> None:
    call = {"sessionUpdate": "tool_call", "toolCallId": "a", "title": "Look", "kind": "\x1b[2Jread"}
    steps = [["update", {**call, "status": "done\x1b]0;title\x07\r"}]]
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    terminal.run(f"import acp_notebook as acp; odd = acp.connect([{sys.executable!r}, {str(SCRIPTED)!r}])")
    said = terminal.run("turn = odd.prompt(open('steps.json').read())")
    assert "read] Look — done" in said
    terminal.run("odd.close()")
    assert "\x1b" not in terminal.text and "\x07" not in terminal.text


def test_nobody_is_asked_if_the_input_is_not_a_terminal(tmp_path: Path) -> None:
    cells = "%load_ext acp_notebook\n%acp_agent demo\n%acp /edit a.txt hello\nsession.close()\n"
    done = subprocess.run(
        IPYTHON,
        input=cells,
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert "Your answer" not in done.stdout
    assert "Edit a.txt — rejected, Reject by policy: nobody can be asked" in done.stdout
    assert not (tmp_path / "a.txt").exists()
