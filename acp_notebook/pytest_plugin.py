"""The pytest plugin: `acp_cassette`, a fixture that replays an agent from a recording, or records one.

pytest loads it in every test run where this package is installed, so it imports nothing until the fixture is
used. PYTEST_DONT_REWRITE: it contains no assertions, and this keeps pytest from warning about it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .api.session import Session

MODES = ("none", "once", "all")

MARKER = (
    "acp_cassette(path=None, *, match='exact', speed=None, record=None): the recording that the fixture "
    "acp_cassette replays, and how"
)

LONGEST_NAME = 100
"""Length of a recording's file name without its suffix; file systems allow 255 bytes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("acp", "agents (acp_notebook)")
    text = "none: replay only (the default); once: record missing cassettes; all: record all again"
    group.addoption("--acp-record", choices=MODES, default=None, help=text)
    parser.addini("acp_record", f"same as --acp-record. {text}", default="none")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def acp_cassette(request: pytest.FixtureRequest) -> Iterator[Cassettes]:
    """`acp_cassette.connect("claude-code-acp", …)` replays the agent from a recording, or records it.

    The recording is `cassettes/<test file>/<test>.jsonl` next to the test file. It is created or replaced
    only with --acp-record=once or all, and kept only if the test passes.
    """
    cassettes = Cassettes(request)
    failed = request.session.testsfailed
    try:
        yield cassettes
    finally:
        cassettes.close(keep=request.session.testsfailed == failed)


class Cassettes:
    """Manages the recordings of one test. Each `connect` in the test has its own recording."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        marker = request.node.get_closest_marker("acp_cassette")
        self._options: dict[str, Any] = {} if marker is None else dict(marker.kwargs)
        name = marker.args[0] if marker is not None and marker.args else self._options.pop("path", None)
        folder = request.path.parent
        self.path = folder / name if name is not None else folder / "cassettes" / path_of(request.node.nodeid)
        self.mode = _mode(request.config, self._options.pop("record", None))
        self._request = request
        self._sessions: list[Session] = []
        self._drafts: dict[Path, Path] = {}

    def connect(self, agent: str | Sequence[str] | None = None, **options: Any) -> Session:
        """Like `acp.connect`, by default in the test's `tmp_path`. The agent is closed after the test."""
        from .api.cassette import Cassette
        from .api.connect import connect

        options.setdefault("cwd", None)
        if options["cwd"] is None:
            options["cwd"] = self._request.getfixturevalue("tmp_path")
        path = self._next_path()
        if self.mode == "all" or (self.mode == "once" and not path.exists()):
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = self._drafts[path] = path.with_name(f"{path.name}.part")
            session = connect(agent, record=draft, **options)
        else:
            session = connect(agent, cassette=Cassette(path, **self._options), **options)
        self._sessions.append(session)
        return session

    def _next_path(self) -> Path:
        number = len(self._sessions) + 1
        return self.path if number == 1 else self.path.with_name(f"{self.path.stem}-{number}.jsonl")

    def close(self, *, keep: bool) -> None:
        """Close all agents of the test. Keep or discard what was recorded."""
        for session in self._sessions:
            session.agent.close()
        for path, draft in self._drafts.items():
            if keep and draft.exists():
                os.replace(draft, path)
            else:
                draft.unlink(missing_ok=True)

    def __repr__(self) -> str:
        return f"<acp_cassette {self.path} · record {self.mode}>"


def _mode(config: pytest.Config, marked: str | None) -> str:
    """The mode from the command line, else the marker, else the ini file."""
    mode = config.getoption("--acp-record") or marked or config.getini("acp_record")
    if mode not in MODES:
        raise pytest.UsageError(f"acp_record is {mode!r}; use one of {', '.join(MODES)}")
    return str(mode)


def path_of(nodeid: str) -> Path:
    """The path of a test's recording, relative to the folder of recordings."""
    file, _, test = nodeid.partition("::")
    plain = test.replace("::", ".").replace("[", "-").removesuffix("]")
    name = re.sub(r"[^\w.-]+", "-", plain, flags=re.ASCII)
    if name != plain or len(name) > LONGEST_NAME:  # two tests must not share a recording
        name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"
    return Path(file).with_suffix("").name / Path(f"{name}.jsonl")
