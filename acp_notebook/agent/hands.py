"""What the client does for an agent: it reads and writes files and runs commands; all is allowed and noted.

Knows no protocol. Where files are and how they are written is `files`' business, how commands are run
`terminals`', who allows them `permits`'. Lives on the loop thread; files are touched on others.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ..core.acts import Act, Command
from ..core.events import ToolChanged
from ..core.facts import ReadAsked, TerminalAsked, WriteAsked
from ..core.grants import inside
from ..core.ipynb.scripts import is_notebooks
from ..core.records import Content, Diff, Location, Terminal, Text
from .auditing import Auditor
from .files.notebook_files import NotebookFiles
from .files.reading import peek, read_text
from .files.roots import FileTrouble, Place, Refused, Roots, visible
from .files.writing import Written, write_text
from .permissions.grant_store import config_folder
from .permissions.permits import Denied, Permit, Permits
from .recordings import deeds
from .recordings.replayed_terminals import AnyTerminal, AnyTerminals
from .terminals.session_terminals import TerminalTrouble
from .threads import on_a_thread
from .user_dirs import state_folder

if TYPE_CHECKING:
    from .conversation import Conversation

SHOWN_CHARS = 1_000_000
"""Of a text that is written: a longer one is named, not shown as a diff."""

LOADERS = (
    *("PATH", "LD_", "DYLD_", "PYTHON", "NODE_", "PERL", "RUBY", "BASH_", "ENV", "IFS", "SHELLOPTS", "GIT_"),
    *("R_", "JULIA_", "JAVA_", "CLASSPATH", "PS4", "PROMPT_COMMAND", "EDITOR", "VISUAL", "LESSOPEN"),
)
"""Variables, or how their names begin, that decide what a command really runs."""

HARMLESS = ("GIT_TERMINAL_PROMPT", "GIT_PAGER", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "NODE_NO_WARNINGS")


@dataclass(frozen=True, slots=True)
class _Write:
    """A write that can be asked about, and carried out."""

    asked: str
    path: str
    shown: Content
    work: Callable[[str], Awaitable[Written]]
    """Carries it out, given the id of its tool call."""
    warning: str | None = None

    def card(self, id: str) -> ToolChanged:
        title = f"Write {visible(os.path.basename(self.asked))}"
        return ToolChanged(
            id,
            title=title if self.warning is None else f"{title}: {self.warning}",
            kind="edit",
            status="pending",
            content=(self.shown,),
            locations=(Location(self.asked),),
            unprompted=True,
            created=True,
        )


class Hands:
    """One session's."""

    def __init__(
        self,
        conversation: Conversation,
        roots: Roots,
        terminals: AnyTerminals,
        permits: Permits,
        auditor: Auditor,
        notebooks: NotebookFiles,
    ) -> None:
        self.terminals = terminals
        self.notebooks = notebooks
        self._conversation = conversation
        self._roots = roots
        self._permits = permits
        self._auditor = auditor
        self._writing = asyncio.Lock()

    # ---- files ----------------------------------------------------------------------------------

    async def read(self, asked: ReadAsked) -> str:
        """Inside the session's folders nobody is asked; a rule of the user's can say no."""
        try:
            await on_a_thread(lambda: self._permits.check_read(asked.path))
            place = await self.notebooks.place_of(asked.path)
            if place is not None:
                await self._note_notebook(asked.path)
                text = await self.notebooks.read(place, asked.line, asked.limit)
            else:
                text = await on_a_thread(lambda: read_text(self._roots, asked.path, asked.line, asked.limit))
        except (FileTrouble, Denied) as error:
            self._auditor.note("act", "read", asked.path, by="client", outcome="failed", reason=str(error))
            raise
        self._auditor.note("act", "read", asked.path, by="client", outcome="done", characters=len(text))
        return text

    async def write(self, asked: WriteAsked) -> None:
        # Once it is allowed it is carried out, also if the agent takes its request back meanwhile: half a
        # story in the audit helps nobody.
        write = await self._planned(asked)
        permit = await self._permits.permit(
            Act("edit", write.path), write.card, always=write.warning is not None
        )
        await asyncio.shield(self._conversation.host.background(self._write(asked, write, permit)))

    async def _planned(self, asked: WriteAsked) -> _Write:
        self._auditor.note("request", "edit", asked.path)
        try:
            place = await on_a_thread(lambda: self._look(asked.path))
            notebook = await self.notebooks.place_of(asked.path)
            if notebook is not None:
                await self._note_notebook(asked.path)
                return await self._planned_notebook(asked, notebook)
            before = await self._note_before(asked.path)
            shown = _shown_write(asked, before, os.path.lexists(place))
            write = partial(write_text, self._roots, asked.path, asked.text)
            work = partial(self._conversation.undoing.write_file, place, write)
            return _Write(asked.path, place, shown, work)
        except FileTrouble as error:
            self._auditor.note("act", "edit", asked.path, by="client", outcome="failed", reason=str(error))
            raise

    async def _note_before(self, path: str) -> str | None:
        """The file as it is, also for a recording."""
        before = await on_a_thread(lambda: peek(self._roots, path))
        self._conversation.host.did(deeds.before(self._conversation.id, path, before))
        return before

    async def _note_notebook(self, path: str) -> None:
        """Also when it is read: what an agent is told of a notebook is not what is in the file."""
        if self._conversation.host.recording:
            await self._note_before(path)

    async def _planned_notebook(self, asked: WriteAsked, place: Place) -> _Write:
        run = self._conversation.running
        protected = None if run is None else run.cell
        plan = await self.notebooks.plan(place, asked.text, protected)
        write = partial(self.notebooks.write, place, asked.text, protected, plan)
        work = partial(self._conversation.undoing.write_notebook, plan.path, write)
        return _Write(asked.path, plan.path, plan.shown, work, plan.drastic)

    def _look(self, path: str) -> str:
        """Where the path leads, if an agent may write there."""
        place = self._roots.resolve(path)
        if inside(os.path.realpath(config_folder()), place.path):
            raise Refused(f"{visible(path)} decides what agents may do: no agent may write it")
        if inside(os.path.realpath(state_folder()), place.path):
            raise Refused(f"{visible(path)} belongs to what can be undone: no agent may write it")
        return place.path

    async def _write(self, asked: WriteAsked, write: _Write, permit: Permit) -> None:
        async with self._writing:  # in the order in which they were allowed
            try:
                written = await write.work(permit.tool)
            except FileTrouble as error:
                self._permits.finished(permit, "failed")
                self._auditor.note(
                    "act",
                    "edit",
                    asked.path,
                    by="client",
                    outcome="failed",
                    reason=str(error),
                    tool=permit.tool,
                )
                raise
        self._show_cells(write, permit)
        self._permits.finished(permit, "completed")
        self._auditor.note(
            "act",
            "edit",
            written.path,
            by="client",
            outcome="done",
            bytes=written.size,
            created=written.created or None,
            tool=permit.tool,
            unprompted=permit.unprompted or None,
        )

    def _show_cells(self, write: _Write, permit: Permit) -> None:
        """The agent's own call shows what it did to a notebook; a card of ours does already."""
        if permit.card is not None or not isinstance(write.shown, Diff) or not is_notebooks(write.shown):
            return
        content = self._conversation.read(lambda transcript: transcript.tool(permit.tool).content)
        self._conversation.apply(self._conversation.cards.wrote(permit.tool, content, write.shown))

    # ---- commands -------------------------------------------------------------------------------

    async def create(self, asked: TerminalAsked) -> AnyTerminal:
        cwd = asked.cwd or self._conversation.cwd
        target = " ".join([asked.command, *asked.args])
        self._auditor.note("request", "execute", target)
        try:
            folder = await on_a_thread(lambda: self._folder(cwd))
            permit = await self._permits.permit(
                Act("execute", folder, _judged(asked)), lambda id: _shown_command(id, target)
            )
            terminal = self._start(asked, folder, permit)
        except (FileTrouble, TerminalTrouble) as error:
            self._auditor.note("act", "execute", target, by="client", outcome="failed", reason=str(error))
            raise
        self._conversation.host.background(self._follow(terminal, permit, target))
        return terminal

    def _folder(self, cwd: str) -> str:
        folder = self._roots.resolve(cwd).path
        if not os.path.isdir(folder):
            raise TerminalTrouble(f"the folder {visible(cwd)} does not exist")
        return folder

    def _start(self, asked: TerminalAsked, folder: str, permit: Permit) -> AnyTerminal:
        run = self._conversation.running
        if run is None or run.cancelling:  # since it was allowed
            self._permits.finished(permit, "cancelled")
            raise TerminalTrouble("the turn was cancelled")
        try:
            terminal = self.terminals.create(
                asked.command, asked.args, cwd=folder, env=asked.env, byte_limit=asked.byte_limit, turn=run
            )
        except TerminalTrouble:
            self._permits.finished(permit, "failed")
            raise
        if permit.card is not None:
            shown = ToolChanged(permit.card, status="in_progress", content=(Terminal(terminal.id),))
            self._conversation.apply(shown)
        return terminal

    async def _follow(self, terminal: AnyTerminal, permit: Permit, target: str) -> None:
        exit = await terminal.wait()
        self._permits.finished(permit, "completed" if exit.code == 0 else "failed")
        self._auditor.note(
            "act",
            "execute",
            target,
            by="client",
            outcome="done" if exit.code == 0 else "failed",
            reason=None if exit.signal is None else f"ended by {exit.signal}",
            exit_code=exit.code,
            tool=permit.tool,
            unprompted=permit.unprompted or None,
        )


def _shown_write(asked: WriteAsked, before: str | None, known: bool) -> Content:
    if len(asked.text) > SHOWN_CHARS:
        return Text(f"{len(asked.text):,} characters")
    if before is None and known:
        return Text(f"Replaces what is there, which is no text that can be shown, by:\n{asked.text}")
    return Diff(asked.path, asked.text, before)


def _shown_command(id: str, target: str) -> ToolChanged:
    return ToolChanged(
        id,
        title=target,
        kind="execute",
        status="pending",
        raw_input={"command": target},
        unprompted=True,
        created=True,
    )


def _judged(asked: TerminalAsked) -> Command:
    """The command as it is judged: with the variables that decide what it runs."""
    words = (asked.command, *asked.args)
    loaders = [f"{name}={value}" for name, value in sorted(asked.env.items()) if _is_loader(name)]
    if loaders:
        words = words if asked.args else ("sh", "-c", asked.command)
        return ("env", *loaders, *words)
    return words if asked.args else asked.command


def _is_loader(name: str) -> bool:
    return name.upper().startswith(LOADERS) and name not in HARMLESS


__all__ = ["Denied", "FileTrouble", "Hands", "TerminalTrouble"]
