"""A transport that plays a recording back: no process, the agent's messages as they were recorded.

Knows as much of the protocol as it takes to keep step: the recorded agent speaks until the recording
has the client ask or answer something; then it waits for the client to do so. A request is matched by
its method, its session and, for a prompt, its content; the answers carry the ids that the client
chose this time. What does not match ends the replay with an error that shows both sides. The files
that the agent read and wrote through the client, and the commands that it had run, are left out: a
recording touches nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any

import msgspec

from .recording import Entry
from .transport import Ended, Ending, Receive

HANDS = ("fs/", "terminal/")
"""How the names of requests begin that have the client do something outside of the conversation."""

_SHOWN = 300
"""How much of a prompt a mismatch shows."""


class ReplayTransport:
    def __init__(self, entries: Iterable[Entry]) -> None:
        self._left = deque(entries)
        self._inbox: list[dict[str, Any]] = []
        self._ids: dict[Any, Any] = {}
        self._unanswered: list[str] = []
        self._left_out: set[str] = set()
        """Requests of the agent's that were served when they were recorded, and are not again."""
        self._receive: Receive | None = None
        self._ended: Ended | None = None
        self._over = False

    def start(self, receive: Receive, ended: Ended) -> None:
        self._receive, self._ended = receive, ended
        asyncio.get_running_loop().call_soon(self._play)

    def write(self, data: bytes) -> None:
        if not self._over:
            self._inbox.append(msgspec.json.decode(data))
            asyncio.get_running_loop().call_soon(self._play)

    @property
    def unsent(self) -> int:
        return 0

    def stderr_text(self) -> str:
        return ""

    async def close(self) -> None:
        self._end(Ending("the recording was closed"))

    def _play(self) -> None:
        """Go on as far as the recording goes without the client."""
        while not self._over:
            if not self._left:
                self._check_nothing_more()
                return
            entry = self._left[0]
            if self._leaves_out(entry):
                self._left.popleft()
                continue
            if entry.direction == "c2a" and not self._met(entry.message):
                return
            self._left.popleft()
            if entry.direction == "a2c":
                self._say(entry)

    def _leaves_out(self, entry: Entry) -> bool:
        message = entry.message
        if not isinstance(message, dict) or "id" not in message:
            return False
        if entry.direction == "a2c" and str(message.get("method", "")).startswith(HANDS):
            self._left_out.add(_key(message))
            return True
        answered = entry.direction == "c2a" and "method" not in message and _key(message) in self._left_out
        if answered:
            self._left_out.discard(_key(message))
        return answered

    def _say(self, entry: Entry) -> None:
        assert self._receive is not None
        message = entry.message
        if isinstance(message, dict) and "method" not in message:
            message = {**message, "id": self._ids.pop(_key(message), message.get("id"))}
            del self._unanswered[:1]
        data = entry.line.encode() if entry.line is not None else msgspec.json.encode(message)
        self._receive(data + b"\n")

    def _met(self, expected: Any) -> bool:
        """Whether the client has done what the recording says it did next."""
        if not isinstance(expected, dict) or ("method" in expected and "id" not in expected):
            return True  # a notification: nothing in the recording depends on its moment
        for index, message in enumerate(self._inbox):
            if "method" in expected:
                if message.get("method") == expected["method"] and _session(message) == _session(expected):
                    self._compare(expected, message)
                    self._ids[_key(expected)] = message.get("id")
                    self._unanswered.append(expected["method"])
                    del self._inbox[index]
                    return True
            elif "method" not in message and message.get("id") == expected.get("id"):
                del self._inbox[index]
                return True
        self._check_step(expected)
        return False

    def _check_step(self, expected: dict[str, Any]) -> None:
        """The client asks for something else than was recorded: it would wait for ever."""
        for message in self._inbox:
            if "method" in message and "id" in message and "method" in expected:
                self._mismatch(_what(expected), _what(message))
                return

    def _check_nothing_more(self) -> None:
        for message in self._inbox:
            if "method" in message and "id" in message:
                self._mismatch("nothing more", _what(message))
                return
        if self._unanswered:
            self._mismatch("nothing more", f"an answer to {self._unanswered[-1]}")

    def _compare(self, expected: dict[str, Any], message: dict[str, Any]) -> None:
        if expected["method"] == "session/prompt" and _prompt(expected) != _prompt(message):
            self._mismatch(_what(expected), _what(message))

    def _mismatch(self, recorded: str, asked: str) -> None:
        self._end(
            Ending(
                f"the recording goes on in another way.\n  recorded: {recorded}\n  asked:    {asked}",
                mismatch=True,
            )
        )

    def _end(self, ending: Ending) -> None:
        if not self._over:
            self._over = True
            if self._ended is not None:
                self._ended(ending)


def _key(message: dict[str, Any]) -> str:
    """An id as something to look up by: it may be of any type."""
    return repr(message.get("id"))


def _session(message: dict[str, Any]) -> Any:
    params = message.get("params")
    return params.get("sessionId") if isinstance(params, dict) else None


def _prompt(message: dict[str, Any]) -> Any:
    return message.get("params", {}).get("prompt")


def _what(message: dict[str, Any]) -> str:
    if message.get("method") != "session/prompt":
        return str(message.get("method"))
    text = " ".join(str(block.get("text", f"({block.get('type')})")) for block in _prompt(message) or ())
    return f"session/prompt {text[:_SHOWN]!r}"
