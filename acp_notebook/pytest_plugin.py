"""For pytest: `acp_cassette`, a fixture that replays an agent from a recording beside the test, or makes one.

Knows no protocol. Loaded in every test run on a machine that has this package, so it imports nothing until
the fixture is used. PYTEST_DONT_REWRITE: it asserts nothing, and pytest shall not warn of it either.
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
    "acp_cassette plays, and how"
)

LONGEST_NAME = 100
"""Of a recording's file, without its ending: file systems take 255 bytes, and people read less."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("acp", "agents (acp_notebook)")
    text = "none: replay only (the default); once: record what has no recording yet; all: record anew"
    group.addoption("--acp-record", choices=MODES, default=None, help=text)
    parser.addini("acp_record", f"as --acp-record. {text}", default="none")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def acp_cassette(request: pytest.FixtureRequest) -> Iterator[Cassettes]:
    """`acp_cassette.connect("claude-code-acp", …)`: the agent from its recording, or recorded now.

    The recording is `cassettes/<test file>/<test>.jsonl` beside the test file. It is only made, or made anew,
    with --acp-record=once or all, and only kept if the test passes.
    """
    cassettes = Cassettes(request)
    failed = request.session.testsfailed
    try:
        yield cassettes
    finally:
        cassettes.close(keep=request.session.testsfailed == failed)


class Cassettes:
    """The recordings of one test; the second `connect` of a test has one of its own."""

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
        """As `acp.connect`; by default in the test's `tmp_path`. It is closed after the test."""
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
        """Close what the test opened; what was recorded takes its place, or is thrown away."""
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
    """What the command line says, else the marker, else the settings."""
    mode = config.getoption("--acp-record") or marked or config.getini("acp_record")
    if mode not in MODES:
        raise pytest.UsageError(f"acp_record is {mode!r}; it can be {', '.join(MODES)}")
    return str(mode)


def path_of(nodeid: str) -> Path:
    """Where the recording of a test is, below the folder of recordings."""
    file, _, test = nodeid.partition("::")
    plain = test.replace("::", ".").replace("[", "-").removesuffix("]")
    name = re.sub(r"[^\w.-]+", "-", plain, flags=re.ASCII)
    if name != plain or len(name) > LONGEST_NAME:  # two tests must not share one
        name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"
    return Path(file).with_suffix("").name / Path(f"{name}.jsonl")
