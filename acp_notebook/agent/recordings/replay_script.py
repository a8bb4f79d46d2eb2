"""A recording as a script: the current position, the next entries, and the recorded answers.

Maps recorded paths to paths of this machine, including paths split over several chunks. The folders of a
session are known when it opens; all later entries then use them. Decides nothing and plays nothing.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...core.path_mapping import PathMapping
from ..known_agents import quirks
from .recording import Entry, Recording

OPENING = ("session/new", "session/load", "session/resume", "session/fork")

BETWEEN = ("tool_call", "plan")
"""Updates that end a message if they come between its chunks, as a prompt does."""

CHUNKS = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")


class Script:
    """Holds the entries of a recording and the position of its replay."""

    def __init__(self, recording: Recording, home: str | None = None) -> None:
        """`home`: the folder that replaces the agent's home, if that was not the user's."""
        self.name = os.path.basename(recording.name)
        self._recorded = recording.entries
        self._entries = recording.entries
        self.has_actions = any(entry.direction == "did" for entry in recording.entries)
        """Whether the recording contains client actions. Older ones do not."""
        self._at = 0
        self._folders = _known_places(recording, home)
        self._openings = deque(openings(recording.entries))
        self._answers = _answers(recording.entries)
        self._settled = _settled(recording.entries)
        self._filled = _filled(recording.entries)
        self._befores = _befores(recording.entries)
        self._changed = _changed(recording.entries)
        self._histories = _histories(recording.entries)
        self.has_changes = any(
            it.direction == "did" and it.message.get("covered") is True for it in recording.entries
        )
        """Whether the recording contains what turns changed besides writes through the client."""
        self.quirks = _quirks(recording)
        """The quirks of the recorded agent."""
        self._relocate()
        self.agent = PathMapping(self._folders).value(recording.agent)

    # ---- the position ---------------------------------------------------------------------------

    @property
    def at(self) -> int:
        return self._at

    @property
    def head(self) -> Entry | None:
        return self._entries[self._at] if self._at < len(self._entries) else None

    def step(self) -> None:
        self._at += 1

    def later(self) -> Iterator[Entry]:
        """The entries after the head."""
        return (self._entries[index] for index in range(self._at + 1, len(self._entries)))

    def next_connection(self) -> None:
        """Skip to where the next agent started. The rest of the previous agent's messages is left out."""
        while (entry := self.head) is not None and method(entry) != "initialize":
            self.step()
            if entry.direction == "did" and entry.message["what"] in ("ended", "closed"):
                return

    # ---- folders --------------------------------------------------------------------------------

    def first_folders(self) -> tuple[str, tuple[str, ...]]:
        """The working directory and the roots of the first session."""
        return self._openings[0] if self._openings else ("/recording", ())

    def open_session(self, cwd: str, roots: Sequence[str]) -> None:
        """Map the folders of the next recorded session to those of the session that opens now."""
        if not self._openings:
            return
        there_cwd, there_roots = self._openings.popleft()
        folders = dict(self._folders)
        for there, here in zip((there_cwd, *there_roots), (cwd, *roots), strict=False):
            folders[there] = here
        if folders != self._folders:
            self._folders = folders
            self._relocate()

    def _relocate(self) -> None:
        self._entries = relocated(self._recorded, PathMapping(self._folders))
        self._befores = _befores(self._entries[self._at :])

    # ---- recorded answers -----------------------------------------------------------------------

    def answer(self) -> dict[str, Any] | None:
        """The client's recorded response to the agent's request at the head."""
        index = self._answers.get(self._at)
        return None if index is None else self._entries[index].message

    def settled(self, session: str, tool: str) -> dict[str, Any] | None:
        """How the next question about a tool call was settled."""
        known = self._settled.get((session, tool))
        return known.popleft() if known else None

    def was_asked(self, session: str, tool: str) -> bool:
        """Whether another question about a tool call follows. True if the recording has no answers at all."""
        return not self._settled or bool(self._settled.get((session, tool)))

    def filled(self, session: str, id: str) -> dict[str, Any] | None:
        """How a form was settled."""
        return self._filled.get((session, id))

    def changed(self, session: str, turn: int) -> dict[str, Any] | None:
        """What a turn changed, given its number in the session. Each result is returned only once, because a
        session may be opened again."""
        known = self._changed.get((session, turn), deque())
        change = self._entries[known.popleft()].message if known else None
        while known and self._entries[known[0]].message.get("late") is True:
            change = _with_late(change, self._entries[known.popleft()].message)
        return change

    def history(self, session: str) -> Sequence[Any]:
        """The updates that the next reading of a session's history brought; none if it failed."""
        known = self._histories[session]
        return self._entries[known.popleft()].message["updates"] if known else ()

    def before(self, path: str) -> tuple[bool, str | None]:
        """Whether the content of a file before its next write is known, and that content."""
        known = self._befores.get(path)
        return (True, known.popleft()) if known else (False, None)


