"""The magics in a real IPython shell without a kernel."""

from __future__ import annotations

import atexit
import builtins
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import acp_notebook as acp
from acp_notebook.core.snapshot import TurnStart
from acp_notebook.frontend.magics import agent_line
from acp_notebook.frontend.magics.acp_magics import find_magics
from acp_notebook.setup.resolve import choose
from tests.waiting import wait_until


class Shell:
    """Runs cells like a user; returns their outputs."""

    def __init__(self, shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
        self.shell = shell
        self._capsys = capsys

    def run(self, cell: str) -> str:
        self._capsys.readouterr()
        self.error = self.shell.run_cell(cell, store_history=True).error_in_exec
        said = self._capsys.readouterr()
        return said.out + said.err

    def refused(self, cell: str) -> str:
        """The error's single line, without a traceback."""
        said = self.run(cell).strip()
        assert type(self.error).__name__ == "UsageError"
        assert said.startswith("UsageError: ")
        assert "\n" not in said
        return said.removeprefix("UsageError: ")

    def __getitem__(self, name: str) -> Any:
        return self.shell.user_ns[name]

    @property
    def sent(self) -> Any:
        """The content of the last prompt to `session`."""
        starts = [it for it in self["session"].transcript.items if isinstance(it, TurnStart)]
        return starts[-1].prompt

    def completions(self, cell: str) -> list[str]:
        with provisionalcompleter():
            return [it.text for it in self.shell.Completer.completions(cell, len(cell))]


@pytest.fixture
def bare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Shell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    for name in ("displayhook", "excepthook"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    for name in ("last_value", "last_type", "last_traceback", "last_exc"):
        monkeypatch.delattr(sys, name, raising=False)
    assert not InteractiveShell.initialized()
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    shell: Any = InteractiveShell.instance(config=config)
    try:
        yield Shell(shell, capsys)
    finally:
        for session in [it for it in shell.user_ns.values() if isinstance(it, acp.Session)]:
            session.agent.close()
        shell.atexit_operations()
        atexit.unregister(shell.atexit_operations)
        InteractiveShell.clear_instance()
        for name in ("get_ipython", "display"):
            vars(builtins).pop(name, None)


@pytest.fixture
def shell(bare: Shell) -> Shell:
    assert bare.run("%load_ext acp_notebook") == ""
    return bare


@pytest.fixture
def asked(shell: Shell) -> Shell:
    """With a session on the demo agent."""
    shell.run("%acp_agent demo")
    assert isinstance(shell["session"], acp.Session)
    return shell


# ---- %acp_agent


def test_without_arguments_it_lists_agents_and_sessions(shell: Shell) -> None:
    said = shell.run("%acp_agent")
    assert re.search(r"^demo +built in", said, re.MULTILINE)
    assert re.search(r"^gemini .*npm install -g @google/gemini-cli", said, re.MULTILINE)
    assert "no running sessions; start one with %acp_agent NAME" in said
    shell.run("%acp_agent demo --as helper")
    listed = shell.run("%acp_agent").splitlines()
    assert listed[-1].split() == ["helper", "demo", "idle", "0", "."]


def test_it_starts_an_agent_with_the_requested_options(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    shell.run("folder = 'a b'")
    shell.run("%acp_agent demo --as s --cwd '{folder}' --mode plan --permissions edit=allow,read=reject")
    assert shell.error is None
    session = shell["s"]
    assert (session.agent.name, session.mode, Path(session.cwd)) == ("demo", "plan", tmp_path / "a b")
    assert "session" not in shell.shell.user_ns


def test_config_accepts_booleans_and_choices(shell: Shell) -> None:
    shell.run("%acp_agent demo")
    truth = next(it for it in shell["session"].config.options if it.type == "boolean")
    shell.run(f"%acp_agent demo --config {truth.id}={not truth.value} --config mode=code")
    assert shell.error is None
    assert shell["session"].config[truth.id] is not truth.value
    assert shell["session"].config["mode"] == "code"


def test_arguments_go_to_the_command(shell: Shell) -> None:
    shell.run(f"%acp_agent {sys.executable} --as own -- -m acp_notebook.demo")
    assert shell.error is None
    assert shell["own"].status == "idle"


def test_arguments_are_added_to_the_command_of_a_known_name(shell: Shell, tmp_path: Path) -> None:
    shell.run("%acp_agent demo --as own -- --some 'thing more'")
    assert shell.error is None
    assert shell["own"].status == "idle"
    found = choose("demo", None, args=["--some", "thing more"], cwd=str(tmp_path))
    assert found.argv[-2:] == ("--some", "thing more")
    assert found.identity != choose("demo", None, cwd=str(tmp_path)).identity, "allowed to it alone"
    (tmp_path / "gemini").touch(0o755)
    known = choose("gemini", str(tmp_path), args=["--model", "x"], cwd=str(tmp_path))
    assert known.argv == (*choose("gemini", str(tmp_path), cwd=str(tmp_path)).argv, "--model", "x")
    assert known.older is None or known.older.argv[-2:] == ("--model", "x")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nonesuch-agent", "no command 'nonesuch-agent' on the PATH"),
        ("demo --bla", "unrecognized arguments: --bla"),
        ("--as x", "required: NAME"),
        ("demo --as", "expected one argument"),
        ("demo --as a.b", "not a valid variable name"),
        ("demo --as class", "not a valid variable name"),
        ("demo --as print", "hide a Python built-in"),
        ("demo --as mine", "the variable mine is already in use (int)"),
        ("demo --cwd /nonesuch", "is not a folder"),
        ("demo --mode nonesuch", "it may be 'ask'"),
        ("demo --config mode", "write K=V"),
        ("demo --config nonesuch=1", "no option 'nonesuch'"),
        ("demo --permissions maybe", "use ask, allow, reject"),
        ("demo --permissions edit=maybe", "maybe"),
        ("demo --resume a --load b", "not allowed with"),
        ("demo --resume a", "does not offer to resume"),
        ("'demo", "No closing quotation"),
    ],
)
def test_misuse_is_one_clear_line_and_binds_nothing(shell: Shell, line: str, words: str) -> None:
    shell.run("mine = 1")
    assert words in shell.refused(f"%acp_agent {line}")
    assert not [it for it in shell.shell.user_ns.values() if isinstance(it, acp.Session)]
    assert shell["mine"] == 1


def test_an_agent_whose_settings_are_refused_is_not_left_running(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[acp.Session] = []

    def connect(*args: Any, **options: Any) -> acp.Session:
        started.append(acp.connect(*args, **options))
        return started[-1]

    monkeypatch.setattr(agent_line, "connect", connect)
    shell.refused("%acp_agent demo --mode nonesuch")
    assert started[0].status == "closed"


def test_a_new_session_closes_the_one_that_had_its_name_and_says_so(asked: Shell) -> None:
    old = asked["session"]
    assert "session is a new session; the previous one was closed" in asked.run("%acp_agent demo")
    assert old.status == "closed"
    assert asked["session"] is not old


def test_a_session_with_another_name_stays_open(asked: Shell) -> None:
    old = asked["session"]
    asked.run("mine = session")
    assert "still open as mine" in asked.run("%acp_agent demo")
    assert old.status == "idle"


def test_a_session_with_an_underscore_is_found_by_its_name(asked: Shell) -> None:
    asked.run("%acp_agent demo --as _mine")
    asked.run("%%acp _mine\nhello")
    assert asked["_mine"].turns[-1].text and not asked["session"].turns
    assert "no session '_nobody'" in asked.refused("%%acp _nobody\nhello")


def test_a_session_at_work_is_not_replaced(asked: Shell) -> None:
    turn = asked["session"].start("/hang")
    wait_until(lambda: asked["session"].status == "working", "the turn's start")
    assert "session is still working; stop it with session.cancel()" in asked.refused("%acp_agent demo")
    assert not turn.done


def test_a_failed_start_keeps_the_old_session(asked: Shell) -> None:
    old = asked["session"]
    asked.refused("%acp_agent nonesuch-agent")
    assert asked["session"] is old
    assert old.status == "idle"


# ---- %acp and %%acp


def test_a_line_and_a_cell_are_prompts_and_show_the_turn(asked: Shell) -> None:
    assert "You said: “hello”" in asked.run("%acp hello")
    said = asked.run("%%acp\n\nfirst line\n  second {braces} $HOME\n")
    assert "You said: “first line second {braces} $HOME”" in said
    assert asked.sent == (acp.Text("first line\n  second {braces} $HOME"),)
    assert asked.shell.run_line_magic("acp", "again") is None


@pytest.mark.parametrize(
    "cell", ["%acp what is @x?", "%acp what's @x?", "if True:\n    %acp why?? @x ??\nx = 6"]
)
def test_a_question_mark_does_not_ask_for_help(asked: Shell, cell: str) -> None:
    asked.run("x = 5")
    asked.run(cell)
    assert asked.error is None
    assert asked.sent[0].text.endswith("?")
    assert asked.sent[1] == acp.Resource("python:x", text="x = 5", mime_type="text/plain")


def test_text_that_looks_like_the_magic_stays_text(asked: Shell) -> None:
    assert asked.run("t = '''\n%acp not a call?\n'''\nprint(t)").strip() == "%acp not a call?"
    assert "Send a prompt" in asked.run("%acp?")
    assert asked["session"].turns == ()


def test_mentions_attach_objects(asked: Shell, tmp_path: Path) -> None:
    (tmp_path / "etl.py").touch()
    asked.run("def f():\n    return 1")
    asked.run("1 / 0")
    asked.refused("%acp @nonesuch")  # misuse is not the last error
    asked.run("%%acp\nsee @f @etl.py @error @cell:2 @cell:last")
    text, function, file, error, cell, last = asked.sent
    assert text.text == "see @f @etl.py @error @cell:2 @cell:last"
    assert (function.uri, "return 1" in function.text) == ("python:f", True)
    assert file == acp.Resource((tmp_path / "etl.py").as_uri(), text="", mime_type="text/x-python")
    assert "ZeroDivisionError: division by zero" in error.text
    assert "interactiveshell.py" not in error.text
    assert cell.text == "%acp_agent demo"
    assert last.text == "%acp @nonesuch"


def test_cells_can_come_from_elsewhere(asked: Shell) -> None:
    magics = find_magics(asked.shell)
    assert magics is not None
    magics.context.cells = {"7": "unsaved"}.get
    asked.run("%acp @cell:7")
    assert asked.sent[1].text == "unsaved"


def test_the_session_can_be_named_and_a_single_one_need_not_be(shell: Shell) -> None:
    shell.run("%acp_agent demo --as first")
    shell.run("%acp hello")
    assert len(shell["first"].turns) == 1
    shell.run("%acp_agent demo --as second")
    shell.run("%%acp second\nhello")
    assert len(shell["second"].turns) == 1
    assert "there are first, second: choose one with %%acp NAME" in shell.refused("%acp hello")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%acp", "the prompt is empty"),
        ("%%acp\n \n", "the prompt is empty"),
        ("%%acp other\nhello", "no session 'other'; there are session"),
        ("%%acp say hello\nhello", "Write %%acp NAME"),
        ("%acp see @sesion", "did you mean @session?"),
    ],
)
def test_misuse_of_a_prompt_is_one_clear_line_without_a_turn(asked: Shell, cell: str, words: str) -> None:
    assert words in asked.refused(cell)
    assert asked["session"].turns == ()


