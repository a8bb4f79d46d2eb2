"""An agent under test: its connections, what it asked, and how the user answers. Knows no probe."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import acp_notebook as acp
from acp_notebook.agent.loop import LoopHandle
from acp_notebook.agent.recordings import recording
from acp_notebook.core.policy import PermissionRequest
from acp_notebook.wire import v1
from tests.agents.mock_model import say, script
from tests.compat.outcome import Found
from tests.schema import methods, validate_all

TURN_S = 40.0
"""The timeout of a turn that takes one to five seconds on an idle machine."""

START_S = 45.0
"""The timeout of a start, the first time from a cold disk."""


@dataclass
class Subject:
    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    folder: Path
    """Its folder, with recordings, home and repository."""
    answers_scripts: bool = True
    """False: an example without a model, with canned turns."""
    model_reached: Callable[[], bool] = lambda: True
    version: str | None = None
    verdict: str = "allow"
    """The user's answer to a question."""
    asked: list[PermissionRequest] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cwd = self.folder / "repository"
        self.cwd.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "--quiet", str(self.cwd)], check=True)
        self._numbers = itertools.count()
        self._open: list[acp.Session] = []
        self._shared: acp.Session | None = None

    # ---- connections

    @property
    def session(self) -> acp.Session:
        """The process that most probes share; a new one if the last one was spoilt."""
        if self._shared is None or self._shared.status in ("dead", "closed", "stuck"):
            self._shared = self.connect()
        return self._shared

    def connect(self) -> acp.Session:
        """Another process of the agent."""
        session = acp.connect(
            list(self.command),
            cwd=self.cwd,
            env=self.env,
            inherit_env=False,
            permissions=self._answer,
            record=self.folder / f"recording{next(self._numbers)}.jsonl",
            start_timeout=START_S,
        )
        self._open.append(session)
        return session

    def _answer(self, request: PermissionRequest) -> str:
        self.asked.append(request)
        return self.verdict

    def spoilt(self) -> None:
        """Mark the process as spoilt: the next probe gets a new one."""
        self._shared = None

    def close(self) -> None:
        for session in self._open:
            with suppress(acp.Error):
                session.agent.close()
        self._open.clear()
        self._shared = None

    def kill(self) -> None:
        """Kill it immediately, from any thread."""
        for session in self._open:
            session.agent._host.kill()

    # ---- talking

    def needs_model(self) -> None:
        """Skip the rest of the probe without our model behind the agent."""
        if not self.answers_scripts or not self.model_reached():
            raise Found("no model")

    def prompt(self, session: acp.Session, *steps: dict[str, object]) -> acp.Turn:
        return session.prompt(script(*steps), timeout=TURN_S)

    def usable(self, session: acp.Session) -> bool:
        """Check that the agent still answers."""
        turn = self.prompt(session, say("Still here."))
        return turn.text.endswith("Still here.") if self.answers_scripts else turn.stop_reason == "end_turn"

    def call(self, session: acp.Session, method: str, params: Mapping[str, object], limit: float) -> bytes:
        """Send a request that the package does not support."""
        host = session.agent._host
        request: v1.Call = (method, params)
        return bytes(_loop(session).call(host.agent.connection.request(request, limit)))

    def notify(self, session: acp.Session, method: str) -> None:
        notification: v1.Call = (method, {})
        _loop(session).post(session.agent._host.agent.notify, notification)

    # ---- afterwards

    def invalid(self) -> str | None:
        """The messages we sent that the schema does not allow."""
        for path in sorted(self.folder.glob("recording*.jsonl")):
            entries = [it for it in recording.load(path) if it.direction == "a2c" or _is_stable(it.message)]
            try:
                validate_all(entries, "c2a")
            except Exception as error:
                return f"{type(error).__name__}: {error}"
        return None


def _loop(session: acp.Session) -> LoopHandle:
    return session.agent._host.agent.loop


def _is_stable(message: object) -> bool:
    """Of the stable schema: unstable methods of agents cannot be validated."""
    method = message.get("method") if isinstance(message, dict) else None
    return method is None or method in _STABLE or str(method).startswith("_")


_STABLE = {
    method
    for side in ("agent", "client", "protocol")
    for part in ("Request", "Notification")
    for method in methods(side, part)
}