def relocated(entries: Sequence[Entry], relocation: PathMapping) -> tuple[Entry, ...]:
    """The entries with mapped paths, including paths split over several chunks."""
    if not relocation.moves:
        return tuple(entries)
    moved = [
        replace(entry, message=relocation.value(entry.message), line=relocation.value(entry.line))
        for entry in entries
    ]
    for group in _streams(entries):
        pieces = relocation.pieces([_piece(entries[index]) for index in group])
        for index, piece in zip(group, pieces, strict=True):
            moved[index] = replace(moved[index], message=_with_piece(moved[index], piece))
    return tuple(moved)


def _quirks(recording: Recording) -> quirks.Quirks:
    sent = [it.message for it in recording.entries if it.direction == "a2c" and isinstance(it.message, dict)]
    infos = (result.get("agentInfo") for it in sent if isinstance(result := it.get("result"), dict))
    info: dict[str, Any] = next((it for it in infos if isinstance(it, dict)), {})
    name, version = (it if isinstance(it, str) else None for it in (info.get("name"), info.get("version")))
    return quirks.for_agent([recording.agent or ""], name, version)


def _known_places(recording: Recording, home: str | None) -> dict[str, str]:
    own = os.path.expanduser("~")
    found = {recording.agent_home: home or own, recording.tmp: tempfile.gettempdir(), recording.home: own}
    return {there: here for there, here in found.items() if there is not None and os.path.isabs(there)}


def method(entry: Entry) -> str | None:
    message = entry.message
    name = message.get("method") if isinstance(message, dict) and entry.direction != "did" else None
    return name if isinstance(name, str) else None


def params(message: dict[str, Any]) -> dict[str, Any]:
    found = message.get("params")
    return found if isinstance(found, dict) else {}


def key(message: dict[str, Any]) -> str:
    """The id of a message as a dict key: ids may have any type."""
    return repr(message.get("id"))


