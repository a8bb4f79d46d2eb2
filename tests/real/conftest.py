"""Fixtures for installed agents: each with its own home and a new repository.

`dev.py test --agents` installs them. Without them these tests are skipped, with ACP_TEST_REQUIRE_AGENTS=1
they fail. Every connection is recorded, and all that we sent is validated against the official schema.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

import acp_notebook as acp
from acp_notebook.agent.recordings import recording
from tests.agents import mock_model
from tests.agents.mock_model import use
from tests.compat import models
from tests.patience import be_patient
from tests.schema import validate_all

ROOT = Path(__file__).parents[2]
SDK = Path("@agentclientprotocol", "sdk", "dist", "acp.js")
EXAMPLE = SDK.parent / "examples" / "agent.js"
EXTENDING = ROOT / "tests" / "agents" / "extending.mjs"

COMMAND_LIMIT_MS = 600_000
"""claude-code-acp needs a timeout for each command: longer than any test."""

KIMI_NODE = (22, 19)
"""The Node version that its package requires; it does not start with an older one."""

QWEN_NODE = (22, 0)


@dataclass(frozen=True)
class Tools:
    """An agent's own tools for files and commands: their names, and those of their arguments."""

    write: str = "Write"
    read: str = "Read"
    edit: str = "Edit"
    run: str = "Bash"
    path: str = "path"
    old_new: tuple[str, str] = ("old_string", "new_string")
    of_edit: dict[str, Any] = field(default_factory=dict)
    """Further required arguments of an edit."""
    of_run: dict[str, Any] = field(default_factory=lambda: {"description": "Run it"})


CLAUDE_TOOLS = Tools(path="file_path", of_run={"description": "Run it", "timeout": COMMAND_LIMIT_MS})

GEMINI_TOOLS = Tools(
    *("write_file", "read_file", "replace", "run_shell_command", "file_path"),
    of_edit={"instruction": "Change it"},
)

GOOSE_TOOLS = Tools("write", "read", "edit", "shell", old_new=("before", "after"), of_run={})


def claude_env(url: str, folder: Path) -> models.Env:
    return models.claude(url, folder) | {"MAX_THINKING_TOKENS": "1024"}


@dataclass(frozen=True)
class Installed:
    """How an agent that `dev.py` has installed is started. `big`: a download for --full only."""

    command: tuple[str, ...]
    setup: models.Setup
    node: tuple[int, int] = (20, 0)
    big: bool = False
    folder: str = ".bin"
    """A pattern; the last match counts."""


_OPENCODE = "opencode-*/bin"
"""npm runs no scripts here, and it is one that makes its `.bin`; "…-baseline" runs on every processor."""

AGENTS = {
    "claude": Installed(("claude-code-acp",), claude_env),
    "claude_agent": Installed(("claude-agent-acp",), claude_env),
    "kimi": Installed(("kimi", "acp"), models.kimi, node=KIMI_NODE),
    "gemini": Installed(("gemini", "--acp"), models.gemini_cli),
    "goose": Installed(("goose", "acp"), models.goose, big=True),
    "qwen": Installed(("qwen", "--acp"), models.qwen, node=QWEN_NODE, big=True),
    "codex": Installed(("codex-acp",), models.codex, big=True),
    "codex_scripts": Installed(("codex-acp",), models.codex_scripts, big=True),
    "opencode": Installed(("opencode", "acp"), models.opencode("opencode"), big=True, folder=_OPENCODE),
}


def installed(name: str, model: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command and the whole environment of an agent, with a home in that folder; skips without it."""
    agent = AGENTS[name]
    program, *arguments = agent.command
    found = sorted(_modules().glob(f"{agent.folder}/{program}")) or [Path(program)]
    path = _module(found[-1], node=agent.node, big=agent.big)
    return [str(path), *arguments], _env(folder, agent.setup, model)


class Starter:
    """Connects to one agent, as often as a test wants; everything is closed and checked after the test."""

    def __init__(
        self, command: list[str], env: dict[str, str], folder: Path, tools: Tools | None = None
    ) -> None:
        self.tools = tools or Tools()
        self.cwd = folder / "repository"
        self._command = command
        self._env = env
        self._folder = folder
        self._opened: list[acp.Session] = []
        self.recordings: list[Path] = []
        subprocess.run(["git", "init", "--quiet", str(self.cwd)], check=True)

    def __call__(
        self,
        permissions: Any = "allow",
        inherit_env: list[str] | bool = False,
        elicitation: Any = "decline",
        tools: Any = None,
        **more: Any,
    ) -> acp.Session:
        self.recordings.append(self._folder / f"recording{len(self.recordings)}.jsonl")
        # The basics only: the tester's own keys, proxies and settings are not for the agent.
        session = acp.connect(
            self._command,
            cwd=self.cwd,
            env=self._env,
            inherit_env=inherit_env,
            permissions=permissions,
            elicitation=elicitation,
            record=self.recordings[-1],
            tools=tools,
            **more,
        )
        self._opened.append(session)
        return session

    def close(self) -> None:
        for session in self._opened:
            session.agent.close()

    # Steps of a script: what the model has the agent do.

    def write(self, path: Path, content: str) -> dict[str, Any]:
        return use(self.tools.write, {self.tools.path: str(path), "content": content})

    def read(self, path: Path) -> dict[str, Any]:
        return use(self.tools.read, {self.tools.path: str(path)})

    def edit(self, path: Path, old: str, new: str) -> dict[str, Any]:
        fragments = dict(zip(self.tools.old_new, (old, new), strict=True))
        return use(self.tools.edit, {self.tools.path: str(path)} | fragments | self.tools.of_edit)

    def run(self, command: str) -> dict[str, Any]:
        return use(self.tools.run, {"command": command} | self.tools.of_run)

    def sent(self) -> list[str]:
        """The methods that we called and answered, after validating all messages."""
        return [it for path in self.recordings for it in validate_all(recording.load(path), "c2a")]


@pytest.fixture(autouse=True)
def patience() -> None:
    be_patient()


@pytest.fixture(autouse=True)
def own_grants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name for which the user has no grants."""
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "grants"))


