"""Turns of this process that run at the same time in the same folders, and what each is known to have done.

What one session knows exactly (writes through the client, undos, and the changes of an ended turn) is cut out
of what the others find; what it only claims (files that its tool calls name) is evidence for
`core.attribution`. A turn without another one at the same time costs nothing here. Runs on the loop thread,
except `OtherTurn`, which is read on a work thread.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from ...core.attribution import Call, Other
from ...core.changes import Version
from ...log import logger, suppressed
from ..files.blob_store import BlobRef, Full
from .change_log import ChangeLog, TurnChanges
from .evidence import Evidence

_log = logger(__name__)

MOST_OTHERS = 200
"""Turns that one turn remembers. What earlier ones did is then of unknown origin."""

MOST_UNDOS = 10_000
"""Files that users undo in other sessions while a turn runs."""

_order = itertools.count(1)
_running: list[SharedTurn] = []
"""The turns of this process that have begun, or are about to, and have not ended."""


def next_order() -> int:
    """A number that increases with time."""
    return next(_order)


class Segment(Struct, frozen=True):
    """A change of one file that is known exactly, from one state to another."""

    path: str
    before: Version | None
    after: Version | None
    order: float
    agent: str | None = None
    """The agent of another session that made it; None: this one's, or an undo by the user."""


class Undo(Struct, frozen=True):
    """A file that the user undid or redid in another session, with its states in the log of the turn."""

    path: str
    before: BlobRef | None
    after: BlobRef | None
    order: int


class SharedTurn(Struct, eq=False):
    """A turn, as the other sessions of this process see it."""

    agent: str
    folders: Sequence[str]
    log: ChangeLog
    look: Callable[[], tuple[TurnChanges | None, Evidence | None]]
    """Returns its changes so far, and the evidence, while it is not settled."""
    order: int = field(default_factory=next_order)
    at: int = field(default_factory=time.time_ns)
    """When its checkpoints were begun."""
    others: list[SharedTurn] = field(default_factory=list)
    undos: list[Undo] = field(default_factory=list)
    begun: int | None = None
    ended: int | None = None
    """When its prompt was sent, after the first checkpoint, and when it ended, before the second."""

    def start(self) -> None:
        """Call this before the first checkpoint."""
        for other in _running:
            if share_folders(other.folders, self.folders):
                for one, it in ((self, other), (other, self)):
                    one.others = [*one.others[-MOST_OTHERS + 1 :], it]
        _running.append(self)

    def begin(self) -> None:
        self.begun = next_order()

    def end(self) -> None:
        self.ended = next_order()
        with contextlib.suppress(ValueError):
            _running.remove(self)

    @property
    def is_overlapped(self) -> bool:
        return any(it.begun is not None for it in self.others)

    def is_alone_since(self, order: float) -> bool:
        """Whether no other turn has started since then."""
        return all(it.order < order for it in self.others)

    def known_others(self) -> list[OtherTurn]:
        """What is known about the others now."""
        found = []
        for it in self.others:
            turn, evidence = it.look()
            turn = turn or TurnChanges("", "")
            seen = replace(turn, changes=list(turn.changes), also=list(turn.also))
            found.append(OtherTurn(it.agent, it.log, seen, evidence, it.order < self.order))
        return found


def note_undo(folders: Sequence[str], path: str, before: Version | None, after: Version | None) -> None:
    """Note for all running turns that the user undid or redid a change. Safe from any thread."""
    for it in tuple(_running):
        if len(it.undos) < MOST_UNDOS and share_folders(it.folders, folders):
            with suppressed(_log, OSError, Full):  # then it is of unknown origin
                it.undos.append(Undo(path, it.log.keep(before), it.log.keep(after), next_order()))


class OtherTurn(Struct, frozen=True):
    """What is known about a turn of another session."""

    agent: str
    log: ChangeLog
    turn: TurnChanges
    evidence: Evidence | None
    """None: it is settled, and all its changes are known."""
    is_earlier: bool
    """It began before this one: what it changed by itself may have been changed before."""

    def segments(self, paths: Collection[str], since: float) -> Iterator[tuple[Segment, bool]]:
        """Its own changes of these paths, and for each whether it was made at the time of its order. What an
        agent changed by itself was made at some time in its turn."""
        for change in self.turn.all:
            if change.why_not is not None or change.live or change.order < since or change.via not in OWN:
                continue
            for part in (it for it in change.parts if it.path in paths):
                states = self.log.version(part.before), self.log.version(part.after)
                yield Segment(part.path, *states, change.order, self.agent), change.via == "client"

    def claims(self, since: int, unclear: Sequence[str]) -> Other:
        """What it says it did, as far as it is not known exactly. `unclear`: paths of unusable segments."""
        if self.evidence is None:
            own = [it for it in self.turn.all if it.via in OWN]
            named = frozenset([*unclear, *(it.path for it in own if it.live or it.why_not is not None)])
            return Other(self.agent, (Call("", named), *self.turn.claims))
        calls = [it for it in self.evidence.calls() if it.ended is None or it.ended >= since]
        return Other(self.agent, tuple(map(self.turn.unaccounted, calls)))


OWN = ("client", "agent", "command")
"""How a turn's own changes came about."""


def share_folders(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether one of the folders is one of the others, or above or below it."""
    return any(f"{a}/".startswith(f"{b}/") or f"{b}/".startswith(f"{a}/") for a in mine for b in theirs)