def test_without_a_session_it_says_how_to_get_one(shell: Shell) -> None:
    assert shell.refused("%acp hello") == "no session for this prompt; %acp_agent NAME starts one"


def test_a_later_error_keeps_its_type_and_has_no_traceback(asked: Shell) -> None:
    said = asked.run("%acp /die 3")
    assert isinstance(asked.error, acp.AgentDied)
    assert said.startswith("AgentDied: the agent exited with code 3")
    assert "Traceback" not in said


# ---- completion, unloading


def test_completion_through_the_shells_completer(asked: Shell) -> None:
    asked.run("frame = 1")
    assert asked.completions("%acp_agent de") == ["demo"]
    assert asked.completions("%%acp se") == ["session"]
    assert asked.completions("%%acp\n/tou") == ["/tour"]
    assert asked.completions("%acp look at @fra") == ["@frame"]
    assert "@frame" not in asked.completions("fra")


def test_unloading_removes_everything_and_reloading_adds_it_once(asked: Shell) -> None:
    asked.run("%reload_ext acp_notebook")
    assert len(asked.shell.Completer.custom_matchers) == 1
    asked.run("%unload_ext acp_notebook")
    assert find_magics(asked.shell) is None
    assert asked.shell.Completer.custom_matchers == []
    assert "not found" in asked.refused("%acp hello")
    assert asked["session"].status == "idle"
    asked.run("%load_ext acp_notebook")
    assert "You said: “is it there?”" in asked.run("%acp is it there?")


