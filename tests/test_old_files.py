"""Files that an earlier version saved still load completely: data/saved_by_fcba11b/README.md."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import acp_notebook as acp
from acp_notebook.agent.permissions.consent_store import ConsentStore
from acp_notebook.core.actions import Command, Write
from acp_notebook.core.snapshot import (
    Changes,
    Elicitation,
    Message,
    Plan,
    Question,
    TerminalRun,
    ToolCall,
    TurnStart,
)
from acp_notebook.setup.config import imported_agents, in_force, own_settings
from tests.patience import be_patient

SAVED = Path(__file__).parent / "data" / "saved_by_fcba11b"
PLACE = "/saved"
"""The placeholder in the files for the folder that they were saved in."""

LIMIT_S = 60.0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the user's files and a project, as they were saved."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    be_patient()
    (tmp_path / "config").mkdir(mode=0o700)
    for path in (*SAVED.glob("*.json"), *SAVED.glob("*.toml"), *SAVED.glob("*.jsonl")):
        (tmp_path / "config" / path.name).write_text(path.read_text().replace(PLACE, str(tmp_path)))
    project = tmp_path / "work" / "project"
    project.mkdir(parents=True)
    shutil.copy(SAVED / "project" / "acp_notebook.toml", project / ".acp_notebook.toml")
    return tmp_path


# ---- settings ---------------------------------------------------------------------------------------


def test_every_key_of_the_settings_is_read(home: Path) -> None:
    settings = own_settings()
    assert settings.agent == "mine"
    mine = settings.agents["mine"]
    assert mine.command == ("my-agent", "--quiet", "--acp")
    assert mine.env == {"API_KEY": "${MY_KEY}", "LEVEL": "2"}
    assert (mine.cwd, mine.mcp_servers) == (str(home / "home/work"), ("files",))
    assert (settings.agents["packaged"].npx, settings.agents["snake"].uvx) == (
        "@someone/agent@1.2.3",
        "snake-agent==0.4",
    )
    files, web, old = (settings.servers[name] for name in ("files", "web", "old"))
    assert (files.command, files.args, files.env) == ("files-mcp", ("--root", "."), {"ROOT": "${HOME}"})
    assert (web.type, web.url) == ("http", "https://example.org/mcp")
    assert web.headers == {"Authorization": "Bearer ${WEB_TOKEN}"}
    assert (old.type, old.url) == ("sse", "https://example.org/sse")
    assert settings.always == ("files",)


def test_the_permission_rules_are_read(home: Path) -> None:
    rules = own_settings().rules
    assert (rules.default, rules.kinds) == ("ask", {"fetch": "reject", "read": "allow"})
    ssh, ls, push = rules.rules
    assert (ssh.say, ssh.path) == ("reject", str(home / "home/.ssh"))
    assert (ls.say, ls.kind, ls.command, ls.agent) == ("allow", "execute", "ls *.py", "mine")
    assert (push.say, push.command) == ("ask", "git push*")


def test_imported_agents_still_exist(home: Path) -> None:
    assert list(imported_agents()) == ["pi-acp", "nova-uv", "amp-acp"]
    listed = acp.agents()
    assert all(name in listed for name in ("mine", "pi-acp", "nova-uv"))


def test_a_trusted_project_and_an_allowed_package_stay_trusted(home: Path) -> None:
    project = home / "work" / "project"
    assert acp.trust(project, preview=True).trusted
    active = in_force(str(project), own_settings(), True)
    assert active.notices == ()
    assert active.agents["ours"].env == {"MODE": "careful"}
    assert "docs" in active.servers and "docs" in active.always
    assert ConsentStore().packages() == ["npx pi-acp@0.0.33"]


# ---- grants -----------------------------------------------------------------------------------------


def test_grants_still_allow_the_same(home: Path) -> None:
    granted = acp.permissions()
    assert granted.warning is None
    assert [(it.kind, it.scope) for it in granted] == [
        ("edit", "workspace"),
        ("read", "always"),
        ("delete", "workspace"),
        ("execute", "workspace"),
        ("edit", "workspace"),
        ("execute", "workspace"),
        ("execute", "workspace"),
        ("execute", "workspace"),
    ]
    project, store = str(home / "work" / "project"), granted._store
    path = f"{project}/report.py"
    edit = Write(path)
    assert store.find("demo", project, edit) is not None
    assert store.find("demo", str(home), edit) is None and store.find("other", project, edit) is None
    tests = Command("pytest -q", project)
    assert store.find("demo", project, tests) == granted[[it.id for it in granted][3]]


def test_an_old_grant_can_be_revoked_and_a_new_one_added(home: Path) -> None:
    granted = acp.permissions()
    first = next(iter(granted))
    granted.revoke(first)
    granted.add(kind="edit", agent="demo", workspace=home)
    assert first not in granted and len(acp.permissions()) == 8


# ---- a recording ------------------------------------------------------------------------------------


PROMPTS = (
    "hello",
    "/edit notes.txt one",
    "/run echo out; echo err >&2; exit 3",
    r"/sh printf 'a\0b' > data.bin; rm gone.txt; mv old.txt new.txt; mkdir hollow; chmod 750 notes.txt; "
    "ln -s notes.txt link",
    "/ask",
    "/read notes.txt",
    "/form choice",
    "/serve sleep 30",
    "/write notes.txt two",
)


def _rows(changes: acp.Changes) -> list[tuple[str, str]]:
    return sorted((it.action, Path(it.path).name) for it in changes)


def test_a_recording_replays_with_its_files_terminals_and_answers(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home / "nothing"))  # no command is run
    with acp.connect(cassette=SAVED / "cassette.jsonl") as session:
        turns = [session.prompt(prompt, timeout=LIMIT_S) for prompt in PROMPTS]
        assert {turn.status for turn in turns} == {"done"}
        edited = [_rows(turn.changes) for turn in (turns[1], turns[8])]
        by_command = _rows(turns[3].also_changed)
        folder = Path(session.cwd)
        assert (folder / "notes.txt").read_text() == "two\n"
        assert (folder / "notes.txt").stat().st_mode & 0o777 == 0o750
        assert (folder / "data.bin").read_bytes() == b"a\0b"
        assert os.readlink(folder / "link") == "notes.txt" and (folder / "hollow").is_dir()
        assert (folder / "new.txt").read_text() == "to be moved\n" * 5
        assert not (folder / "gone.txt").exists()
        items = session.transcript.items
    assert edited == [[("modified", "notes.txt")]] * 2
    assert by_command == [
        ("created", "data.bin"),
        ("created", "link"),
        ("deleted", "gone.txt"),
        ("mode", "notes.txt"),
        ("moved", "new.txt"),
    ]
    terminals = [(it.exit_code, it.output) for it in items if isinstance(it, TerminalRun)]
    assert terminals[:2] == [(3, "out\nerr\n"), (0, "")]
    questions = [it for it in items if isinstance(it, Question)]
    assert [it.by for it in questions] == ["user"] * 6
    assert questions[3].answer == "no" and questions[0].reason == "Always allow edits in recorded"
    assert turns[4].text == "You answered reject_once." and turns[5].text == '{"content": "one\\n"}'


# ---- an audit ---------------------------------------------------------------------------------------


def test_an_audit_file_continues_with_the_same_fields(home: Path) -> None:
    path = home / "config" / "audit.jsonl"
    before = _entries(path)
    with acp.connect("demo", cwd=home, mcp_servers=None, permissions="allow", audit=path) as session:
        session.prompt("/run echo out; echo err >&2; exit 3", timeout=LIMIT_S)
    entries = _entries(path)
    assert entries[: len(before)] == before
    recorded = [it for it in before if it["turn"] == "t3"]
    for old, new in zip(recorded, entries[len(before) :], strict=True):
        assert old.keys() == new.keys()
        assert all(old[name] == new[name] for name in ("what", "kind", "outcome", "session"))
        assert new["target"] in old["target"]
        assert old["detail"].keys() <= new["detail"].keys()


def _entries(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# ---- a notebook -------------------------------------------------------------------------------------


def test_a_notebook_saved_with_a_live_panel_loads_completely() -> None:
    items = acp.load_transcript(SAVED / "live_panel.ipynb").items
    work = ["/refactor", "/refactor", "/run echo one; echo two >&2; exit 3", "/form choice", "/die 3"]
    prompts = [it.text for it in items if isinstance(it, TurnStart)]
    assert prompts == ["hello from the panel", "/ask", "/tour", *work, "/ask", *work]  # the panel; each turn
    turns = [it for it in items if isinstance(it, TurnStart)]
    assert turns[0].status == "done" and turns[-1].status == "failed"
    assert turns[-1].error is not None and "exited with code 3" in turns[-1].error
    assert {it.role for it in items if isinstance(it, Message)} == {"agent", "thought"}
    assert [it.by for it in items if isinstance(it, Question)][:2] == ["user", "user"]
    terminal = next(it for it in items if isinstance(it, TerminalRun))
    assert (terminal.output, terminal.exit_code, terminal.status) == ("one\ntwo\n", 3, "exited")
    changes = [it for it in items if isinstance(it, Changes)]
    assert {file.action for it in changes for file in it.files} == {"created", "deleted", "modified", "moved"}
    form = next(it for it in items if isinstance(it, Elicitation))
    assert form.status == "declined" and [it.name for it in form.fields] == ["colour", "other"]
    kinds = {it.kind for it in items if isinstance(it, ToolCall)}
    assert {"read", "search", "edit", "execute", "move", "other"} <= kinds
    assert [entry.status for entry in next(it for it in items if isinstance(it, Plan)).entries] == [
        "completed"
    ] * 3
