"""The backends of a session: transport, terminals, checkpoints and known answers.

`connect` chooses them once: for a process (`live`) or a recording (`recordings.replay_backends`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from ..core.events import Event
from .files.roots import Roots
from .known_answers import KnownAnswers, NoAnswers
from .session_state import SessionState
from .tap import Tap
from .terminals.contract import SessionTerminals
from .terminals.session_terminals import Terminals
from .transport import LOCAL, Reach, Transport
from .undo.checkpoints import Checkpoints
from .undo.contract import TurnCheckpoints

ELSEWHERE = "the agent's files are on its own machine"
"""Why a remote agent has no checkpoints."""


class Backends(Struct, frozen=True):
    """Creates what differs between a running agent and a recorded one."""

    transport: Callable[[], Transport]
    terminals: Callable[[SessionState], SessionTerminals]
    checkpoints: Callable[[SessionState, Roots], TurnCheckpoints]
    answers: KnownAnswers = field(default_factory=NoAnswers)
    tap: Tap | None = None
    controlled_by: Callable[[Callable[[str], None]], None] = lambda cancel: None
    """Receives the function that cancels the turn of a session, given its id."""
    history: Callable[[str], list[Event]] | None = None
    """The recorded history of a session, given its id; None: read it from the agent."""


def live(
    transport: Callable[[], Transport],
    *,
    env: Mapping[str, str],
    undo: bool = True,
    tap: Tap | None = None,
    reach: Reach = LOCAL,
) -> Backends:
    """The backends of a running agent. `env`: the environment of its commands."""
    never = None if reach.is_local else ELSEWHERE
    return Backends(
        transport,
        lambda state: Terminals(env, state.apply),
        lambda state, roots: Checkpoints(roots.folders, on=undo, never=never),
        tap=tap,
    )
