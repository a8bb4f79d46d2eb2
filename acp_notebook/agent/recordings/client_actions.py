"""Client actions in the format of a recording: what the client does that no message contains.

A recorder writes them. A replay waits until the client performs the same action, or supplies it for the user
who clicked or the command that wrote output.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from ...core import events as ev
from ...core.actions import ASKED_BY_TOOLS
from ...core.records import KernelRun, content_from_plain, plain
from ..event_bus import EventBus
from ..tap import AsideTap, ChangedFiles
from ..transport import CLOSED, Ending, Interrupted, LinkChange, MessagesLost, Restored, Silent

ClientAction = dict[str, Any]

MOST_BEFORE = 1_000_000
"""Characters of a file before a write. A longer text is not kept."""

MOST_STDERR = 10_000

OUR_OPTIONS = {"allow", "reject"}
"""The option ids of questions that the client asks on its own."""


def folders(cwd: str, roots: Sequence[str], *, covered: bool = False) -> ClientAction:
    """A session is about to open in these folders. `covered`: whether it has checkpoints."""
    more = {"covered": True} if covered else {}
    return {"what": "folders", "cwd": cwd, "roots": list(roots)} | more


def before(session: str, path: str, text: str | None) -> ClientAction:
    """A file is about to be written. `text`: its content, or None if it is missing or not text."""
    kept = text if text is not None and len(text) <= MOST_BEFORE else None
    return {"what": "before", "session": session, "path": path, "text": kept}


def ended(ending: Ending | None, untaken: Sequence[int] = ()) -> ClientAction:
    """The connection ended: the client closed it, or the agent ended before it read requests (`untaken`)."""
    if ending is None or ending.error is not None or ending.reason == CLOSED:
        return {"what": "closed"}
    stderr = ending.stderr[-MOST_STDERR:]
    action = {"what": "ended", "reason": ending.reason, "exit_code": ending.exit_code, "stderr": stderr}
    if ending.is_lost:  # of a connection, which a remote agent may have survived
        action |= {"lost": True, "may_pass": ending.may_pass}
    return action | ({"untaken": list(untaken)} if untaken else {})


def link(change: LinkChange) -> ClientAction:
    """The connection to a remote agent was interrupted or restored, or lost messages."""
    match change:
        case Interrupted(reason):
            return {"what": "link", "change": "interrupted", "reason": reason}
        case MessagesLost(session, earlier):
            more = {"earlier": True} if earlier else {}
            return {"what": "link", "change": "lost", "session": session} | more
        case Silent(session):
            return {"what": "link", "change": "silent", "session": session}
    return {"what": "link", "change": "restored"}


def link_change(action: ClientAction) -> LinkChange | None:
    """The inverse of `link`."""
    session = str(action.get("session"))
    match action.get("change"):
        case "interrupted":
            return Interrupted(str(action.get("reason")))
        case "lost":
            return MessagesLost(session, action.get("earlier") is True)
        case "silent":
            return Silent(session)
        case "restored":
            return Restored()
    return None


def history(session: str, updates: Sequence[Any]) -> ClientAction:
    """The history of a session was read on a connection of its own; no updates: that failed."""
    return {"what": "aside", "session": session, "updates": list(updates)}


class ActionTap:
    """The part of a `Tap` that converts what the client does into recorded actions."""

    @abstractmethod
    def record_action(self, action: ClientAction) -> None: ...

    def opening(self, cwd: str, roots: Sequence[str], *, covered: bool) -> None:
        self.record_action(folders(cwd, roots, covered=covered))

    def link_changed(self, change: LinkChange) -> None:
        self.record_action(link(change))

    def aside(self, session: str) -> AsideTap | None:
        """Only a recorder observes another connection."""
        return None

    def before_write(self, session: str, path: str, text: str | None) -> None:
        self.record_action(before(session, path, text))

    async def turn_changed(
        self, session: str, turn: int, changed: ChangedFiles, spelled: Callable[[str], str]
    ) -> None:
        """Only a recorder keeps files."""

    def follow(self, events: EventBus, session: Callable[[], str], made: Callable[[str], bool]) -> None:
        def note(action: ClientAction) -> None:
            self.record_action(action | {"session": session()})

        def terminal(what: str, event: ev.TerminalChanged | ev.TerminalOutput) -> None:
            if made(event.id):  # otherwise the agent runs it, and its messages contain the output
                note({"what": what} | _fields(event))

        def card(event: ev.ToolChanged) -> None:
            run = shown_run(event)
            if run is not None:
                if kept.get(event.id) != (run.run_id, run.status):  # the final state contains the outputs
                    kept[event.id] = (run.run_id, run.status)
                    note(ran(event, run))
            elif event.unprompted is True or event.id.startswith("acp:"):
                note({"what": "card", "id": event.id})

        def asked(event: ev.QuestionAsked) -> None:
            # A replay has no kernel tools, so it asks no questions about them.
            of_kernel = event.raw is None and any(isinstance(it, ASKED_BY_TOOLS) for it in event.actions)
            if of_kernel and {it.id for it in event.options} == OUR_OPTIONS:
                kernel_questions.add(event.id)
            else:
                note({"what": "asked", "id": event.id, "tool": event.tool_id})

        def settled(event: ev.QuestionSettled) -> None:
            if event.id not in kernel_questions:
                note({"what": "settled"} | _fields(event))

        kept: dict[str, tuple[str, str]] = {}
        kernel_questions: set[str] = set()

        def filled(event: ev.ElicitationSettled) -> None:
            action = {"what": "filled", "id": event.id, "action": event.action, "by": event.by}
            note(action | ({"reason": event.reason} if event.reason is not None else {}))

        events.on(ev.QuestionAsked, asked)
        events.on(ev.QuestionSettled, settled)
        events.on(ev.ElicitationOpened, lambda it: note({"what": "form", "id": it.id}))
        events.on(ev.ElicitationSettled, filled)  # the response contains the values
        events.on(ev.TerminalChanged, lambda it: terminal("terminal", it))
        events.on(ev.TerminalOutput, lambda it: terminal("output", it))
        events.on(ev.ToolChanged, card)


def key(action: ClientAction) -> tuple[Any, ...]:
    """What identifies an action, for comparing recorded and current ones."""
    return tuple(repr(action.get(name)) for name in ("what", "session", "id", "path", "status", "released"))


def shown_run(event: ev.ToolChanged) -> KernelRun | None:
    """The kernel run on the card of a tool call, or None."""
    content = event.content if isinstance(event.content, tuple) else ()
    return next((it for it in content if isinstance(it, KernelRun)), None)


def ran(event: ev.ToolChanged, run: KernelRun) -> ClientAction:
    """The state of a kernel run on the card of a tool call, without what differs in a replay: the numbers of
    the user's cells, and the ids of another session."""
    session = None if run.session is None else replace(run.session, id=None, model=None)
    run = replace(run, after=None, session=session)
    return {"what": "run", "id": event.id, "title": str(event.title), "run": plain(run)}


def run_event(action: ClientAction) -> ev.ToolChanged | None:
    """The inverse of `ran`."""
    run, title = action.get("run"), action.get("title")
    found = content_from_plain(run) if isinstance(run, dict) else None
    if not isinstance(found, KernelRun):
        return None
    return ev.ToolChanged(str(action.get("id")), title=str(title), kind="execute", content=(found,))


def is_replayed(action: ClientAction) -> bool:
    """Whether a command, the kernel or the network performed the action, so that the replay supplies it."""
    return action["what"] in ("output", "run", "link") or (
        action["what"] == "terminal" and action.get("status") in ("exited", "killed")
    )


def _fields(event: ev.QuestionSettled | ev.TerminalChanged | ev.TerminalOutput) -> ClientAction:
    fields = {name: getattr(event, name) for name in event.__struct_fields__ if name != "person"}
    return {name: value for name, value in fields.items() if value is not ev.UNSET}
