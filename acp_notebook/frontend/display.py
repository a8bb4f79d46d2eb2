"""How a turn is shown where it was asked for: live in a page, once and for good in a headless run.

Decides by the place alone (`notebook.kernel.where`); the panel and the static forms do the rest. In a
plain script nothing is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..core import events as ev
from ..notebook.kernel import run_on_main, where
from ..notebook.output import current_request, emit

if TYPE_CHECKING:
    from ..api.session import Session
    from ..api.turn import Turn
    from .panel.session_panel import Panel


def can_be_asked() -> bool:
    """Whether a page stands behind the calling code: then a question waits for a click."""
    place = where()
    return place.kernel and place.headless is False


Show = Callable[["Session", ev.Event], None]
"""Shows what it has to, of an event in a session that is being opened."""


def sign_in_shown() -> Show | None:
    """How a cell that waits for a session shows that the agent wants a sign-in; None: it cannot."""
    if not (can_be_asked() and where().main_thread):
        return None
    shown: list[Session] = []

    def show(session: Session, event: ev.Event) -> None:
        if isinstance(event, ev.SignInChanged) and event.sign_in is not None and not shown:
            shown.append(session)
            run_on_main(lambda: session._live_panel().show_sign_in())

    return show


def may_be_asked_by_text() -> bool:
    """Whether `input()` reaches somebody: where no page has shown itself, that is the last resort."""
    place = where()
    return place.kernel and place.headless is None and place.can_input


def may_be_asked() -> bool:
    """Whether a question may ever reach somebody from here: there is a kernel, and not a headless run."""
    place = where()
    return place.kernel and place.headless is not True


def present(session: Session, turn: Turn) -> Callable[[], None]:
    """Show the turn below the cell that runs; the function returned is to be called when it is over."""
    place = where()
    if not place.kernel or not (place.main_thread or place.subshell):
        # From a thread of the user's it would land below any cell.
        return lambda: None
    turn._shown_by = current_request()
    if place.headless is True:
        return lambda: _emit(turn)
    panel = session._live_panel()
    panel.show_turn(turn._run)
    return lambda: None if panel.has_page or place.headless is False else _emit_instead(panel, turn)


def _emit_instead(panel: Panel, turn: Turn) -> None:
    """No page has shown itself, as in jupyter console: the turn is put out as text, when it is over."""
    panel.leave(turn._run)
    _emit(turn)


def display_turn(session: Session, turn: Turn) -> None:
    """The turn as the value of a cell: nothing if that cell has shown it, live while it is on its way."""
    place = where()
    request = current_request() if place.kernel else None
    if request is not None and request == turn._shown_by:
        return
    if place.kernel and place.headless is not True and not turn.done:
        turn._shown_by = request
        session._live_panel().show_turn(turn._run)
    else:
        _emit(turn)


def display_session(session: Session) -> None:
    """The session as the value of a cell: its panel in a page, its transcript elsewhere."""
    place = where()
    if place.kernel and place.headless is not True:
        session._live_panel().show()
    else:
        emit(session._to_bundle())


def _emit(turn: Turn) -> None:
    emit(turn._to_bundle())
