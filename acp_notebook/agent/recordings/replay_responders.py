"""Supplies what people, commands and files contributed when a session was recorded.

Older recordings contain only the client's responses to the agent; those are used then. Knows the recorded
answers, but not the position of the replay.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...core.elicitation import ACTIONS, Outcome
from ...core.events import ToolChanged
from ...core.ipynb.percent_format import SUFFIX
from ...core.policy import Decision, PermissionRequest, decide
from ...core.records import Json
from ...core.requests import CreateElicitation
from ...wire.jsonrpc import INTERNAL_ERROR
from ..known_answers import ExtensionAnswer, KnownAnswer
from . import client_actions
from .replay_script import Script, params

Requests = dict[str, tuple[dict[str, Any], dict[str, Any] | None]]
"""Agent requests that the client is working on, each with its recorded response."""


class ReplayResponders:
    """Gives the recorded answers of people (`KnownAnswers`) and replays the output of commands."""

    def __init__(self, script: Script, scratch: str | None = None) -> None:
        self.open: Requests = {}
        self._script = script
        self._scratch = scratch
        self._filled: list[dict[str, Any]] = []
        """Elicitations and requests beyond the protocol that are already answered."""
        self._runs: list[tuple[Callable[[], str], Callable[[ToolChanged], None]]] = []
        self._terminals: dict[tuple[str, str], Callable[[client_actions.ClientAction], None]] = {}

    def replay(self, action: client_actions.ClientAction) -> None:
        """Pass on what a command or the kernel did. Ignored if the command was not started in this replay."""
        if action["what"] == "run":
            for session, show in self._runs:
                if session() == action.get("session") and (event := client_actions.run_event(action)):
                    show(event)
            return
        follower = self._terminals.get((str(action.get("session")), str(action.get("id"))))
        if follower is not None:
            follower(action)

    def is_allowed(self, session: str, tool: str) -> bool:
        """Whether the action needs no question: if none was recorded, an earlier allow covered it."""
        return not self._script.was_asked(session, tool)

    def permission(self, session: str, request: PermissionRequest) -> KnownAnswer[Decision]:
        """The recorded answer to a question, or that it stayed open until it was cancelled."""
        settled = self._script.settled(session, request.tool.id)
        if settled is not None:
            answer, by = settled.get("answer"), str(settled.get("by"))
            if answer is None and by in ("client", "agent"):
                return KnownAnswer(None, waits=True)
            return KnownAnswer(Decision(answer, by, settled.get("reason")))
        return KnownAnswer(self._by_messages(session, request))

    def elicitation(self, session: str, id: str, asked: CreateElicitation) -> KnownAnswer[Outcome]:
        """The recorded answer to a form, or that it stayed open until something ended it."""
        result = self._form_answer(asked)
        settled = self._script.filled(session, id) or {}
        by, action = str(settled.get("by", "recording")), settled.get("action", result.get("action"))
        ended_by_others = by == "agent" or (by == "client" and action == "cancel")
        if action not in ACTIONS or ended_by_others:
            return KnownAnswer(None, waits=ended_by_others)
        content = result.get("content")
        filled = content if isinstance(content, dict) else None
        return KnownAnswer(Outcome(action, by, settled.get("reason"), filled))

    def _form_answer(self, asked: CreateElicitation) -> dict[str, Any]:
        """The recorded result for this form. Each result is used once."""
        request = asked.request
        for message, answer in self.open.values():
            sent = params(message)
            if message.get("method") != "elicitation/create" or any(it is message for it in self._filled):
                continue
            if (sent.get("sessionId"), sent.get("message"), sent.get("url")) == (
                asked.session_id,
                request.message,
                request.url,
            ):
                self._filled.append(message)
                result = (answer or {}).get("result")
                return result if isinstance(result, dict) else {}
        return {}

    def extension(self, method: str, asked: Json) -> ExtensionAnswer | None:
        """The recorded answer to a request beyond the protocol. Each answer is used once."""
        for message, answer in self.open.values():
            if message.get("method") != method or message.get("params") != asked or answer is None:
                continue
            if any(it is message for it in self._filled):
                continue
            self._filled.append(message)
            error = answer.get("error")
            if not isinstance(error, dict):
                return ExtensionAnswer(answer.get("result"))
            code = error.get("code")
            reason = (code if isinstance(code, int) else INTERNAL_ERROR, str(error.get("message")))
            return ExtensionAnswer(error=(*reason, error.get("data")))
        return None

    def _by_messages(self, session: str, request: PermissionRequest) -> Decision | None:
        """The decision derived from the recorded response, for recordings that do not say who answered."""
        for asked, answer in self.open.values():
            sent = params(asked)
            if answer is None or sent.get("sessionId") != session:
                continue
            tool = sent.get("toolCall")
            if isinstance(tool, dict) and tool.get("toolCallId") == request.tool.id:
                outcome = (answer.get("result") or {}).get("outcome") or {}
                return Decision(outcome.get("optionId"), "recording")
            if asked.get("method") in ("fs/write_text_file", "terminal/create"):
                verdict = "reject" if "error" in answer else "allow"
                return decide(verdict, request.options, by="recording")
        return None

    def terminal(self, session: str, command: str, arguments: tuple[str, ...]) -> tuple[str | None, str]:
        """The recorded terminal id of a command, or None and why the command could not run."""
        for asked, answer in self.open.values():
            sent = params(asked)
            words = (sent.get("command"), *(sent.get("args") or ()))
            if asked.get("method") != "terminal/create" or sent.get("sessionId") != session:
                continue
            if words == (command, *arguments) and answer is not None:
                id = (answer.get("result") or {}).get("terminalId")
                if id is not None and (session, id) not in self._terminals:
                    return str(id), ""
                if "error" in answer:
                    return None, str((answer["error"] or {}).get("message"))
        return None, "the recording does not contain the result of this command"

    def follow(self, session: str, id: str, follower: Callable[[client_actions.ClientAction], None]) -> None:
        """Call `follower` with the output and the end of a command."""
        self._terminals[session, id] = follower

    def follow_runs(self, session: Callable[[], str], show: Callable[[ToolChanged], None]) -> None:
        """Call `show` with each recorded kernel run of the session."""
        self._runs.append((session, show))

    def ends_later(self, session: str, id: str) -> bool:
        """Whether the recording still has to replay the end of a command."""
        return any(
            it.direction == "did"
            and (it.message.get("session"), it.message.get("id")) == (session, id)
            and it.message.get("status") in ("exited", "killed")
            for it in (*([] if self._script.head is None else [self._script.head]), *self._script.later())
        )

    def provide(self, request: dict[str, Any], answer: dict[str, Any] | None) -> None:
        """Prepare the file or terminal that a request is about, as it was when recorded."""
        sent, name = params(request), request.get("method")
        path = sent.get("path")
        if name == "fs/write_text_file" or (name == "fs/read_text_file" and _is_notebook(path)):
            known, text = self._script.before(str(path))
            if known:
                self._set_file(path, text)
        elif name == "fs/read_text_file" and not (sent.get("line") or sent.get("limit")):
            content = ((answer or {}).get("result") or {}).get("content")
            if content == "" and self._script.quirks.missing_reads_empty:
                self._remove_file(path)  # if the file was empty instead, its next "before" action says so
            elif isinstance(content, str):
                self._set_file(path, content)
        elif not self._script.has_actions and str(name).startswith("terminal/"):
            result = (answer or {}).get("result")
            if isinstance(result, dict):
                where = {"session": sent.get("sessionId"), "id": sent.get("terminalId")}
                self.replay({"what": "answer", **result, **where})

    def _set_file(self, path: Any, text: str | None) -> None:
        there = self._in_scratch(path)
        if there is not None and text is not None:
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(text.encode(errors="replace"))

    def _remove_file(self, path: Any) -> None:
        there = self._in_scratch(path)
        if there is not None and there.is_file():
            there.unlink()

    def _in_scratch(self, path: Any) -> Path | None:
        """The resolved path if it is in the scratch folder, else None: other files are never prepared."""
        if self._scratch is None or not isinstance(path, str):
            return None
        there = os.path.realpath(path)
        return Path(there) if there.startswith(self._scratch + os.sep) else None


def _is_notebook(path: Any) -> bool:
    """Whether the agent sees a notebook in another form than the file has."""
    return str(path).lower().endswith(SUFFIX)
