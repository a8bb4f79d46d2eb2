"""The user's settings: read whole, or an error with its place; not used if others could write them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acp_notebook as acp
from acp_notebook.core.actions import Command
from acp_notebook.core.rules import Rule
from acp_notebook.setup.config import own_settings, parse

GOOD = """
[defaults]
agent = "mine"

[agents.mine]
command = "my-agent"
args = ["--acp"]
env = { KEY = "${MY_KEY}" }
cwd = "~/work"
mcp_servers = ["files"]

[agents.local]
command = ["./bin/agent", "--acp"]

[agents.packaged]
npx = "@me/agent@1.2.3"
args = ["--acp"]

[mcp_servers.files]
command = "files-mcp"
always = true

[mcp_servers.web]
url = "https://x.example/mcp"
headers = { Authorization = "Bearer sk-secret" }

[permissions]
default = "ask"
[permissions.kinds]
read = "allow"
[[permissions.rules]]
say = "reject"
path = "~/.ssh"
[[permissions.rules]]
say = "allow"
kind = "execute"
command = "pytest -q"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "config").mkdir(mode=0o700)
    return tmp_path / "config"


def write(folder: Path, text: str) -> Path:
    file = folder / "config.toml"
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_a_complete_file_is_read(folder: Path, tmp_path: Path) -> None:
    write(folder, GOOD)
    settings = own_settings()
    home = os.path.realpath(tmp_path / "home")
    mine = settings.agents["mine"]
    assert settings.agent == "mine"
    assert (mine.command, mine.cwd, mine.mcp_servers) == (("my-agent", "--acp"), f"{home}/work", ("files",))
    assert settings.agents["local"].command == (f"{folder}/bin/agent", "--acp"), "from the file's folder"
    assert settings.agents["packaged"].npx == "@me/agent@1.2.3"
    assert settings.agents["packaged"].command == ("agent", "--acp")
    assert settings.always == ("files",) and settings.servers["web"].type == "http"
    assert settings.rules.rules == (
        Rule(say="reject", path=f"{home}/.ssh"),
        Rule(say="allow", kind="execute", command="pytest -q"),
    )
    assert "sk-secret" not in repr(settings) and "MY_KEY" not in repr(settings)


def test_the_documented_example_is_valid(folder: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/settings.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    write(folder, example)
    assert set(own_settings().agents) == {"mine", "packaged", "build"}


def test_without_a_file_there_are_no_settings(folder: Path) -> None:
    assert not own_settings().agents and not own_settings().rules


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("x = 1\n= 2\n", "line 2", "not valid TOML"),
        ("\n\n[agentz.x]\ncommand = 'x'", "line 3, agentz", "did you mean 'agents'"),
        ("agents = 7", "line 1, agents", "is a table"),
        ("[agents.x]\ncomand = 'x'", "line 2, agents.x.comand", "did you mean 'command'"),
        ("[agents.x]\nenv = {}", "line 1, agents.x", "needs a command"),
        ("[agents.x]\ncommand = 7", "line 2, agents.x.command", "list of texts"),
        ("[agents.x]\ncommand = ''", "line 2, agents.x.command", "command is a program"),
        ("[agents.x]\nnpx = '--call=evil'", "line 2, agents.x.npx", "not a package for npx"),
        ("[agents.x]\nnpx = 'git+ssh://x'", "line 2, agents.x.npx", "not a package"),
        ("[agents.x]\nuvx = '../here'", "line 2, agents.x.uvx", "not a package for uvx"),
        ("[agents.demo]\ncommand = 'x'", "line 1, agents.demo", "the name of another agent"),
        ("[agents.'a b']\ncommand = 'x'", "agents.a b", "not a name for an agent"),
        ("[agents.x]\ncommand = 'x'\nenv = { K = 7 }", "agents.x.env.K", "must be a text"),
        ("[agents.x]\ncommand = 'x'\nmcp_servers = ['y']", "line 3", "no server is called 'y'"),
        ("[agents.x]\ncommand = 'x'\ncwd = 7", "line 3, agents.x.cwd", "a folder"),
        ("[mcp_servers.x]\nurl = 'ftp://x'", "line 1, mcp_servers.x", "not an http or https address"),
        ("[mcp_servers.x]\ncommand = 'x'\nalways = 'yes'", "line 3", "true or false"),
        ("[mcp_servers.x]\ncommand = 'x'\nname = 'y'", "line 3", "an MCP server has no 'name'"),
        ("[permissions]\ndefault = 'alow'", "line 2, permissions.default", "none of"),
        ("[permissions.kinds]\nedits = 'ask'", "line 2, permissions.kinds.edits", "did you mean 'edit'"),
        ("[[permissions.rules]]\nkind = 'edit'", "line 1, permissions.rules", "needs a word"),
        ("[[permissions.rules]]\nsay = 'allow'", "permissions.rules", "or an MCP server"),
        ("[[permissions.rules]]\nsay='allow'\ntool='q'", "line 3", "a tool is one of an MCP server"),
        ("[[permissions.rules]]\nsay='allow'\nserver='s'\ntool='q*'", "line 4", "named exactly"),
        ("[[permissions.rules]]\nsay='reject'\nserver='s*'", "line 3", "not a wildcard in server"),
        ("[[permissions.rules]]\nsay='ask'\nserver='s'\ncommand='ls'", "line 3", "not both"),
        ("[[permissions.rules]]\nsay = 'allow'\npath = '~'", "permissions.rules", "names the kind"),
        ("[[permissions.rules]]\nsay='allow'\nkind='edit'\npath='/'", "line 4", "whole machine"),
        ("[[permissions.rules]]\nsay='allow'\nkind='edit'\ncommand='x'", "line 3", "goes with kind"),
        ("[[permissions.rules]]\nsay='allow'\ncommand='pytest *'", "line 3", "a rule for each line"),
        ("[[permissions.rules]]\nsay='allow'\ncommand='*'", "permissions.rules.command", "written \\[\\*\\]"),
        ("[[permissions.rules]]\nsay='allow'\ncommand='ls [*].py *'", "line 3", "the exact line"),
        ("[[permissions.rules]]\nsay='reject'\npath='**/.env'", "line 3", "not a wildcard in path: it is"),
        (
            "[[permissions.rules]]\nsay='ask'\nkind='edit'\nagent='*'",
            "line 4",
            "left out, the rule is for all",
        ),
        ("[permissions]\nrules = 7", "line 2, permissions.rules", "list of tables"),
        ("[defaults]\nagent = 7", "line 2, defaults.agent", "is a name"),
        ("[defaults]\nagnt = 'x'", "line 2, defaults.agnt", "did you mean 'agent'"),
    ],
)
def test_an_error_is_reported_with_its_place(folder: Path, text: str, where: str, what: str) -> None:
    file = write(folder, text)
    with pytest.raises(acp.UsageError, match=what) as caught:
        own_settings()
    said = str(caught.value)
    assert said.startswith(str(file)) and where in said


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda it: it.encode("utf-8", "replace")))
def test_any_file_is_read_or_a_usage_error(data: bytes) -> None:
    with contextlib.suppress(acp.UsageError):
        parse(data, "/x/config.toml")


