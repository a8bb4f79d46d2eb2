"""Displays turns and sessions: live in a page, as one static output in a headless run, as text in a terminal.

Nothing is displayed in a script.
Decides by the runtime alone (`notebook.kernel.where`); the panel does the rest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from ..core import events as ev
from ..notebook.kernel import run_on_main, where
from ..notebook.output import current_request, emit
from ..notebook.runtime import for_page

if TYPE_CHECKING:
    from ..agent.conversation import Conversation
    from ..agent.turn_queue import TurnRun
    from ..notebook.output import CellOutput
    from ..notebook.static_bundle import Renderer


class ShownTurn(Protocol):
    """What displaying a turn needs of it."""

    _shown_by: str | None
    _run: TurnRun
    _conversation: Conversation

    @property
    def done(self) -> bool: ...

    def to_text(self) -> str: ...

    def _to_bundle(self) -> dict[str, Any]: ...


READY = (
    "{agent} is ready: %acp TEXT sends a prompt, session.prompt(TEXT) does so from Python. "
    "It asks here for permission; Ctrl-C stops a turn."
)
"""What a new session displays in a terminal."""


class ShownPanel(Protocol):
    """What displaying needs of a session's panel."""

    @property
    def model_id(self) -> str: ...

    @property
    def has_page(self) -> bool: ...

    def show(self) -> None: ...

    def show_in(self, model: str, output: CellOutput) -> None: ...

    def show_turn(self, run: TurnRun) -> None: ...

    def show_sign_in(self) -> None: ...

    def leave(self, run: TurnRun) -> None: ...


class ShownSession(Protocol):
    """What displaying a session needs of it."""

    @property
    def agent(self) -> Any: ...

    @property
    def turns(self) -> tuple[Any, ...]: ...

    def _live_panel(self) -> ShownPanel: ...

    def _to_bundle(self) -> dict[str, Any]: ...

    def _renderer(self) -> Renderer: ...

    def _notebook(
        self, path: str | os.PathLike[str] | None, overwrite: bool, turn: str | None
    ) -> dict[str, Any]: ...


def can_be_asked() -> bool:
    """Whether the calling code runs in a page, so that a question can wait for a click."""
    place = where()
    return place.kernel and place.headless is False


Show = Callable[[ShownSession, ev.SignInChanged], None]
"""Displays a sign-in that the agent requires while a session is being opened."""


Place = Callable[["ShownSession"], None]
"""Shows a session where the user clicked to open it."""

_place: ContextVar[Place | None] = ContextVar("place", default=None)


@contextmanager
def opened_at(place: Place) -> Iterator[None]:
    """Show the sign-in of a session that is opened in this block at the place where the user clicked."""
    token = _place.set(place)
    try:
        with for_page():
            yield
    finally:
        _place.reset(token)


def sign_in_shown() -> Show | None:
    """A callback that shows the agent's sign-in, below the waiting cell or where the user clicked; None if
    nothing can be shown."""
    place = _place.get()
    if place is not None:
        return lambda session, event: None if event.sign_in is None else place(session)
    if not (can_be_asked() and where().main_thread):
        return None
    shown: list[ShownSession] = []

    def show(session: ShownSession, event: ev.SignInChanged) -> None:
        if event.sign_in is not None and not shown:
            shown.append(session)
            run_on_main(lambda: session._live_panel().show_sign_in())

    return show


def may_be_asked_by_text() -> bool:
    """Whether `input()` can ask somebody: in a terminal, or the last resort if no page connects."""
    place = where()
    return (place.kernel or place.terminal) and place.headless is None and place.can_input


def may_be_asked() -> bool:
    """Whether somebody may be able to answer: in a terminal or a kernel that is not known to be headless."""
    place = where()
    return place.terminal or place.page_later or (place.kernel and place.headless is not True)


def present(session: ShownSession, turn: ShownTurn) -> Callable[[], None]:
    """Display the turn below the running cell. Call the returned function when the turn has ended."""
    place = where()
    if place.terminal and place.main_thread:
        return _print_turn(turn)
    if not place.kernel or not (place.main_thread or place.subshell):
        # From another thread, the output would appear below an arbitrary cell.
        return lambda: None
    turn._shown_by = current_request()
    if place.headless is True:
        return lambda: _emit(turn)
    panel = session._live_panel()
    panel.show_turn(turn._run)
    return lambda: None if panel.has_page or place.headless is False else _emit_without_page(panel, turn)


def _print_turn(turn: ShownTurn) -> Callable[[], None]:
    from .console_stream import print_turn

    turn._shown_by = current_request()
    return print_turn(turn._conversation, turn._run)


def _emit_without_page(panel: ShownPanel, turn: ShownTurn) -> None:
    """Emit the turn as text: no page has connected, as in jupyter console."""
    panel.leave(turn._run)
    emit(_with_text(turn))


def display_turn(session: ShownSession, turn: ShownTurn) -> None:
    """Display the turn as the value of a cell: live while it runs, and not twice below the same cell."""
    place = where()
    request = current_request() if place.kernel or place.terminal else None
    if request is not None and request == turn._shown_by:
        return
    if place.kernel and place.headless is not True and not turn.done:
        turn._shown_by = request
        session._live_panel().show_turn(turn._run)
    else:
        _emit(turn)


def display_session(session: ShownSession) -> None:
    """Display the session as the value of a cell: its panel in a page, its transcript elsewhere."""
    place = where()
    if place.page_later or (place.kernel and place.headless is not True):
        session._live_panel().show()
    elif place.terminal and not session.turns:
        print(READY.format(agent=session.agent.name))
    else:
        emit(session._to_bundle())


def _emit(turn: ShownTurn) -> None:
    emit(turn._to_bundle() if where().kernel else _with_text(turn))


def _with_text(turn: ShownTurn) -> dict[str, Any]:
    """The turn for readers of plain text: all of it, where a file keeps a summary."""
    return {**turn._to_bundle(), "text/plain": turn.to_text()}
