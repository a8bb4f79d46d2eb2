"""Collects what `core.describe` needs from the disk, the open notebooks and the agent's quirks.

Decides nothing. Runs on the loop thread; work threads read files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import unquote, urlsplit

from ...core.actions import Action, Command, NotebookWrite
from ...core.describe import (
    CommandContext,
    FileState,
    Phrases,
    WriteClaim,
    claimed_text,
    describe,
    describe_command,
    with_input,
    write_claims,
)
from ...core.ipynb.percent_format import SUFFIX
from ...core.mcp_calls import KnownFunction, Naming
from ...core.snapshot import ToolCall
from ..files import roots as files
from ..files.notebook_files import NotebookFiles
from ..files.open_texts import OpenTexts
from ..files.text_reader import peek
from ..known_agents.quirks import SESSION_ID, Quirks
from ..threads import on_a_thread

OUTSIDE = "Outside the session's folders: its current content is not shown"
ELSEWHERE = "On the agent's own machine: its current content is not known here"


class Describes(Protocol):
    """The part of a describer that the permission manager uses."""

    @property
    def place(self) -> CommandContext: ...

    @property
    def phrases(self) -> Phrases: ...

    async def call(self, tool: ToolCall) -> tuple[Action, ...]: ...


class Describer:
    """Describes tool calls and client requests of one session."""

    def __init__(
        self,
        roots: files.Roots,
        notebooks: NotebookFiles,
        cwd: str,
        environment: Mapping[str, str],
        quirks: Callable[[], Quirks],
        session: Callable[[], str] = lambda: "",
        servers: tuple[str, ...] = (),
        kernel: Callable[[], str] = lambda: "",
        functions: Callable[[], Mapping[str, KnownFunction]] = dict,
        texts: OpenTexts | None = None,
    ) -> None:
        self._roots = roots
        self._texts = texts
        self._notebooks = notebooks
        self._cwd = cwd
        self._environment = environment
        self._quirks = quirks
        self._session = session
        """The session's id, which some agents send with their commands."""
        self._servers = servers
        """The names of the session's MCP servers."""
        self._kernel = kernel
        """The name of the kernel tools server in the session, or "" if there is none."""
        self._functions = functions
        """The user's functions that the session offers."""

    @property
    def place(self) -> CommandContext:
        pairs = self._quirks().harmless_env.items()
        harmless = {name: self._session() if value == SESSION_ID else value for name, value in pairs}
        return CommandContext(
            self._roots.folders[0],
            self._cwd,
            lambda path: self._roots.real(self._absolute(path)),
            self._environment,
            harmless,
        )

    @property
    def phrases(self) -> Phrases:
        quirks = self._quirks()
        return Phrases(
            quirks.command_in_title,
            quirks.command_in_text,
            quirks.folder_in_text,
            quirks.input_in_text,
            self.naming,
            quirks.bookkeeping,
        )

    @property
    def naming(self) -> Naming:
        quirks, kernel = self._quirks(), self._kernel()
        servers = (*self._servers, kernel) if kernel else self._servers
        return Naming(
            quirks.tool_name_in_meta,
            quirks.mcp_in_input,
            quirks.own_servers,
            servers,
            quirks.mcp_in_title,
            kernel,
            self._functions() if kernel else {},
        )

    async def call(self, tool: ToolCall) -> tuple[Action, ...]:
        """The actions that a tool call describes."""
        notebooks, unsaved = {}, {}
        tool = with_input(tool, self.phrases)
        for claim in write_claims(tool):
            if (open_text := await self._unsaved(claim)) is not None:
                unsaved[claim.path] = open_text
            if claim.path.lower().endswith(SUFFIX) and (planned := await self._notebook(claim)) is not None:
                notebooks[claim.path] = planned
        place, phrases = self.place, self.phrases

        def look(path: str) -> FileState:
            return unsaved.get(path) or self._look(path)

        return await on_a_thread(lambda: describe(tool, place, look, notebooks, phrases))

    def command(self, words: str | tuple[str, ...], folder: str, env: Mapping[str, str]) -> Command | None:
        return describe_command(words, folder, env, self.place)

    async def _notebook(self, claim: WriteClaim) -> NotebookWrite | None:
        """What a write would do to the cells; None if that is unknown before the write itself."""
        try:
            place = await self._notebooks.place_of(self._absolute(claim.path))
            if place is None:
                return None
            text = claim.text
            if text is None:
                present = await self._notebooks.text_for_agent(place)
                text = claimed_text(claim, present, exists=present is not None)
            return None if text is None else (await self._notebooks.plan(place, text)).action
        except files.FileTrouble:
            return None

    async def _unsaved(self, claim: WriteClaim) -> FileState | None:
        """The text in a tab that a write would change; None if it would change the file."""
        if self._texts is None or claim.path.lower().endswith(SUFFIX):
            return None
        try:
            place = await on_a_thread(lambda: self._roots.resolve(self._absolute(claim.path)))
        except files.FileTrouble:
            return None
        return await self._texts.state_of(place)

    def _look(self, path: str) -> FileState:
        """The state of a file. Blocks."""
        whole = self._absolute(path)
        try:
            return state_of(self._roots.resolve(whole))
        except files.FileTrouble:
            return (
                _unserved(whole)
                if self._roots.on_disk
                else FileState(self._roots.real(whole), note=ELSEWHERE)
            )

    def _absolute(self, path: str) -> str:
        """The path as the agent's own tools understand it: some of them expand "~" or accept file: URLs."""
        named = _from_url(path)
        expanded = os.path.expanduser(named) if self._roots.on_disk else named  # "~" is a home of theirs
        return os.path.join(self._roots.folders[0], expanded)


def _from_url(path: str) -> str:
    """The path in a file: URL; any other path as it is."""
    try:
        url = urlsplit(path)
    except ValueError:  # for example, a bracket that looks like an IPv6 address
        return path
    return unquote(url.path) if url.scheme == "file" and url.path.startswith("/") else path


def state_of(place: files.ResolvedPath) -> FileState:
    """The state of the file before a write. Blocks. Raises FileTrouble if it cannot be read."""
    target = None if place.path == place.named else place.path
    return FileState(place.named, target, peek(place), os.path.lexists(place.path))


def _unserved(path: str) -> FileState:
    """The state of a file that the client would not write. The agent's own tools may still write it."""
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):  # for example, a NUL character
        return FileState(path, note=OUTSIDE)
    named = os.path.normpath(path)
    return FileState(named, None if real == named else real, note=OUTSIDE)
