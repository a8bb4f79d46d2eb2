"""Gathers what `core.describe` needs from the disk, the open notebooks and the agent's quirks.

Decides nothing: a description is the same whoever asks for it. Lives on the loop thread; files are read on
others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Protocol

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
from ...core.mcp_calls import Naming
from ...core.snapshot import ToolCall
from ..files import roots as files
from ..files.notebook_files import NotebookFiles
from ..files.text_reader import peek
from ..known_agents.quirks import SESSION_ID, Quirks
from ..threads import on_a_thread

OUTSIDE = "Outside of the session's folders: what is there now is not shown"


class Describes(Protocol):
    """What the permission manager asks of a describer."""

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
    ) -> None:
        self._roots = roots
        self._notebooks = notebooks
        self._cwd = cwd
        self._environment = environment
        self._quirks = quirks
        self._session = session
        """The session's id, which some agents send with their commands."""
        self._servers = servers
        """The names of the MCP servers that the session was given."""

    @property
    def place(self) -> CommandContext:
        pairs = self._quirks().harmless_env.items()
        harmless = {name: self._session() if value == SESSION_ID else value for name, value in pairs}
        return CommandContext(
            self._roots.folders[0], self._cwd, os.path.realpath, self._environment, harmless
        )

    @property
    def phrases(self) -> Phrases:
        quirks = self._quirks()
        return Phrases(
            quirks.command_in_title,
            quirks.command_in_text,
            quirks.folder_in_text,
            quirks.input_in_text,
            Naming(quirks.tool_name_in_meta, quirks.mcp_in_input, quirks.own_servers, self._servers),
        )

    async def call(self, tool: ToolCall) -> tuple[Action, ...]:
        """The actions that a tool call describes."""
        notebooks = {}
        tool = with_input(tool, self.phrases)
        for claim in write_claims(tool):
            if claim.path.lower().endswith(SUFFIX) and (planned := await self._notebook(claim)) is not None:
                notebooks[claim.path] = planned
        place, phrases = self.place, self.phrases
        return await on_a_thread(lambda: describe(tool, place, self._look, notebooks, phrases))

    def command(self, words: str | tuple[str, ...], folder: str, env: Mapping[str, str]) -> Command | None:
        return describe_command(words, folder, env, self.place)

    async def _notebook(self, claim: WriteClaim) -> NotebookWrite | None:
        """What a write would do to the cells; None where it cannot be known before the write comes."""
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

    def _look(self, path: str) -> FileState:
        """Blocks."""
        whole = self._absolute(path)
        try:
            return state_of(self._roots.resolve(whole))
        except files.FileTrouble:
            return _unserved(whole)

    def _absolute(self, path: str) -> str:
        return os.path.join(self._roots.folders[0], path)


def state_of(place: files.ResolvedPath) -> FileState:
    """The file as a write would find it. Blocks; raises FileTrouble where it cannot be looked at."""
    target = None if place.path == place.named else place.path
    return FileState(place.named, target, peek(place), os.path.lexists(place.path))


def _unserved(path: str) -> FileState:
    """A file that we would not write ourselves: the agent may, by its own means."""
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):  # a NUL in it, say
        return FileState(path, note=OUTSIDE)
    named = os.path.normpath(path)
    return FileState(named, None if real == named else real, note=OUTSIDE)
