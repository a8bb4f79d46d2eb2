"""Serves the client methods for files and commands. Every action needs permission and is audited.

`files` locates and writes files, `terminals` runs commands, `permissions` decides. Knows no protocol. Runs on
the loop thread; work threads access files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial

from msgspec import Struct

from ..core.actions import Action, Command, Write
from ..core.describe import describe_write
from ..core.events import ToolChanged
from ..core.grants import inside
from ..core.ipynb.percent_format import is_notebook_diff
from ..core.records import Content, Diff, Location, Terminal, Text
from ..core.requests import CreateTerminalRequest, ReadTextFileRequest, WriteTextFileRequest
from ..core.snapshot import ToolCall
from .files.notebook_files import is_notebook
from .files.open_texts import UnsavedText
from .files.roots import FileTrouble, Refused, ResolvedPath, visible
from .files.text_reader import peek, read_text
from .files.text_writer import Written, write_text
from .permissions.describer import state_of
from .permissions.permission_manager import Denied, PermissionManager, Permit
from .session_state import SessionState
from .terminals.contract import AnyTerminal
from .terminals.session_terminals import TerminalTrouble
from .threads import on_a_thread
from .undo.change_tracker import ChangeTracker
from .user_dirs import config_folder, state_folder
from .workspace import Workspace


class _Write(Struct, frozen=True):
    """A planned write: what a question shows, and the function that performs it."""

    asked: str
    path: str
    """The resolved path."""
    action: Action
    shown: Content
    work: Callable[[str], Awaitable[Written]]
    """Performs the write, given the id of the tool call."""
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


class _Run(Struct, frozen=True):
    """A planned command: what a question shows, the folder that it starts in, and whether a shell runs it."""

    action: Command
    folder: str
    shell: bool


class ClientServices:
    """Serves the client methods of one session: files and terminals."""

    def __init__(
        self,
        state: SessionState,
        workspace: Workspace,
        permissions: PermissionManager,
        changes: ChangeTracker,
    ) -> None:
        self.terminals = workspace.terminals
        self.notebooks = workspace.notebooks
        self._texts = workspace.texts
        self._state = state
        self._roots = workspace.roots
        self._describer = workspace.describer
        self._cards = workspace.cards
        self._permissions = permissions
        self._changes = changes
        self._auditor = state.auditor
        self._writing = asyncio.Lock()

    # ---- files ----------------------------------------------------------------------------------

    async def read(self, asked: ReadTextFileRequest) -> str:
        """Read a file in the session's folders. Needs no question, but a rule can forbid it."""
        try:
            place = await on_a_thread(lambda: self._roots.resolve(asked.path))
            self._permissions.check_read(place.path)
            if is_notebook(place):
                await self._note_notebook(place)
                text = await self.notebooks.read(place, asked.line, asked.limit)
            elif (unsaved := await self._texts.find(place, reading=True)) is not None:
                text = self._texts.lines(unsaved, asked.line, asked.limit)
            else:
                text = await on_a_thread(lambda: read_text(place, asked.line, asked.limit))
        except (FileTrouble, Denied) as error:
            self._auditor.note("act", "read", asked.path, by="client", outcome="failed", reason=str(error))
            raise
        self._auditor.note("act", "read", asked.path, by="client", outcome="done", characters=len(text))
        return text

    async def write(
        self, asked: WriteTextFileRequest, *, own: ToolCall | None = None, context: tuple[Action, ...] = ()
    ) -> None:
        """Write a file after permission. `own`: the agent's tool call that writes, if known; `context`:
        what else is known about the call."""
        write = await self._plan(asked)
        always = write.warning is not None
        permit = await self._permissions.permit(
            write.action, write.card, always=always, own=own, context=context
        )
        # Once permitted, the write completes even if the agent cancels its request: the audit stays whole.
        await asyncio.shield(self._state.agent.background(self._write(asked, write, permit)))

    async def _plan(self, asked: WriteTextFileRequest) -> _Write:
        self._auditor.note("request", "edit", asked.path)
        try:
            place = await on_a_thread(lambda: self._look(asked.path))
            if is_notebook(place):
                await self._note_notebook(place)
                return await self._plan_notebook(asked, place)
            unsaved = await self._texts.find(place, reading=False)
            if unsaved is not None:
                return self._plan_unsaved(asked, unsaved)
            state = await on_a_thread(lambda: state_of(place))
            self._record_before(asked.path, state.text)
            action = describe_write(state, asked.text)
            write = partial(write_text, place, asked.text, state)
            work = partial(self._changes.write_file, place.path, write)
            return _Write(asked.path, place.path, action, _shown_write(asked, action), work)
        except FileTrouble as error:
            self._auditor.note("act", "edit", asked.path, by="client", outcome="failed", reason=str(error))
            raise

    def _plan_unsaved(self, asked: WriteTextFileRequest, unsaved: UnsavedText) -> _Write:
        """A write to a file with unsaved changes: in its tab."""
        self._record_before(asked.path, unsaved.text)
        action = describe_write(unsaved.state, asked.text)
        path = unsaved.place.path
        work = partial(self._changes.write_open, path, partial(self._texts.write, unsaved, asked.text))
        return _Write(asked.path, path, action, _shown_write(asked, action), work)

    def _record_before(self, path: str, text: str | None) -> None:
        """Record the current content of the file."""
        if (tap := self._state.agent.tap) is not None:
            tap.before_write(self._state.id, path, text)

    async def _note_notebook(self, place: ResolvedPath) -> None:
        """Record the notebook file. Needed for reads too: the agent sees a notebook in another form."""
        if (tap := self._state.agent.tap) is not None and tap.keeps_files:
            self._record_before(place.asked, await on_a_thread(lambda: peek(place)))

    async def _plan_notebook(self, asked: WriteTextFileRequest, place: ResolvedPath) -> _Write:
        plan = await self.notebooks.plan(place, asked.text)
        write = partial(self.notebooks.write, place, asked.text, plan)
        work = partial(self._changes.write_open, place.path, write)
        return _Write(asked.path, place.path, plan.action, plan.shown, work, plan.drastic)

    def _look(self, path: str) -> ResolvedPath:
        """Resolve the path. Raises Refused if agents may not write there."""
        place = self._roots.resolve(path)
        if inside(os.path.realpath(config_folder()), place.path):
            raise Refused(f"{visible(path)} controls what agents may do: no agent may write it")
        if inside(os.path.realpath(state_folder()), place.path):
            raise Refused(f"{visible(path)} belongs to the undo data: no agent may write it")
        return place

    async def _write(self, asked: WriteTextFileRequest, write: _Write, permit: Permit) -> None:
        async with self._writing:  # in the order of the permissions
            try:
                written = await write.work(permit.tool)
            except FileTrouble as error:
                self._permissions.finished(permit, "failed")
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
        self._permissions.finished(permit, "completed")
        self._auditor.note(
            "act",
            "edit",
            written.path,
            by="client",
            outcome="done",
            bytes=len(written.data),
            created=written.created or None,
            tool=permit.tool,
            unprompted=permit.unprompted or None,
        )

    def _show_cells(self, write: _Write, permit: Permit) -> None:
        """Show the changed cells on the agent's own tool call. The client's card shows them already."""
        if permit.card is not None or not isinstance(write.shown, Diff) or not is_notebook_diff(write.shown):
            return
        content = self._state.read(lambda transcript: transcript.tool(permit.tool).content)
        self._state.apply(self._cards.on_write(permit.tool, content, write.shown))

    # ---- commands -------------------------------------------------------------------------------

    async def create(self, asked: CreateTerminalRequest) -> AnyTerminal:
        target = " ".join([asked.command, *asked.args])
        self._auditor.note("request", "execute", target)
        try:
            planned = await on_a_thread(lambda: self._plan_command(asked))
            target = planned.action.text
            permit = await self._permissions.permit(planned.action, partial(_shown_command, planned.action))
            await self._check_unchanged(asked, planned, permit)
            terminal = self._start(asked, planned, permit)
        except (FileTrouble, TerminalTrouble) as error:
            self._auditor.note("act", "execute", target, by="client", outcome="failed", reason=str(error))
            raise
        self._state.agent.background(self._follow(terminal, permit, target))
        return terminal

    def _plan_command(self, asked: CreateTerminalRequest) -> _Run:
        folder = self._folder(asked.cwd or self._state.cwd)
        shell = self.terminals.uses_shell(asked.command, asked.args, cwd=folder, env=asked.env)
        words = asked.command if shell else (asked.command, *asked.args)
        action = self._describer.command(words, folder, asked.env)
        if action is None:
            raise TerminalTrouble("the command is empty or contains a NUL character")
        return _Run(action, folder, shell)

    async def _check_unchanged(self, asked: CreateTerminalRequest, planned: _Run, permit: Permit) -> None:
        """Raise TerminalTrouble if the command would not run where the question said: a link was swapped."""
        try:
            now = await on_a_thread(lambda: self._plan_command(asked))
        except (FileTrouble, TerminalTrouble):
            now = None
        if now != planned:
            self._permissions.finished(permit, "failed")
            raise TerminalTrouble(
                "the folder or the program changed while the user was asked: nothing was run"
            )

    def _folder(self, cwd: str) -> str:
        folder = self._roots.resolve(cwd).path
        if not os.path.isdir(folder):
            raise TerminalTrouble(f"the folder {visible(cwd)} does not exist")
        return folder

    def _start(self, asked: CreateTerminalRequest, planned: _Run, permit: Permit) -> AnyTerminal:
        run = self._state.running
        if not self._state.accepts_actions:  # the turn ended while the question was open
            self._permissions.finished(permit, "cancelled")
            raise TerminalTrouble("the turn was cancelled")
        try:
            terminal = self.terminals.create(
                asked.command,
                asked.args,
                cwd=planned.folder,
                env=asked.env,
                byte_limit=asked.byte_limit,
                turn=run,
                shell=planned.shell,
            )
        except TerminalTrouble:
            self._permissions.finished(permit, "failed")
            raise
        if permit.card is not None:
            shown = ToolChanged(permit.card, status="in_progress", content=(Terminal(terminal.id),))
            self._state.apply(shown)
        return terminal

    async def _follow(self, terminal: AnyTerminal, permit: Permit, target: str) -> None:
        exit = await terminal.wait()
        self._permissions.finished(permit, "completed" if exit.code == 0 else "failed")
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


def _shown_write(asked: WriteTextFileRequest, action: Write) -> Content:
    if action.new_text is None:
        return Text(action.note or "")
    if action.note is not None:
        return Text(f"{action.note}, by:\n{asked.text}")
    return Diff(asked.path, asked.text, action.old_text)


def _shown_command(action: Command, id: str) -> ToolChanged:
    return ToolChanged(
        id,
        title=action.text,
        kind="execute",
        status="pending",
        raw_input={"command": action.line},
        unprompted=True,
        created=True,
    )


__all__ = ["ClientServices", "Denied", "FileTrouble", "TerminalTrouble"]
