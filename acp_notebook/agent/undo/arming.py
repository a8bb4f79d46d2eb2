"""A watch set up on a folder, where it can be trusted; and whether the ground that it stands on is the same.

Knows which folders count, by git's rules; what is told later is `watch`'s business, what is made of it
`quick`'s. Blocks for as long as a look at every folder takes, so nobody should wait for it.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace

from .git import Git, GitTrouble, ignored_among, names
from .inotify import Inotify, is_local, mounts_below
from .outside import ignored_places
from .quick import MOST_LINKED, Looked, QuickLook
from .trees import Tree, signature
from .watch import Doubt, Watch, most_folders

Ground = tuple[object, ...]


class CannotWatch(Exception):
    """Here it makes no sense, today or tomorrow; says why."""


@dataclass(frozen=True)
class Site:
    """What is to be watched: `below` is the folder, as a path from the top of the user's repository."""

    top: str
    below: str
    pathspec: tuple[str, ...]
    excludes: str | None
    """A file of rules, outside."""
    ref: str

    @property
    def root(self) -> str:
        return os.path.join(self.top, self.below) if self.below else self.top

    def ground(self) -> Ground:
        """What must not change without a word: which folder it is, disks within, rules outside of it."""
        status = os.lstat(self.root)
        above = [self.top]
        for part in self.below.split("/")[:-1] if self.below else ():
            above.append(os.path.join(above[-1], part))
        rules = [os.path.join(it, ".gitignore") for it in above if self.below]
        rules += [] if self.excludes is None else [self.excludes]
        return (status.st_dev, status.st_ino, mounts_below(self.root), *(signature(it) for it in rules))


@dataclass
class Armed:
    """A watch that works."""

    site: Site
    watch: Watch
    quick: QuickLook
    was: Ground

    def next(self, git: Git, last: Tree, empty: frozenset[str], at: int) -> Looked:
        """See `QuickLook.next`."""
        try:
            same = self.site.ground() == self.was
        except OSError:
            same = False
        if not same:
            raise Doubt("the ground has changed")
        return self.quick.next(git, last, empty, at)

    def confirmed(self, git: Git, tree: Tree) -> Tree:
        """The tree of a look since it was armed, with what is ignored; raises Doubt if it stands not on all
        that counts."""
        self.watch.read()
        words = ("ls-tree", "-r", "-d", "-z", "--name-only", tree.id)
        for folder in names(git.run(*words)):
            inside = not self.site.below or f"{folder}/".startswith(f"{self.site.below}/")
            if inside and folder not in self.watch and not self.watch.noted.has(folder):
                raise Doubt("a file that counts is where nothing is told")
        return replace(tree, ignored=frozenset(ignored_places(git, self.site.pathspec)))

    def close(self) -> None:
        self.watch.close()


def arm(git: Git, site: Site, last: Tree) -> Armed:
    """Raises CannotWatch; Doubt, GitTrouble, OSError: not now. `last`: a tree that counts about the same."""
    if mounts_below(site.root) or not is_local(site.root):
        raise CannotWatch("not all that changes there is told")
    ground = site.ground()
    try:
        kernel = Inotify()
    except OSError as error:
        raise CannotWatch(str(error)) from None
    watch = Watch(site.top, site.below, kernel, most_folders())
    try:
        linked = _walk(git, site, watch, last)
        return Armed(site, watch, QuickLook(site.top, site.ref, watch, linked), ground)
    except BaseException:
        watch.close()
        raise


def _walk(git: Git, site: Site, watch: Watch, last: Tree) -> list[str]:
    """Watch every folder that counts, level by level; returns the files that have several names."""
    counting = set(names(git.run("ls-tree", "-r", "-d", "-z", "--name-only", last.id)))
    linked: list[str] = []
    level = [site.below]
    while level:
        ignored = ignored_among(git, [it for it in level if it != site.below]) - counting
        level = [
            inner for it in level if it not in ignored for inner in _entered(git, site, watch, it, linked)
        ]
        if len(linked) > MOST_LINKED:
            raise CannotWatch("too many files have several names")
    return linked


def _entered(git: Git, site: Site, watch: Watch, folder: str, linked: list[str]) -> list[str]:
    if git.closed:
        raise GitTrouble("there is no time for it")
    if not watch.enter(folder):
        return []
    inner: list[str] = []
    with contextlib.suppress(FileNotFoundError), os.scandir(os.path.join(site.top, folder)) as entries:
        for entry in entries:
            if entry.name == ".git":
                if folder == "":
                    continue
                watch.enter(folder, closed_off=True)
                return []
            path = os.path.join(folder, entry.name)
            if entry.is_dir(follow_symlinks=False):
                inner.append(path)
            elif entry.stat(follow_symlinks=False).st_nlink > 1:
                linked.append(path)
    return inner