def openings(entries: Sequence[Entry]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The folders of each opened session: from client actions, or else from messages."""
    noted = [it.message for it in entries if it.direction == "did" and it.message["what"] == "folders"]
    asked = [params(it.message) for it in entries if it.direction == "c2a" and method(it) in OPENING]
    found = [(it.get("cwd"), it.get("roots")) for it in noted] or [
        (it.get("cwd"), it.get("additionalDirectories")) for it in asked
    ]
    for cwd, roots in found:
        yield str(cwd or "/recording"), tuple(map(str, roots)) if isinstance(roots, list) else ()


def _answers(entries: Sequence[Entry]) -> dict[int, int]:
    """The index of each agent request mapped to that of the client's response."""
    open: dict[str, int] = {}
    found: dict[int, int] = {}
    for index, entry in enumerate(entries):
        message = entry.message
        if not isinstance(message, dict) or entry.direction == "did" or "id" not in message:
            continue
        if entry.direction == "a2c" and "method" in message:
            open[key(message)] = index
        elif entry.direction == "c2a" and "method" not in message and key(message) in open:
            found[open.pop(key(message))] = index
    return found


def _settled(entries: Sequence[Entry]) -> dict[tuple[str, str], deque[dict[str, Any]]]:
    tools: dict[tuple[str, str], str] = {}
    found: dict[tuple[str, str], deque[dict[str, Any]]] = defaultdict(deque)
    for action in (entry.message for entry in entries if entry.direction == "did"):
        question = (str(action.get("session")), str(action.get("id")))
        if action["what"] == "asked":
            tools[question] = str(action.get("tool"))
        elif action["what"] == "settled" and question in tools:
            found[question[0], tools[question]].append(action)
    return found


def _filled(entries: Sequence[Entry]) -> dict[tuple[str, str], dict[str, Any]]:
    actions = (entry.message for entry in entries if entry.direction == "did")
    return {(str(it.get("session")), str(it.get("id"))): it for it in actions if it["what"] == "filled"}


def _befores(entries: Sequence[Entry]) -> dict[str, deque[str | None]]:
    found: dict[str, deque[str | None]] = defaultdict(deque)
    for action in (entry.message for entry in entries if entry.direction == "did"):
        if action["what"] == "before":
            found[str(action.get("path"))].append(action.get("text"))
    return found


def _with_late(change: dict[str, Any] | None, late: dict[str, Any]) -> dict[str, Any]:
    """Merge a later entry for the same turn, which recordings of version 0.1 may contain."""
    change = change or {}
    known = {str(it.get("path")): it for it in change.get("files", ())}
    for it in late.get("files", ()):
        first = known.get(str(it.get("path")), it)
        known[str(it.get("path"))] = it | ({"before": first["before"]} if "before" in first else {})
    return change | {"files": list(known.values())}


def _changed(entries: Sequence[Entry]) -> dict[tuple[str, int], deque[int]]:
    """The indexes of the file changes of each turn. They may come long after the turn."""
    found: dict[tuple[str, int], deque[int]] = defaultdict(deque)
    for index, entry in enumerate(entries):
        if entry.direction == "did" and entry.message["what"] == "changed":
            turn = entry.message.get("turn")
            found[str(entry.message.get("session")), turn if isinstance(turn, int) else 0].append(index)
    return found


def _histories(entries: Sequence[Entry]) -> dict[str, deque[int]]:
    """The indexes of the histories that were read, by session."""
    found: dict[str, deque[int]] = defaultdict(deque)
    for index, entry in enumerate(entries):
        if entry.direction == "did" and isinstance(entry.message.get("updates"), list):
            found[str(entry.message.get("session"))].append(index)
    return found


# ---- texts in several chunks


def _streams(entries: Sequence[Entry]) -> list[list[int]]:
    """The indexes of the chunks of each text."""
    open: dict[Any, tuple[Any, list[int]]] = {}
    groups: list[list[int]] = []
    for index, entry in enumerate(entries):
        where, which = _stream(entry)
        if where is None:
            continue
        known = open.get(where)
        if known is None or known[0] != which:
            known = open[where] = (which, [])
            groups.append(known[1])
        if which is not None:
            known[1].append(index)
    return [group for group in groups if len(group) > 1]


def _stream(entry: Entry) -> tuple[Any, Any]:
    """The source and the text that an entry may continue.

    A session has one message at a time, a terminal has one output.
    """
    message = entry.message
    if entry.direction == "did":
        is_output = message["what"] == "output" and isinstance(message.get("text"), str)
        return (("terminal", message.get("session"), message.get("id")), "output") if is_output else (None, 0)
    if method(entry) not in ("session/update", "session/prompt"):
        return None, 0
    sent = params(message)
    session = ("session", repr(sent.get("sessionId")))
    match sent.get("update"):
        case {"sessionUpdate": str(kind), "content": {"type": "text", "text": str()}, **more} if (
            kind in CHUNKS
        ):
            return session, (kind, repr(more.get("messageId")))
        case {"sessionUpdate": str(kind)} if kind not in BETWEEN:
            return None, 0
    return session, None


def _piece(entry: Entry) -> str:
    message = entry.message
    text = message["text"] if entry.direction == "did" else message["params"]["update"]["content"]["text"]
    return str(text)


def _with_piece(entry: Entry, text: str) -> dict[str, Any]:
    message: dict[str, Any] = entry.message
    if entry.direction == "did":
        return message | {"text": text}
    update = message["params"]["update"]
    update = update | {"content": update["content"] | {"text": text}}
    return message | {"params": message["params"] | {"update": update}}