class Page:
    """Simulates the notebook in the page, where cell 1 was changed since it ran."""

    def __init__(self, cells: dict[str, str] | None) -> None:
        self.cells = cells

    def source_of(self, which: str) -> str | None:
        if self.cells is None:
            raise acp.UsageError("the page is busy")
        return self.cells.get(which)


@pytest.mark.parametrize(
    ("cells", "sent"), [({"1": "x = 'not saved'"}, "not saved"), ({}, "as it ran"), (None, "as it ran")]
)
def test_a_cell_is_sent_as_in_the_page_else_as_it_ran(
    cells: dict[str, str] | None, sent: str, monkeypatch: pytest.MonkeyPatch, asked: Shell
) -> None:
    session = asked.shell.user_ns["session"]
    asked.run("y = 'as it ran'")
    magics = find_magics(asked.shell)
    assert magics is not None
    number = max(magics.context.inputs())
    page = Page(cells and {str(number): cells["1"]})
    monkeypatch.setattr(session._conversation.state.audience, "has_page", True)
    monkeypatch.setattr(type(session), "notebook", property(lambda _: page))
    asked.run("%acp look at @cell:last")
    assert sent in str(asked.sent)


# ---- %%acp --agents


def test_a_cell_runs_its_prompt_with_each_agent(shell: Shell) -> None:
    shell.run("x = [1, 2]")
    said = shell.run("%%acp --agents demo,demo --as tries\nWhat is @x?")
    assert shell.error is None, said
    runs = shell["tries"]
    assert [it.state for it in runs] == ["done", "done"]
    assert "2 runs: 2 done" in said and "What is @x?" in said
    assert "resource" in runs[0].text, "what is mentioned is attached"
    shell.run("%%acp --agents demo --as tries\nhello")
    assert len(shell["tries"]) == 1, "runs are replaced by the next ones"
    assert "already in use (list)" in shell.refused("%%acp --agents demo --as x\nhello")
    assert "the prompt is empty" in shell.refused("%%acp --agents demo\n ")
