"""The backends of a replay: transport, answers, terminals and changed files come from a recording."""

from __future__ import annotations

import os
from functools import partial

from ...core.events import ToolChanged
from ..backends import Backends
from ..files.roots import Roots
from ..kernel_tools.cards import KernelCards
from ..session_state import SessionState
from .replay import Replay, ReplayTransport
from .replayed_checkpoints import ReplayedCheckpoints
from .replayed_terminals import ReplayedTerminals


class ReplayedRuns:
    """Shows recorded kernel runs on the cards of their tool calls."""

    def __init__(self, state: SessionState) -> None:
        self._state = state
        self._cards: KernelCards | None = None

    def show(self, event: ToolChanged) -> None:
        if self._cards is None:
            self._cards = cards = KernelCards()
            rewrite = self._state.rewrite
            self._state.rewrite = lambda event: cards.seen(rewrite(event))
        self._cards.take(event.id)
        self._state.apply(event)


def replayed(replay: Replay) -> Backends:
    """The backends of a replay. They run nothing and ask no one."""

    def terminals(state: SessionState) -> ReplayedTerminals:
        replay.responders.follow_runs(lambda: state.id, ReplayedRuns(state).show)
        return ReplayedTerminals(replay.responders, lambda: state.id, state.apply)

    def checkpoints(state: SessionState, roots: Roots) -> ReplayedCheckpoints:
        folders = {given: os.path.realpath(given) for given in (state.cwd, *state.directories)}
        changes_of = partial(replay.changed, lambda: state.id, folders)
        return ReplayedCheckpoints(roots, changes_of, scratch=replay.scratch)

    return Backends(
        lambda: ReplayTransport(replay),
        terminals,
        checkpoints,
        replay.responders,
        replay,
        replay.set_stop,
        replay.history,
    )
