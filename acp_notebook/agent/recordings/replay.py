"""Replays a recording in step with the client: sends the agent's recorded messages, without a process.

The replay sends messages until the next entry is a request, response or action of the client, then waits for
the client to do the same. It compares requests and responses; a difference ends the replay with an error that
shows both. `responders` supplies what people and commands did; nothing is run. The client writes files, as it
does for any agent. Knows only as much of the protocol as this needs.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ... import timeouts
from ...core.events import Event
from ...errors import CassetteMismatch
from ...log import logger, suppressed
from ...wire import v1
from ..transport import CLOSED, Ended, Ending, LinkChange, Receive
from . import client_actions, file_changes
from .recording import Entry, Recording
from .replay_difference import Match, answer_difference, request_difference, what
from .replay_responders import ReplayResponders, Requests
from .replay_script import Script, key, method, params

_log = logger(__name__)

HOW = (
    "Record it again if this is as it should be; acp.Cassette(…, match=…) takes prompts that differ in what "
    "does not matter."
)


class Replay(client_actions.ActionTap):
    """Plays a recording as the agent. Runs on the loop thread.

    It is also the client's tap, which reports what the client does.
    """

    path = None
    keeps_files = False

    def __init__(
        self,
        recording: Recording,
        *,
        match: Match = "exact",
        speed: float | None = None,
        scratch: str | None = None,
        home: str | None = None,
    ) -> None:
        self.script = Script(recording, home)
        self.scratch = scratch is not None
        """Whether the replay uses its own temporary folders."""
        self.responders = ReplayResponders(self.script, scratch)
        self._stop: Callable[[str], None] = lambda session: None
        self._match = match
        self._speed = speed
        self._receive: Receive | None = None
        self._ended: Ended | None = None
        self._link_changed: Callable[[LinkChange], None] = lambda change: None
        self._connections = 0
        self._initialized = False
        self._skipped: set[str] = set()
        """Recorded session/close requests: the client's own are answered at once, at any position."""
        self._inbox: list[dict[str, Any]] = []
        self._ids: dict[str, Any] = {}
        """Recorded ids of client requests mapped to the current ones."""
        self._written = 0
        self._ends: dict[Any, int] = {}
        """By request id: how many bytes the client had written at the end of the request."""
        self._unanswered: dict[str, str] = {}
        self._open: Requests = {}
        self._answered: Counter[str] = Counter()
        self._actions: Counter[tuple[Any, ...]] = Counter()
        self._broken: Ending | None = None
        self._poked = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = -1
        self._overdue_at = -1
        self._clock = (0.0, 0.0)
        """When the last step happened: recorded time and current time."""

    def set_stop(self, stop: Callable[[str], None]) -> None:
        """Set the function that cancels the turn of a session, given its id."""
        self._stop = stop

    # ---- called by the transport ----------------------------------------------------------------

    def attach(
        self, receive: Receive, ended: Ended, changed: Callable[[LinkChange], None] = lambda change: None
    ) -> None:
        self._receive, self._ended, self._link_changed = receive, ended, changed
        self._inbox, self._ids, self._unanswered = [], {}, {}
        self._written, self._ends = 0, {}
        self._open = self.responders.open = {}
        self._initialized = False
        if self._connections:
            self.script.next_connection()
        self._connections += 1
        self._clock = self._now()
        self._poke()

    def handle_message(self, data: bytes) -> None:
        """Handle a message from the client."""
        message = msgspec.json.decode(data)
        self._ends[message.get("id")] = self._written + len(data.rstrip())
        self._written += len(data)
        if "method" not in message:
            self._take_answer(message)
        elif message["method"] == "session/close":
            self._answer_close(message)
        elif _is_awaited(message) or message["method"] == "session/cancel":
            self._inbox.append(message)
        self._poke()

    def _answer_close(self, message: dict[str, Any]) -> None:
        def answer() -> None:
            if self._ended is not None and self._receive is not None:
                result: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id"), "result": {}}
                self._receive(msgspec.json.encode(result) + b"\n")

        asyncio.get_running_loop().call_soon(answer)

    def end(self, ending: Ending) -> None:
        ended, self._ended = self._ended, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._timer_at = None, -1
        if ended is not None:
            ended(ending)

    # ---- the tap: what the client does ----------------------------------------------------------

    def sent(self, data: bytes) -> None: ...

    def received(self, data: bytes) -> None: ...

    def ended(self, ending: Ending | None, untaken: Sequence[int]) -> None:
        self.record_action(client_actions.ended(ending, untaken))

    def close(self) -> None: ...

    def record_action(self, action: client_actions.ClientAction) -> None:
        if action["what"] == "folders":
            self.script.open_session(action["cwd"], action["roots"])
        self._actions[client_actions.key(action)] += 1
        self._poke()

    def changed(
        self, session: Callable[[], str], folders: Mapping[str, str], turn: int
    ) -> file_changes.RecordedTurn | None:
        """What a turn changed besides writes through the client. `folders`: the session's folders, resolved.

        None if the turn did not go as recorded, or if an older recording does not contain the changes.
        """
        if self._broken is not None or not self.script.has_changes:
            return None
        recorded = self.script.changed(session(), turn)
        if recorded is None:
            return file_changes.RecordedTurn(
                notes=(file_changes.CUT_OFF,), missing=dict.fromkeys(folders.values(), file_changes.CUT_OFF)
            )
        return file_changes.read(recorded, lambda path: _resolve(path, folders))

    def history(self, session: str) -> list[Event]:
        """The history that was read on a connection of its own."""
        found = []
        for update in self.script.history(session):
            with suppressed(_log, v1.Malformed):  # the recorded client could not read it either
                read = {"sessionId": session, "update": update}
                found.append(v1.read_update(msgspec.Raw(msgspec.json.encode(read)))[1])
        return found

    # ---- playing --------------------------------------------------------------------------------

    def _poke(self) -> None:
        if not self._poked:
            self._poked = True
            asyncio.get_running_loop().call_soon(self._play)

    def _play(self) -> None:
        """Play entries until the client has to act."""
        self._poked = False
        while self._ended is not None:
            if self._broken is not None:
                return self.end(self._broken)
            entry = self.script.head
            if entry is None:
                return self._at_the_end()
            if (early := self._early(entry)) > 0:
                return self._wake(early)
            if not self._step(entry):
                return self._stall(entry)
            if self._ended is not None or entry.direction == "did":
                self._clock = self._now(entry)
        return None

    def _step(self, entry: Entry) -> bool:
        """Play the next entry, or check that the client has done it. Return whether to continue."""
        if entry.direction == "a2c":
            answer = self.script.answer()
            self.script.step()
            self._send(entry, answer)
            return True
        if method(entry) == "initialize" and self._initialized:
            self.end(Ending("the recorded agent ended here"))
            return True
        done = self._has_acted(entry.message) if entry.direction == "did" else self._has_sent(entry)
        if done and self._broken is None:
            self.script.step()
            if entry.direction == "did" and entry.message["what"] == "ended":
                self.end(self._recorded_ending(entry.message))
        return done

    def _send(self, entry: Entry, answer: dict[str, Any] | None) -> None:
        assert self._receive is not None
        message = entry.message
        if isinstance(message, dict) and "id" in message:
            if "method" in message:
                self._open[key(message)] = message, answer
                self.responders.provide(message, answer)
            else:
                if key(message) in self._skipped:
                    self._skipped.discard(key(message))
                    return
                self._unanswered.pop(key(message), None)
                message = {**message, "id": self._ids.pop(key(message), message["id"])}
        if entry.line is not None:
            self._receive(entry.line.encode() + b"\n")
        else:
            self._receive(msgspec.json.encode(message) + b"\n")

    def _has_sent(self, entry: Entry) -> bool:
        """Whether the client has sent the recorded request, response or notification."""
        expected = entry.message
        if not isinstance(expected, dict):
            return True
        if "method" not in expected:
            return self._has_answered(expected)
        if "id" not in expected and not _is_awaited(expected):
            return method(entry) != "session/cancel" or self._has_cancelled(expected)
        if method(entry) == "session/close":
            self._skipped.add(key(expected))
            return True  # answered when the client sends it
        for index, message in enumerate(self._inbox):
            if _same(message, expected):
                del self._inbox[index]
                self._check(expected, message)
                if "id" not in expected:
                    return True
                self._ids[key(expected)] = message.get("id")
                self._unanswered[key(expected)] = str(method(entry))
                self._initialized = True
                return True
        return False

    def _has_answered(self, expected: dict[str, Any]) -> bool:
        if self._answered[key(expected)]:
            self._answered[key(expected)] -= 1
            return True
        return key(expected) not in self._open  # another client recorded a response without a request

    def _has_cancelled(self, expected: dict[str, Any]) -> bool:
        for index, message in enumerate(self._inbox):
            if _same(message, expected):
                del self._inbox[index]
                return True
        return "session/prompt" not in self._unanswered.values()

    def _has_acted(self, action: client_actions.ClientAction) -> bool:
        """Whether the client has performed the action. Supplies the actions of commands and the kernel."""
        match action["what"]:
            case "output" | "terminal" | "run" if client_actions.is_replayed(action):
                self.responders.replay(action)
                return True
            case "asked" | "settled" | "form" | "filled" | "card" | "terminal":
                if not self._actions[client_actions.key(action)]:
                    return False
                self._actions[client_actions.key(action)] -= 1
                return True
            case "link" if (change := client_actions.link_change(action)) is not None:
                self._link_changed(change)
            case "closed":
                return False
        return True

    def _recorded_ending(self, action: client_actions.ClientAction) -> Ending:
        """The recorded end of the agent, including which requests it had not read."""
        code, stderr = action.get("exit_code"), action.get("stderr")
        untaken = [self._ids.get(key({"id": it})) for it in action.get("untaken") or ()]
        ends = [self._ends[it] for it in untaken if it in self._ends]
        return Ending(
            str(action.get("reason")),
            code if isinstance(code, int) else None,
            stderr if isinstance(stderr, str) else "",
            unread=self._written - min(ends) + 1 if ends else 0,
            is_lost=action.get("lost") is True,
            may_pass=action.get("may_pass") is True,
        )

    # ---- waiting --------------------------------------------------------------------------------

    def _stall(self, entry: Entry) -> None:
        """Wait for the client to act. If that takes too long, help it or report what is wrong."""
        if self._broken is not None:
            self._poke()
        elif self._overdue_at == self.script.at:
            self._overdue(entry)
        elif "method" in (entry.message or {}) or entry.direction == "did":
            unexpected = [it for it in self._inbox if _is_awaited(it)]
            if unexpected and not self._comes_later(unexpected[0]):
                self._report(entry, unexpected[0])
            elif unexpected or _has_limit(entry):
                self._wake(timeouts.get().recording_grace)

    def _overdue(self, entry: Entry) -> None:
        unexpected = next(filter(_is_awaited, self._inbox), None)
        if unexpected is not None and (entry.direction == "c2a" or entry.message["what"] == "closed"):
            self._report(entry, unexpected)
        elif entry.direction == "did" and entry.message["what"] != "closed":
            self.script.step()  # the client may still do it, only later
            self._poke()
        elif method(entry) == "session/cancel":
            self._stop(str(params(entry.message).get("sessionId")))
            if not self._has_cancelled(entry.message):  # no turn is running
                self.script.step()
            self._poke()

    def _wake(self, after: float) -> None:
        if self._timer is not None and self._timer_at == self.script.at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = self.script.at
        self._timer = asyncio.get_running_loop().call_later(after, self._woken, self.script.at)

    def _woken(self, at: int) -> None:
        self._timer, self._timer_at = None, -1
        self._overdue_at = at
        self._play()

    def _early(self, entry: Entry) -> float:
        """How many seconds to wait until the entry is due. The client's own entries are never early."""
        is_timed = entry.direction == "a2c" or (
            entry.direction == "did" and client_actions.is_replayed(entry.message)
        )
        if self._speed is None or not is_timed:
            return 0.0
        then, since = self._clock
        return (entry.at - then) / self._speed - (self._time() - since)

    def _now(self, entry: Entry | None = None) -> tuple[float, float]:
        entry = entry or self.script.head
        return (0.0 if entry is None else entry.at), self._time()

    @staticmethod
    def _time() -> float:
        return asyncio.get_running_loop().time()

    # ---- comparing ------------------------------------------------------------------------------

    def _check(self, expected: dict[str, Any], message: dict[str, Any]) -> None:
        try:
            difference = request_difference(expected, message, self._match)
        except Exception as error:  # `match` is a function of the user
            difference = f"  the match function raised {error!r}"
        if difference is not None:
            self._mismatch(difference)

    def _take_answer(self, answer: dict[str, Any]) -> None:
        request, recorded = self._open.pop(key(answer), (None, None))
        self._answered[key(answer)] += 1
        if request is not None and recorded is not None:
            difference = answer_difference(request, recorded, answer)
            if difference is not None:
                self._mismatch(difference)

    def _comes_later(self, message: dict[str, Any]) -> bool:
        return any(
            entry.direction == "c2a"
            and isinstance(entry.message, dict)
            and _same(message, entry.message)
            and request_difference(entry.message, message, self._match) is None
            for entry in self.script.later()
        )

    def _report(self, entry: Entry, asked: dict[str, Any]) -> None:
        expected = next((it for it in (entry, *self.script.later()) if _is_request(it)), None)
        recorded = what(expected.message) if expected is not None else "nothing more, it was closed here"
        self._mismatch(f"  recorded: {recorded}\n  now:      {what(asked)}")

    def _at_the_end(self) -> None:
        asked = next(filter(_is_awaited, self._inbox), None)
        if asked is not None:
            self._mismatch(f"  recorded: nothing more, it ends here\n  now:      {what(asked)}")
        elif self._unanswered:
            name = next(reversed(self._unanswered.values()))
            self._mismatch(f"  it ends before the answer to {name}: the recording was cut short")

    def _mismatch(self, difference: str) -> None:
        if self._broken is None:
            head = self.script.head
            line = f", line {head.number}" if head is not None and head.number else ""
            text = f"the recording {self.script.name}{line} goes on in another way:\n{difference}\n{HOW}"
            self._broken = Ending(text, error=CassetteMismatch(text))
            self._poke()


