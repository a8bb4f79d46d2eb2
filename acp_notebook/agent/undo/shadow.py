"""Checkpoints of a folder by git: in a repository of ours, outside of it, that the user's git never sees.

Joins two ways to look: at everything (`looking`), and, where the system tells what changes, at that alone
(`quick`), which costs nothing for a file that nobody touched. Knows nothing of turns. git keeps one bit of a
file's rights: the others are kept beside it. Blocks, so it belongs on a thread.

What the system does not tell: what is written through a mapping, as long as it stays mapped; and through
another name of the file that was made since the watch began. So `reconcile` looks at everything when nobody
waits, and says what had been overlooked. Whatever is in doubt (too much at once, rules of what to ignore that
changed, a repository within, a folder that was moved away, a network disk) is a look at everything.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from .arming import Armed, CannotWatch, Site, arm
from .comparing import compare
from .covers import Found, Mark, NotCovered
from .git import FIRST_S, OURS_S, Git, GitTrouble, program
from .looking import Look
from .outside import Outside, listed
from .repository import Repository
from .trees import Tree, changed_lately, signature, with_rights
from .watch import Doubt

WATCHING = True
"""Whether folders are watched where they can be."""

REPOSITORY = "the repository itself is not covered"


@dataclass(frozen=True, slots=True)
class _Known:
    """The last look."""

    tree: Tree
    empty: frozenset[str] = frozenset()


class Shadow:
    """Of one folder; `root` is real, `top` is the top of the user's repository, if there is one."""

    def __init__(self, root: str, base: Path | None = None) -> None:
        """Raises NotCovered."""
        self.root = root
        if program() is None:
            raise NotCovered("there is no git here")
        self.top = top_of(root) or root
        self._below = os.path.relpath(root, self.top) if root != self.top else ""
        self._pathspec = ("--", self._below) if self._below else ("--",)
        try:
            self._repository = Repository(root, self.top, base)
        except OSError as error:
            raise NotCovered(f"the state folder cannot be used: {error}") from None
        self._git = self._repository.git
        self._comparing = self._git.another(self._repository.store.folder / "no-index")
        """git reads the index also where it needs none: there is none here."""
        self._lock = threading.Lock()
        self._ready = False
        self._begun = False
        """The index has been filled, by us or by the session before."""
        self._rights: dict[str, int] = {}
        self._lately: set[str] = set()
        """Files of which git may not notice that their rights changed: see `changed_lately`."""
        self._last: _Known | None = None
        self._indexed: str | None = None
        """The tree that the index is."""
        self._armed: Armed | None = None
        self._unwatchable = False
        self._idle: Git | None = None
        """Runs what nobody waits for."""
        self._marks = 0
        self._outside = Outside(self.top, self._pathspec)

    @property
    def watched(self) -> bool:
        return self._armed is not None

    # ---- marks --------------------------------------------------------------------------------

    def mark(self, *, first: bool = False) -> Mark:
        """The folder as it is now; raises NotCovered."""
        self._marks += 1
        self._hurry()
        with self._lock:
            try:
                at = self._repository.store.stamp()
                self._prepare()
                limit = FIRST_S if first or not self._begun else OURS_S
                known = self._quick(self._git, at) or self._full(self._git, at, limit)
            except (GitTrouble, OSError) as error:
                raise NotCovered(str(error)) from None
            return self._marked(known, at)

    def _marked(self, known: _Known, at: int) -> Mark:
        return Mark(known.tree, at, frozenset(os.path.join(self.top, it) for it in known.empty))

    def _hurry(self) -> None:
        """Nobody waits for what was being looked at meanwhile."""
        if (idle := self._idle) is not None:
            idle.kill()

    def _prepare(self) -> None:
        if self._ready:
            return
        self._repository.make()
        if (rights := self._repository.take_over()) is not None:
            self._rights, self._begun = rights, True
        self._rights = with_rights(self._rights, self.top, self._repository.add_tracked(self._pathspec))
        self._ready = True

    def _quick(self, git: Git, at: int) -> _Known | None:
        """By what is watched; None: that cannot be, now."""
        if self._armed is None or self._last is None:
            return None
        try:
            tree, empty, looked_at = self._armed.next(git, self._last.tree, self._last.empty, at)
        except Doubt:
            self._disarm()  # what was told along with it is read, and not told again
            return None
        except (GitTrouble, OSError):
            if not git.closed:  # else it was given up, and nothing is lost
                self._disarm()
            return None
        self._last, self._rights = _Known(tree, empty), tree.rights
        self._lately = changed_lately(self.top, {*looked_at, *self._lately}, at)
        return self._last

    def _full(self, git: Git, at: int, limit: float) -> _Known:
        """By a look at everything."""
        self._repository.unlock()
        if not os.path.isdir(self.top):
            return self._nothing(git, limit)
        if self._last is not None and self._last.tree.id != self._indexed:
            self._indexed = None
            git.run("read-tree", "-m", "-i", self._last.tree.id, limit=limit)
        self._indexed = None
        seen = Look(git, self.top, self._pathspec, limit).all()
        self._rights = with_rights(self._rights, self.top, {*seen.touched, *self._lately})
        self._lately = changed_lately(self.top, {*seen.touched, *self._lately}, at)
        self._indexed, self._begun = seen.tree, True
        self._outside.nested = seen.nested
        tree = Tree(seen.tree, self._rights, seen.large, self._repository.is_users)
        self._last = _Known(tree, frozenset(seen.empty))
        return self._last

    def _nothing(self, git: Git, limit: float) -> _Known:
        """The folder itself is gone: git would not look at it, and what was in it is to be had again."""
        self._disarm()
        git.run("read-tree", "--empty", limit=limit)
        self._rights = {}
        self._outside.nested = []
        self._indexed = git.run("write-tree", limit=limit).decode().strip()
        self._last = _Known(Tree(self._indexed))
        return self._last

    @property
    def notes(self) -> tuple[str, ...]:
        nested = [f"{it}/" for it in self._outside.nested]
        own = (f"repositories of their own are not covered: {listed(nested)}",) if nested else ()
        return (*self._outside.notes, *own)

    # ---- when nobody waits ------------------------------------------------------------------------

    def reconcile(self, since: int, until: int) -> list[Found]:
        """Look at everything, and watch from here on; what changed between these times without a word.

        Given up when the next mark is wanted.
        """
        marks = self._marks
        with self._lock:
            if self._marks != marks or self._last is None or self._unwatchable or not WATCHING:
                return []
            try:
                with self._repository.aside() as self._idle:
                    # A mark that came in between has seen nothing to end.
                    return [] if self._marks != marks else self._reconcile(self._idle, since, until)
            except CannotWatch:
                self._unwatchable = True
            except Doubt:
                self._indexed = None
                self._disarm()
            except (GitTrouble, OSError, NotCovered):
                self._indexed = None  # the next mark looks at everything, if it must
            finally:
                self._idle = None
            return []

    def _reconcile(self, git: Git, since: int, until: int) -> list[Found]:
        at = self._repository.store.stamp()
        known = self._quick(git, at)
        if git.closed or self._last is None:
            return []
        if known is None or self._armed is None:
            self._arm(git, self._last, at)
            return []
        before, now = known.tree, self._full(git, at, OURS_S)
        self._repository.take_aside()
        self._last = replace(now, tree=replace(now.tree, ignored=before.ignored))
        return self._overlooked(git, self._armed, before, since, until)

    def _arm(self, git: Git, last: _Known, at: int) -> None:
        site = Site(self.top, self._below, self._pathspec, self._repository.excludes, self._repository.ref)
        armed = arm(git, site, last.tree)
        try:
            now = self._full(git, at, OURS_S)
            self._repository.take_aside()
            self._last = replace(now, tree=armed.confirmed(git, now.tree))
            self._armed = armed
        finally:
            if self._armed is not armed:
                armed.close()

    def _overlooked(self, git: Git, armed: Armed, before: Tree, since: int, until: int) -> list[Found]:
        """What differs now, and nobody told of: not what was changed since, of which somebody does."""
        assert self._last is not None
        if before.id == self._last.tree.id and before.rights == self._last.tree.rights:
            return []
        armed.watch.read()
        found = compare(git, self.top, before, self._last.tree)
        unsaid = (it for it in found if not armed.watch.noted.has(os.path.relpath(it.path, self.top)))
        return [it for it in unsaid if since <= signature(it.path)[1] <= until]

    def _disarm(self) -> None:
        if self._armed is not None:
            self._armed.close()
            self._armed = None

    def kill(self) -> None:
        self._git.kill()
        self._comparing.kill()
        self._hurry()

    def close(self) -> None:
        """Nothing of it is used any more. Blocks for a moment."""
        self.kill()
        with self._lock:
            self._disarm()
            if self._begun:
                self._repository.hand_on(self._rights)
            self._repository.close()

    # ---- comparing --------------------------------------------------------------------------------

    def compare(self, before: Mark, after: Mark) -> Iterator[Found]:
        """What differs; raises NotCovered."""
        with self._lock:
            try:
                yield from compare(self._comparing, self.top, before.state, after.state)
                if before.state.repository and not after.state.repository:
                    yield Found(os.path.join(self.top, ".git/"), why_not=REPOSITORY, action="deleted")
                if os.path.isdir(self.top):
                    yield from self._outside.changed(self._git, before.at, after.state.ignored)
            except (GitTrouble, OSError) as error:
                raise NotCovered(str(error)) from None


def top_of(folder: str) -> str | None:
    """The top of the user's repository that the folder is in."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