@pytest.fixture(scope="session")
def model() -> Iterator[str]:
    with mock_model.serving() as url:
        yield url


@pytest.fixture
def claude(model: str, tmp_path: Path) -> Iterator[Starter]:
    """claude-code-acp, with our model behind it."""
    yield from _started(*claude_code(model, tmp_path), tmp_path, CLAUDE_TOOLS)


def claude_code(model: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command and the whole environment of claude-code-acp, with a home in that folder."""
    return installed("claude", model, folder)


@pytest.fixture
def claude_agent(model: str, tmp_path: Path) -> Iterator[Starter]:
    """claude-agent-acp, which reads, writes and runs commands without the client, with our model."""
    yield from _started(*installed("claude_agent", model, tmp_path), tmp_path, Tools(path="file_path"))


@pytest.fixture
def kimi(model: str, tmp_path: Path) -> Iterator[Starter]:
    """kimi-code, with our model behind it."""
    yield from _started(*installed("kimi", model, tmp_path), tmp_path)


@pytest.fixture
def gemini(model: str, tmp_path: Path) -> Iterator[Starter]:
    """gemini-cli, which runs commands without the client; with our model behind it."""
    yield from _started(*installed("gemini", model, tmp_path), tmp_path, GEMINI_TOOLS)


@pytest.fixture
def goose(model: str, tmp_path: Path) -> Iterator[Starter]:
    """goose, which asks about everything; with our model behind it."""
    yield from _started(*installed("goose", model, tmp_path), tmp_path, GOOSE_TOOLS)


@pytest.fixture
def codex(model: str, tmp_path: Path) -> Iterator[Starter]:
    """codex-acp, which reads, writes and runs commands without the client; with our model behind it."""
    yield from _started(*installed("codex", model, tmp_path), tmp_path)


@pytest.fixture(params=["claude", "kimi"])
def agent(request: pytest.FixtureRequest) -> Starter:
    """Each agent that uses our client methods, one after the other."""
    starter = request.getfixturevalue(request.param)
    assert isinstance(starter, Starter)
    return starter


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Starter]:
    """The TypeScript SDK's example agent: a canned turn, no model."""
    node = shutil.which("node", path=_path())
    assert node is not None, "_module has looked for it"
    yield from _started([node, str(_module(EXAMPLE))], _env(tmp_path), tmp_path)


@pytest.fixture
def extending(tmp_path: Path) -> Iterator[Starter]:
    """An agent with methods of its own, written with the TypeScript SDK: no model."""
    sdk = str(_module(SDK))
    node = shutil.which("node", path=_path())
    assert node is not None, "_module has looked for it"
    yield from _started([node, str(EXTENDING), sdk], _env(tmp_path), tmp_path)


def _started(
    command: list[str], env: dict[str, str], folder: Path, tools: Tools | None = None
) -> Iterator[Starter]:
    starter = Starter(command, env, folder, tools)
    try:
        yield starter
    finally:
        starter.close()
    assert "initialize" in starter.sent()


def _module(path: Path, *, node: tuple[int, int] = (20, 0), big: bool = False) -> Path:
    """A file of an installed agent; skips or fails if it is missing. `big`: only downloaded for --full."""
    folder = _modules()
    found = folder / path
    if not found.exists() and big:
        reason = f"{path.name} is a large download: `dev.py test --full --agents` installs it"
        _absent(reason, "ACP_TEST_REQUIRE_BIG_AGENTS")
    if not found.exists():
        _absent(f"{path} is not in {folder}")
    if _node_version() < node:
        _absent(f"no node {node[0]}.{node[1]} or newer on the PATH")
    return found


def _modules() -> Path:
    return Path(os.environ.get("ACP_TEST_AGENTS") or ROOT / ".cache" / "agents", "node_modules")


@cache
def _node_version() -> tuple[int, ...]:
    found = shutil.which("node", path=_path())
    if found is None:
        return ()
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in said.strip().removeprefix("v").split(".")[:2])


def _absent(reason: str, required: str = "ACP_TEST_REQUIRE_AGENTS") -> NoReturn:
    if os.environ.get(required) == "1":
        pytest.fail(reason)
    pytest.skip("to run real agents: python3 dev.py test --agents")  # one text, so that it is reported once


def _path() -> str:
    return os.pathsep.join([str(ROOT / ".cache" / "node" / "bin"), os.environ.get("PATH", os.defpath)])


def _env(folder: Path, setup: models.Setup = models.none, model: str = "") -> dict[str, str]:
    """A separate home: nothing is read from or written to the user's."""
    home = folder / "home"
    return models.home(home, _path()) | setup(model, home)