class ReplayTransport:
    """One connection to a recording. The next connection continues at the same position."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay
        self._stderr = ""
        self._changed: Callable[[LinkChange], None] = lambda change: None

    def listen(self, changed: Callable[[LinkChange], None]) -> None:
        """Report the recorded interruptions of a connection to a remote agent."""
        self._changed = changed

    def start(self, receive: Receive, ended: Ended) -> None:
        def over(ending: Ending) -> None:
            self._stderr = ending.stderr
            ended(ending)

        self._replay.attach(receive, over, self._changed)

    def write(self, data: bytes) -> None:
        self._replay.handle_message(data)

    @property
    def unsent(self) -> int:
        return 0

    def stderr_text(self) -> str:
        return self._stderr

    async def close(self) -> None:
        self._replay.end(Ending(CLOSED))


def _same(message: dict[str, Any], expected: dict[str, Any]) -> bool:
    if message.get("method") != expected.get("method"):
        return False
    return params(message).get("sessionId") == params(expected).get("sessionId")


def _resolve(path: str, folders: Mapping[str, str]) -> str:
    for given, real in folders.items():
        if path == given or path.startswith(given.rstrip("/") + "/"):
            return real + path[len(given) :]
    return path


def _is_request(entry: Entry) -> bool:
    return entry.direction == "c2a" and method(entry) is not None and _is_awaited(entry.message)


def _is_awaited(message: dict[str, Any]) -> bool:
    """Whether the replay waits for this message: a request, or the user's own notification."""
    name = message.get("method")
    return isinstance(name, str) and ("id" in message or v1.owner(name) is None)


def _has_limit(entry: Entry) -> bool:
    """Whether the replay stops waiting for the entry after GRACE_S."""
    if entry.direction == "did":
        return bool(entry.message["what"] != "closed")
    return method(entry) == "session/cancel"
