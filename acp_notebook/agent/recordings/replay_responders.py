"""Those who are not there when a recording is played: people who answered, commands that wrote, files.

Knows what the recording tells of them, and not where the replay stands. An older recording tells only what
the agent was answered; then that is what counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...core.elicitation import ACTIONS, Outcome
from ...core.ipynb.percent_format import SUFFIX
from ...core.policy import Decision, PermissionRequest, decide
from ...core.requests import CreateElicitation
from . import client_actions
from .replay_script import Script, params

Requests = dict[str, tuple[dict[str, Any], dict[str, Any] | None]]
"""Requests of the agent's that the client works on, and how it answered then."""


class ReplayResponders:
    def __init__(self, script: Script, scratch: str | None = None) -> None:
        self.open: Requests = {}
        self._script = script
        self._scratch = scratch
        self._filled: list[dict[str, Any]] = []
        """Requests for forms whose answers were given."""
        self._terminals: dict[tuple[str, str], Callable[[client_actions.ClientAction], None]] = {}

    def tell(self, action: client_actions.ClientAction) -> None:
        """What a command did; one that was not run here has nobody to tell it to."""
        told = self._terminals.get((str(action.get("session")), str(action.get("id"))))
        if told is not None:
            told(action)

    def was_asked(self, session: str, tool: str) -> bool:
        """Whether we asked about this action then; if not, an allow covered it, by the rules of that time."""
        return self._script.was_asked(session, tool)

    def answer_to(self, session: str, request: PermissionRequest) -> tuple[Decision | None, bool]:
        """How a question was answered then; or None, and whether it was left open until it was cancelled."""
        settled = self._script.settled(session, request.tool.id)
        if settled is not None:
            answer, by = settled.get("answer"), str(settled.get("by"))
            if answer is None and by in ("client", "agent"):
                return None, True
            return Decision(answer, by, settled.get("reason")), False
        return self._by_messages(session, request), False

    def filled_in(self, session: str, id: str, asked: CreateElicitation) -> tuple[Outcome | None, bool]:
        """How a form was answered then; or None, and whether it was left open until something ended it."""
        result = self._form_answer(asked)
        settled = self._script.filled(session, id) or {}
        by, action = str(settled.get("by", "recording")), settled.get("action", result.get("action"))
        ended_by_others = by == "agent" or (by == "client" and action == "cancel")
        if action not in ACTIONS or ended_by_others:
            return None, ended_by_others
        content = result.get("content")
        return Outcome(
            action, by, settled.get("reason"), content if isinstance(content, dict) else None
        ), False

    def _form_answer(self, asked: CreateElicitation) -> dict[str, Any]:
        """What the agent was answered to this; each answer is given once."""
        request = asked.request
        for message, answer in self.open.values():
            told = params(message)
            if message.get("method") != "elicitation/create" or any(it is message for it in self._filled):
                continue
            if (told.get("sessionId"), told.get("message"), told.get("url")) == (
                asked.session_id,
                request.message,
                request.url,
            ):
                self._filled.append(message)
                result = (answer or {}).get("result")
                return result if isinstance(result, dict) else {}
        return {}

    def _by_messages(self, session: str, request: PermissionRequest) -> Decision | None:
        """Of a recording that does not tell who answered: from what the agent was told."""
        for asked, answer in self.open.values():
            told = params(asked)
            if answer is None or told.get("sessionId") != session:
                continue
            tool = told.get("toolCall")
            if isinstance(tool, dict) and tool.get("toolCallId") == request.tool.id:
                outcome = (answer.get("result") or {}).get("outcome") or {}
                return Decision(outcome.get("optionId"), "recording")
            if asked.get("method") in ("fs/write_text_file", "terminal/create"):
                said = "reject" if "error" in answer else "allow"
                return decide(said, request.options, by="recording")
        return None

    def terminal(self, session: str, command: str, arguments: tuple[str, ...]) -> tuple[str | None, str]:
        """The id that the terminal for a command had; or None, and why it could not be run."""
        for asked, answer in self.open.values():
            told = params(asked)
            words = (told.get("command"), *(told.get("args") or ()))
            if asked.get("method") != "terminal/create" or told.get("sessionId") != session:
                continue
            if words == (command, *arguments) and answer is not None:
                id = (answer.get("result") or {}).get("terminalId")
                if id is not None and (session, id) not in self._terminals:
                    return str(id), ""
                if "error" in answer:
                    return None, str((answer["error"] or {}).get("message"))
        return None, "the recording does not tell what became of it"

    def follow(self, session: str, id: str, told: Callable[[client_actions.ClientAction], None]) -> None:
        """What a command wrote and how it ended is told to this from now on."""
        self._terminals[session, id] = told

    def ends_later(self, session: str, id: str) -> bool:
        """Whether the end of a command is still to be told."""
        return any(
            it.direction == "did"
            and (it.message.get("session"), it.message.get("id")) == (session, id)
            and it.message.get("status") in ("exited", "killed")
            for it in (*([] if self._script.head is None else [self._script.head]), *self._script.later())
        )

    def provide(self, request: dict[str, Any], answer: dict[str, Any] | None) -> None:
        """Before the agent reads or writes a file, or looks at a terminal: what that was then."""
        told, name = params(request), request.get("method")
        path = told.get("path")
        if name == "fs/write_text_file" or (name == "fs/read_text_file" and _is_notebook(path)):
            known, text = self._script.before(str(path))
            if known:
                self._set_file(path, text)
        elif name == "fs/read_text_file" and not (told.get("line") or told.get("limit")):
            content = ((answer or {}).get("result") or {}).get("content")
            if content == "" and self._script.quirks.missing_reads_empty:
                self._remove_file(path)  # if it was there and empty, what came before its next write says so
            elif isinstance(content, str):
                self._set_file(path, content)
        elif not self._script.tells_deeds and str(name).startswith("terminal/"):
            result = (answer or {}).get("result")
            if isinstance(result, dict):
                where = {"session": told.get("sessionId"), "id": told.get("terminalId")}
                self.tell({"what": "answer", **result, **where})

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
        """Files are set in a scratch folder only, where all is ours."""
        if self._scratch is None or not isinstance(path, str):
            return None
        there = os.path.realpath(path)
        return Path(there) if there.startswith(self._scratch + os.sep) else None


def _is_notebook(path: Any) -> bool:
    """Of these the agent is told something else than what is in the file."""
    return str(path).lower().endswith(SUFFIX)
