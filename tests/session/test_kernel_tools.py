"""The demo agent uses the kernel through MCP: asked at most once, stopped with its turn, or off."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

import acp_notebook as acp
from acp_notebook.agent import session_tools
from acp_notebook.agent.kernel_tools.listener import Listener
from acp_notebook.agent.known_agents import quirks
from acp_notebook.agent.known_agents.quirks import Entry, Quirks
from acp_notebook.agent.recordings import recording
from acp_notebook.api import kernel_access
from acp_notebook.core.policy import PermissionRequest
from acp_notebook.core.records import KernelRun, RunStream
from acp_notebook.core.snapshot import Notice, Question
from tests.agent.kernel_tools.fake_kernel import FakeKernel, FakeRun
from tests.waiting import wait_until

CODE = json.dumps({"code": "print('hello')", "purpose": "Greet"})


class Kernels:
    """The kernels that sessions got when their agents connected; `ends`: how their runs end."""

    def __init__(self) -> None:
        self.made: list[FakeKernel] = []
        self.hidden: list[Sequence[str]] = []
        self.ends: Literal["ok", "error"] | None = "ok"
        self.first_cell = "x = 1"

    @property
    def runs(self) -> list[FakeRun]:
        return [run for kernel in self.made for run in kernel.runs]

    def make(self, hide: Sequence[str], documents: Any, stopped: Any) -> FakeKernel:
        kernel = FakeKernel(self.ends)
        kernel.cells["aaaa1111"] = self.first_cell
        self.made.append(kernel)
        self.hidden.append(hide)
        return kernel


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Kernels:
    kernels = Kernels()
    monkeypatch.setattr(kernel_access, "_make", kernels.make)
    monkeypatch.setattr(session_tools, "_announced", set())
    return kernels


@pytest.fixture
def asked() -> list[tuple[str, str | None]]:
    return []


@pytest.fixture
def session(kernels: Kernels, asked: list[tuple[str, str | None]], tmp_path: Path) -> Iterator[acp.Session]:
    def policy(request: Any) -> str:
        asked.append((request.kind, request.code))
        return "allow"

    with acp.connect("demo", cwd=tmp_path, tools=True, permissions=policy) as session:
        yield session


def runs(turn: acp.Turn) -> list[KernelRun]:
    return [block for call in turn.tool_calls for block in call.content if isinstance(block, KernelRun)]


def test_variables_are_read_without_a_question_and_the_user_is_told_once(
    session: acp.Session, asked: list[Any]
) -> None:
    turn = session.prompt("/data")
    assert "df: DataFrame" in turn.text and asked == []
    session.prompt("/data df")
    notices = [it for it in session.transcript.items if isinstance(it, Notice)]
    assert [it.title for it in notices] == ["demo can look at your variables and this notebook"]
    assert "tools=False" in (notices[0].description or "")


def test_reads_and_edits_have_titles_that_a_user_understands(session: acp.Session) -> None:
    """The agent's own are the names of tools; what it shows of a read stays its own."""
    (look,) = session.prompt("/data df").tool_calls
    assert (look.title, look.kind, look.status) == ("Look at df", "read", "completed")
    assert look.content
    (listed,) = session.prompt("/data").tool_calls
    assert (listed.title, listed.kind) == ("List variables", "read")
    (edit,) = session.prompt('/kernel edit_notebook {"edits": [{"op": "delete", "cell": "x"}]}').tool_calls
    assert (edit.title, edit.kind, edit.status) == ("Change the notebook", "edit", "failed")


def test_code_is_asked_about_once_whether_the_agent_asks_or_not(
    session: acp.Session, asked: list[Any], kernels: Kernels
) -> None:
    for ask in ("", "ask "):
        turn = session.prompt(f"/kernel {ask}run_code {CODE}")
        assert "hello" in turn.text
        assert asked == [("execute", "print('hello')")]
        asked.clear()
        (run,) = runs(turn)
        assert (run.status, run.code, run.purpose) == ("ok", "print('hello')", "Greet")
        (call,) = turn.tool_calls
        assert (call.title, call.kind, call.status) == ("Greet", "execute", "completed")
    assert len(kernels.runs) == 2


