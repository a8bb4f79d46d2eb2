"""Records a history that is read on a connection of its own, as one client action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.redaction import Redactor
from ...wire import tolerant_json
from ..transport import Ending
from . import client_actions
from .split_secrets import SplitSecrets


class AsideRecorder(client_actions.ActionTap):
    """Collects the updates of one session, and records them when all of them have come (an `AsideTap`)."""

    path = None
    keeps_files = False

    def __init__(
        self, session: str, redactor: Redactor, record: Callable[[client_actions.ClientAction], None]
    ) -> None:
        self._session = session
        self._redactor = redactor
        self._record = record
        self._received: list[bytes] = []

    def sent(self, data: bytes) -> None: ...

    def received(self, data: bytes) -> None:
        self._received.append(data)

    def ended(self, ending: Ending | None, untaken: Sequence[int]) -> None: ...

    def close(self) -> None: ...

    def record_action(self, action: client_actions.ClientAction) -> None: ...

    def finish(self, *, is_complete: bool) -> None:
        self._record(client_actions.history(self._session, self._updates() if is_complete else ()))

    def _updates(self) -> list[Any]:
        split, entries = SplitSecrets(self._redactor), []
        for line in b"".join(self._received).split(b"\n"):
            try:
                message = tolerant_json.loads(line) if line.strip() else None
            except tolerant_json.Unreadable:  # the reader ignores it, too
                continue
            match message:
                case {"method": "session/update", "params": {"sessionId": self._session, "update": dict()}}:
                    entries += split.put({"dir": "a2c", "msg": self._redactor.clean(message)})
        return [it["msg"]["params"]["update"] for it in (*entries, *split.rest())]