def test_a_file_that_others_can_write_is_not_trusted(folder: Path) -> None:
    write(folder, GOOD).chmod(0o666)
    with pytest.raises(acp.UsageError, match="can be written by others"):
        own_settings()


def test_a_broken_file_is_reported_whatever_is_started(folder: Path, tmp_path: Path) -> None:
    write(folder, "[agents")
    with pytest.raises(acp.UsageError, match=r"config\.toml is not valid TOML"):
        acp.connect("gemini")
    with acp.connect("demo", cwd=tmp_path) as session:
        assert "Your settings are not used" in session.to_text() and "config.toml" in session.to_text()
    for text in (repr(acp.agents()), acp.agents()._repr_html_()):
        assert "Your settings are not used" in text


def test_a_users_agent_starts_by_its_name_with_its_variables(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    agent = Path(__file__).parents[1] / "agents/telling.py"
    write(
        folder,
        f"[defaults]\nagent = 'mine'\n[agents.mine]\ncommand = [{sys.executable!r}, {str(agent)!r}]\n"
        f"cwd = {str(work)!r}\nenv = {{ MY_TOKEN = 'is ${{SOURCE}}' }}\n",
    )
    with pytest.raises(acp.UsageError, match="the agent mine wants the environment variable SOURCE"):
        acp.connect("mine")
    monkeypatch.setenv("SOURCE", "here")
    recorded = tmp_path / "recorded.jsonl"
    for name in ("mine", None):
        with acp.connect(name, record=recorded) as session:
            assert session.agent.name == "mine" and session.cwd == str(work)
            assert session.prompt("backwards env MY_TOKEN").text == "is here"[::-1]
            assert session.prompt("env MY_TOKEN").text == "[redacted]"
        assert "is here" not in recorded.read_text()
    assert "mine" in acp.agents()
    with pytest.raises(acp.AgentNotFound, match="Did you mean 'mine'"):
        acp.connect("mien")


@pytest.mark.parametrize(
    ("rule", "line", "word"),
    [
        ("say='allow'\ncommand='ls [*].py'", "ls *.py", "allow"),
        ("say='allow'\ncommand='ls [*].py'", "ls a.py", None),
        ("say='allow'\ncommand='ls [*].py'", "ls [*].py", None),
        ("say='reject'\ncommand='git push *'", "git push --force", "reject"),
        ("say='reject'\ncommand='ls [*].py'", "ls *.py", "reject"),
    ],
)
def test_a_star_is_a_wildcard_to_reject_and_literal_to_allow(
    folder: Path, rule: str, line: str, word: str | None
) -> None:
    write(folder, f"[[permissions.rules]]\n{rule}\n")
    act = Command(line, "/home/me")
    assert own_settings().rules.word("demo", "execute", [act]) == word


def test_rules_of_the_file_decide_if_the_policy_says_ask(folder: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "secret").mkdir(parents=True)
    (project / "secret/x.txt").write_text("secret")
    write(
        folder,
        f"[[permissions.rules]]\nsay = 'allow'\nkind = 'edit'\npath = {str(project)!r}\n"
        f"[[permissions.rules]]\nsay = 'reject'\npath = {str(project / 'secret')!r}\n",
    )

    def ask(session: acp.Session, method: str, name: str, **params: str) -> str:
        given = json.dumps({"path": str(project / name), **params})
        return session.prompt(f"/client {method} {given}", timeout=60).text

    with acp.connect("demo", cwd=project) as session:
        assert "error" not in ask(session, "fs/write_text_file", "a.txt", content="hi")
        said = ask(session, "fs/write_text_file", "secret/b.txt", content="hi")
        assert "a rule of your file" in said
        assert "a rule of your file rejects it" in ask(session, "fs/read_text_file", "secret/x.txt")
        assert "hi" in ask(session, "fs/read_text_file", "a.txt")
        by = [it.reason for it in session.audit if it.what == "decision"]
        assert by == ["a rule of your file", "a rule of your file"]
    with acp.connect("demo", cwd=project, permissions="allow") as session:
        assert "error" in ask(session, "fs/write_text_file", "secret/b.txt", content="hi")
    assert (project / "a.txt").read_text() == "hi" and not (project / "secret/b.txt").exists()