def test_an_allow_for_one_code_is_none_for_another(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: the agent asks about a harmless line, and sends another one under the same id."""
    questions: list[str | None] = []

    def policy(request: Any) -> str:
        questions.append(request.code)
        return "allow" if request.code == "1" else "reject"

    with acp.connect("demo", cwd=tmp_path, tools=True, permissions=policy) as session:
        turn = session.prompt('/kernel sly run_code {"code": "1"} {"code": "import os"}')
    assert questions == ["1", "import os"]
    assert kernels.runs == [] and "the user's policy rejected it" in turn.text


def test_what_is_rejected_is_not_run(kernels: Kernels, tmp_path: Path) -> None:
    with acp.connect("demo", cwd=tmp_path, tools=True, permissions={"execute": "reject"}) as session:
        turn = session.prompt(f"/kernel run_code {CODE}")
        assert "Not done: the user's policy rejected it" in turn.text
        assert kernels.runs == []
        assert "df: DataFrame" in session.prompt("/data").text  # reading is not running


def test_cancelling_a_turn_ends_its_code(session: acp.Session, kernels: Kernels) -> None:
    kernels.ends = None
    turn = session.start(f"/kernel run_code {CODE}")
    wait_until(lambda: bool(kernels.runs), "the code runs")
    turn.cancel()
    turn.wait(60)
    assert kernels.runs[0].interrupted
    (run,) = runs(turn)
    assert run.status == "interrupted"


def test_code_that_outlasts_its_turn_is_ended(session: acp.Session, kernels: Kernels) -> None:
    kernels.ends = None
    turn = session.prompt('/kernel run_code {"code": "long()", "wait_s": 0}')
    assert "running" in turn.text
    wait_until(lambda: kernels.runs[0].interrupted, "it is interrupted")


def test_code_ends_with_its_agent(session: acp.Session, kernels: Kernels) -> None:
    kernels.ends = None
    turn = session.start(f"/kernel run_code {CODE}")
    wait_until(lambda: bool(kernels.runs), "the code runs")
    assert session.agent.pid is not None
    os.kill(session.agent.pid, signal.SIGKILL)
    with pytest.raises(acp.AgentDied):
        turn.wait(60)
    wait_until(lambda: kernels.runs[0].interrupted, "it is interrupted")


def test_without_tools_nothing_listens_and_the_agent_gets_no_server(kernels: Kernels, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=tmp_path, record=tape) as session:  # a script: off by default
        assert "the tools are off" in session.prompt("/data").text
    (opened,) = [it.message for it in recording.load(tape) if it.message.get("method") == "session/new"]
    assert opened["params"]["mcpServers"] == []
    assert kernels.made == []


def test_tools_that_the_agent_does_not_use_are_not_created(session: acp.Session, kernels: Kernels) -> None:
    session.prompt("hello")
    assert session.transcript.kernel_tools is True and kernels.made == []
    session.prompt("/data")
    assert len(kernels.made) == 1


def test_an_agent_that_does_not_use_the_tools_costs_no_imports(tmp_path: Path) -> None:
    """In a process of its own, because the tests have imported everything."""
    script = (
        "import sys, acp_notebook as acp\n"
        "with acp.connect('demo', tools=True) as session:\n"
        "    session.prompt('hello')\n"
        "print(*sorted(it for it in sys.modules if 'kernel_tools.' in it or it.endswith('.session_service')))"
    )
    output = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    imported = {it.removeprefix("acp_notebook.") for it in output.split()}
    assert "agent.kernel_tools.listener" in imported
    assert not imported & {"agent.session_service", "agent.kernel_tools.service", "agent.kernel_tools.gate"}
    assert not {it for it in imported if it.startswith("notebook.")}


def switch(session: acp.Session, on: bool) -> None:
    session.tools.enabled = on
    assert session.tools.enabled is on


def titles(session: acp.Session) -> list[str]:
    return [it.title for it in session.transcript.items if isinstance(it, Notice)]


def test_switched_off_nothing_listens_and_each_call_is_told_so(
    session: acp.Session, kernels: Kernels, asked: list[Any]
) -> None:
    assert session.transcript.kernel_tools is True
    assert "df: DataFrame" in session.prompt("/data").text
    tools = session._conversation._tools
    assert tools is not None and isinstance(tools._listener, Listener)
    assert os.path.exists(tools._listener.path)
    switch(session, False)
    assert session.transcript.kernel_tools is False
    assert not os.path.exists(tools._listener.path)
    answer = session.prompt("/data").text
    assert "the user has switched the kernel's tools off for this session" in answer
    for ask in ("", "ask "):
        session.prompt(f"/kernel {ask}run_code {CODE}")
    assert asked == [] and kernels.runs == []

    switch(session, True)
    switch(session, True)  # which changes nothing
    assert session.transcript.kernel_tools is True and os.path.exists(tools._listener.path)
    assert "df: DataFrame" in session.prompt("/data").text  # over the same connection
    told_of = ["can look at your variables and this notebook", "can no longer use the kernel"]
    assert titles(session) == [*(f"demo {it}" for it in told_of), "demo can use the kernel again"]


def test_switching_off_ends_what_runs_and_the_turn_goes_on(session: acp.Session, kernels: Kernels) -> None:
    kernels.ends = None
    turn = session.start(f"/kernel run_code {CODE}")
    wait_until(lambda: bool(kernels.runs), "the code runs")
    switch(session, False)
    assert turn.wait(60).stop_reason == "end_turn"
    assert kernels.runs[0].interrupted


def test_an_agent_that_connects_later_finds_the_tools_where_it_was_told(session: acp.Session) -> None:
    """The demo agent starts its server when it first uses it."""
    switch(session, False)
    assert "the MCP server" in session.prompt("/data").text
    switch(session, True)
    assert "df: DataFrame" in session.prompt("/data").text


def test_an_agent_that_was_started_while_they_were_off_gets_them_with_the_next_opening(
    session: acp.Session,
) -> None:
    switch(session, False)
    assert session.agent.pid is not None
    os.kill(session.agent.pid, signal.SIGKILL)
    assert "the tools are off" in session.prompt("/data").text  # it was started again, without them
    switch(session, True)
    (notice,) = [it for it in session.transcript.items if isinstance(it, Notice) and "can use" in it.title]
    assert "when the session is opened again" in (notice.description or "")


def test_a_session_without_tools_has_no_switch(kernels: Kernels, tmp_path: Path) -> None:
    with acp.connect("demo", cwd=tmp_path, tools=False) as session:
        assert session.transcript.kernel_tools is None
        with pytest.raises(acp.UsageError, match="has no tools of the kernel"):
            session.tools.enabled = True
        session.tools.enabled = False  # which changes nothing
        assert not session.tools.enabled and repr(session.tools) == "<kernel tools: off>"


def test_only_true_and_false_switch_the_tools(session: acp.Session) -> None:
    wrong: Any = "no"
    with pytest.raises(acp.UsageError, match="True or False, not 'no'"):
        session.tools.enabled = wrong
    assert session.tools.enabled and repr(session.tools) == "<kernel tools: on>"


def test_a_closed_session_has_no_tools_and_gets_none(session: acp.Session) -> None:
    session.close()
    assert not session.tools.enabled
    with pytest.raises(acp.SessionClosed):
        session.tools.enabled = True


def test_the_token_is_in_no_recording(session: acp.Session, kernels: Kernels, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=tmp_path, tools=True, record=tape) as recorded:
        recorded.prompt("/data")
    text = tape.read_text()
    assert "ACP_KERNEL_TOKEN" in text
    assert re.search(r"ACP_KERNEL_TOKEN[^}]*\[redacted\]", text)


def test_hidden_variables_and_denied_tools_are_passed_on(kernels: Kernels, tmp_path: Path) -> None:
    limits = {"hide": ["secret_*"], "deny": ["run_code"]}
    with acp.connect("demo", cwd=tmp_path, tools=limits) as session:
        assert "there is no tool 'run_code'" in session.prompt(f"/kernel run_code {CODE}").text
        assert kernels.hidden == [("secret_*",)]


@pytest.mark.parametrize(
    "tools, why",
    [
        ("https", 'True, False, "http"'),
        ({"hidden": []}, "it may have http, hide, deny"),
        ({"deny": ["run_cod"]}, "did you mean 'run_code'"),
        ({"hide": "df"}, "hide is a list of names"),
    ],
)
def test_wrong_options_are_refused_with_what_may_be_written(tools: Any, why: str, tmp_path: Path) -> None:
    with pytest.raises(acp.UsageError, match=re.escape(why)):
        acp.connect("demo", cwd=tmp_path, tools=tools)


def test_a_cassette_shows_the_runs_and_runs_nothing(kernels: Kernels, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=tmp_path, tools=True, permissions="allow", record=tape) as session:
        for ask in ("", "ask "):
            assert runs(session.prompt(f"/kernel {ask}run_code {CODE}"))
    made = len(kernels.made)
    with acp.connect(cassette=tape, permissions="allow") as replayed:
        for ask in ("", "ask "):
            turn = replayed.prompt(f"/kernel {ask}run_code {CODE}")
            (run,) = runs(turn)
            assert (run.status, run.code) == ("ok", "print('hello')")
            assert run.outputs == (RunStream("stdout", "hello\n"),)
            (call,) = turn.tool_calls
            assert (call.title, call.kind) == ("Greet", "execute")
    assert len(kernels.made) == made


def test_a_question_of_ours_shows_the_code(session: acp.Session, kernels: Kernels) -> None:
    turn = session.prompt(f"/kernel run_code {CODE}")
    (question,) = [it for it in session.transcript.items if isinstance(it, Question)]
    assert [it.type for it in question.actions] == ["mcp", "run_code"]
    assert turn.runs[0].code == "print('hello')"


# ---- the notebook -------------------------------------------------------------------------------

EDIT = json.dumps({"edits": [{"op": "replace", "cell": "first", "source": "evil()"}]})


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The notebook that the kernel was started for."""
    path = tmp_path / "book.ipynb"
    cell = {"cell_type": "code", "id": "first", "metadata": {}, "source": "x = 1", "outputs": []}
    cells = [cell | {"execution_count": None}]
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    monkeypatch.setenv("JPY_SESSION_NAME", str(path))
    return path


def source_of(book: Path) -> str:
    return "".join(json.loads(book.read_text())["cells"][0]["source"])


def test_an_edit_is_asked_about_with_what_it_changes(kernels: Kernels, book: Path) -> None:
    requests: list[PermissionRequest] = []

    def policy(request: PermissionRequest) -> str:
        requests.append(request)
        return "allow"

    with acp.connect("demo", cwd=book.parent, tools=True, permissions=policy) as session:
        session.prompt(f"/kernel ask edit_notebook {EDIT}")
    (request,) = requests
    assert request.mcp is not None and (request.mcp.server, request.mcp.tool) == ("kernel", "edit_notebook")
    assert request.paths == (str(book.resolve()),) and "evil()" in (request.content or "")
    assert source_of(book) == "evil()"


@pytest.mark.parametrize("ask", ["", "ask "])
def test_a_rule_against_edits_of_the_notebook_counts(
    kernels: Kernels,
    book: Path,
    ask: str,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = tmp_path_factory.mktemp("config")
    rule = '[[permissions.rules]]\nsay = "reject"\nserver = "kernel"\ntool = "edit_notebook"\n'
    (config / "config.toml").write_text(rule)
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(config))
    with acp.connect("demo", cwd=book.parent, tools=True, permissions="allow") as session:
        turn = session.prompt(f"/kernel {ask}edit_notebook {EDIT}")
    assert "a rule of your file" in turn.text and source_of(book) == "x = 1"


@pytest.mark.parametrize("ask", ["", "ask "])
@pytest.mark.parametrize(
    "policy, changed",
    [
        ({"edit": "allow"}, True),
        ({"edit": "reject", "other": "allow"}, False),
        ({"execute": "allow", "other": "allow"}, False),
    ],
    ids=str,
)
def test_an_edit_is_judged_as_an_edit_whatever_the_agent_calls_it(
    kernels: Kernels, book: Path, policy: Any, changed: bool, ask: str
) -> None:
    with acp.connect("demo", cwd=book.parent, tools=True, permissions=policy) as session:
        session.prompt(f"/kernel {ask}edit_notebook {EDIT}")
    assert source_of(book) == ("evil()" if changed else "x = 1")


@pytest.mark.parametrize("ask", ["", "ask "])
def test_a_replayed_edit_is_a_change_of_the_agents(
    kernels: Kernels, book: Path, ask: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The agent asked for it over MCP, which a recording does not contain."""
    tape = tmp_path_factory.mktemp("recordings") / "tape.jsonl"
    prompt = f"/kernel {ask}edit_notebook {EDIT}"
    with acp.connect("demo", cwd=book.parent, tools=True, permissions="allow", record=tape) as session:
        (live,) = session.prompt(prompt).changes
    with acp.connect(cassette=tape, permissions="allow") as replayed:
        turn = replayed.prompt(prompt)
        (change,) = turn.changes
        assert not turn.also_changed
        assert (Path(change.path).name, change.action, change.via) == ("book.ipynb", "modified", "client")
        assert (change.via, change.before, change.after) == (live.via, live.before, live.after)
        assert change.allowed_by == ("policy" if ask else None)  # only the agent's own question is replayed
        assert source_of(Path(change.path)) == "evil()"
        turn.revert()
        assert source_of(Path(change.path)) == "x = 1"


# ---- names, and who else has them ---------------------------------------------------------------


def test_a_server_of_the_users_that_is_called_kernel_is_not_taken_for_ours(
    kernels: Kernels, tmp_path: Path
) -> None:
    tape = tmp_path / "tape.jsonl"
    other = {"name": "kernel", "command": "true"}
    with acp.connect("demo", cwd=tmp_path, tools=True, mcp_servers=[other], record=tape):
        pass
    (opened,) = [it.message for it in recording.load(tape) if it.message.get("method") == "session/new"]
    names = [it["name"] for it in opened["params"]["mcpServers"]]
    assert names[0] == "kernel" and re.fullmatch("kernel_[0-9a-f]{6}", names[1])


def test_the_server_has_a_name_that_no_other_server_can_have_in_all_sessions_of_a_kernel(
    kernels: Kernels, tmp_path: Path
) -> None:
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=tmp_path, tools=True, record=tape) as session:
        session.agent.new_session()
        (call,) = session.prompt("/data").tool_calls
    names = [it["params"]["mcpServers"][0]["name"] for it in opened_with(tape, "session/new")]
    assert len(names) == 2 and len(set(names)) == 1 and re.fullmatch("kernel_[0-9a-f]{6}", names[0])
    assert call.name == "mcp__kernel__list_variables"  # the random part is not for people


# ---- secrets ------------------------------------------------------------------------------------


def test_secrets_are_in_no_result_and_on_no_card(kernels: Kernels, tmp_path: Path) -> None:
    secret = "sk-d41d8cd98f00b204e980"
    key = {"MY_API_KEY": secret}
    kernels.first_cell = f"key = {secret!r}"
    with acp.connect("demo", cwd=tmp_path, tools=True, permissions="allow", env=key) as session:
        cells = session.prompt('/kernel run_cells {"cells": ["aaaa1111"]}')
        given = json.dumps({"code": f"key = {secret!r}", "purpose": secret})
        asked = session.prompt(f"/kernel ask run_code {given}")
        notebook = session.prompt("/kernel read_notebook")
        assert runs(cells) and runs(asked) and "aaaa1111" in notebook.text
        assert len(kernels.runs) == 2
        kept = repr(session.transcript) + repr(session.audit) + repr(cells.runs) + repr(asked.text)
        assert secret not in kept and "[redacted]" in kept


# ---- when nothing may listen --------------------------------------------------------------------


def listening() -> set[str]:
    """The sockets and ports that this process listens on."""
    links = [os.path.join("/proc/self/fd", it) for it in os.listdir("/proc/self/fd")]
    own = {os.readlink(it) for it in links if os.path.islink(it)}
    inodes = {it.removeprefix("socket:[").rstrip("]") for it in own if it.startswith("socket:[")}
    unix = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    tcp = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    paths = {it[7] for it in unix if len(it) > 7 and it[6] in inodes and it[3] == "00010000"}
    return paths | {it[1] for it in tcp if it[9] in inodes and it[3] == "0A"}


@pytest.mark.skipif(not Path("/proc/net/unix").exists(), reason="reads /proc")
@pytest.mark.parametrize("tools, count", [(False, 0), (True, 1), ("http", 1)])
def test_what_listens_is_what_was_asked_for_and_nothing_after_the_session(
    kernels: Kernels, tmp_path: Path, tools: Any, count: int
) -> None:
    before = listening()
    with acp.connect("demo", cwd=tmp_path, tools=tools) as session:
        session.prompt("/data")
        there = listening() - before
        assert len(there) == count and all(it.startswith("0100007F:") == (tools == "http") for it in there)
    assert listening() - before == set()


def test_a_session_that_is_closed_while_it_opens_leaves_nothing_that_listens(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listener comes up when its session is closed already."""
    made: list[Listener] = []
    start = Listener.start

    async def slow(listener: Listener) -> None:
        made.append(listener)
        await start(listener)
        tools[0].close()

    tools: list[session_tools.SessionTools] = []
    make = session_tools.SessionTools.__init__

    def kept(self: session_tools.SessionTools, *args: Any) -> None:
        make(self, *args)
        tools.append(self)

    monkeypatch.setattr(session_tools.SessionTools, "__init__", kept)
    monkeypatch.setattr(Listener, "start", slow)
    with acp.connect("demo", cwd=tmp_path, tools=True) as session:
        assert "the tools are off" in session.prompt("/data").text
        assert not os.path.exists(made[0].path)


def quirk(monkeypatch: pytest.MonkeyPatch, **given: Any) -> None:
    """Have the demo agent count as one that needs this."""
    reason = Entry("demo", Quirks(**given), "for this test")
    monkeypatch.setattr(quirks, "TABLE", (*quirks.TABLE, reason))


def opened_with(tape: Path, *methods: str) -> list[Any]:
    """The requests of these methods, in order."""
    messages = [it.message for it in recording.load(tape)]
    return [it for it in messages if it.get("method") in methods]


def test_sessions_of_an_agent_that_keeps_servers_by_name_share_one(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quirk(monkeypatch, servers_by_name=True)
    tape = tmp_path / "tape.jsonl"
    no_code: Any = {"execute": "reject"}
    with acp.connect("demo", cwd=tmp_path, tools=True, permissions=no_code, record=tape) as first:
        second = first.agent.new_session(permissions="allow")
        assert "hello" in second.prompt(f"/kernel run_code {CODE}").text
        assert "Not done" in first.prompt(f"/kernel run_code {CODE}").text
        second.close()
        assert "df: DataFrame" in first.prompt("/data").text
    servers = [it["params"]["mcpServers"] for it in opened_with(tape, "session/new")]
    assert servers[0] == servers[1] and servers[0][0]["name"].startswith("kernel_")
    assert [len(it.runs) for it in kernels.made] == [0, 1]


def test_an_agent_that_shows_the_titles_of_servers_gets_some_that_no_other_server_can_guess(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[Any]
) -> None:
    quirk(monkeypatch, mcp_in_title=True, mcp_title_by_server=True)
    tape = tmp_path / "tape.jsonl"
    with acp.connect("demo", cwd=tmp_path, tools=True, record=tape) as first:
        second = first.agent.new_session()
        tools = [it._conversation._tools for it in (first, second)]
        titles = [it.tools.listed()[0]["title"] for it in tools if it is not None]
    names = [it["params"]["mcpServers"][0]["name"] for it in opened_with(tape, "session/new")]
    assert titles == [f"{name}-list_variables" for name in names] and len(names) == 2
    assert all(re.fullmatch("kernel_[0-9a-f]{6}", it) for it in names)


def test_a_fork_that_lacks_its_servers_is_closed_and_resumed(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quirk(monkeypatch, forks_lack_servers=True)
    tape, env = tmp_path / "tape.jsonl", {"ACP_DEMO_HOME": str(tmp_path / "kept")}
    with acp.connect("demo", cwd=tmp_path, env=env, tools=True, record=tape) as session:
        session.prompt("hello")
        fork = session.fork()
        assert "df: DataFrame" in fork.prompt("/data").text
    again = opened_with(tape, "session/fork", "session/close", "session/resume")
    assert [it["method"] for it in again[:3]] == ["session/fork", "session/close", "session/resume"]
    assert {it["params"]["sessionId"] for it in again[1:3]} == {fork.id}
    with acp.connect("demo", cwd=tmp_path, env=env, tools=False, record=tmp_path / "plain.jsonl") as session:
        session.prompt("hello")
        session.fork()
    assert opened_with(tmp_path / "plain.jsonl", "session/resume") == []
