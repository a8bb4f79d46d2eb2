"""Decide which of the user's cells code depends on: those that bound or changed a name that it reads.

A step reads the state that earlier steps left. So the cells that are needed, in their order, give the same
state as all cells, except for what names do not show: files, random numbers, the state of libraries.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence

from msgspec import Struct

from .names import Names

KNOWN = frozenset(dir(builtins)) | {"get_ipython", "display", "exit", "quit", "In", "Out", "__file__"}
"""Names that every kernel has."""

SETTERS = ("set", "seed", "use", "rc", "reset", "register", "filter", "simplefilter", "config", "basicConfig")
"""How the functions of a module that change its state begin: np.random.seed, plt.style.use, pd.set_option."""

LOOKS = frozenset(
    {"head", "tail", "describe", "info", "sample", "show", "plot", "hist", "keys", "items", "values"}
    | {"scatter", "boxplot", "corr", "value_counts", "memory_usage", "display", "print", "summary", "close"}
)
"""Methods that do not change their object."""


class HistoryCell(Struct, frozen=True):
    """A cell that the user ran."""

    number: int
    """Its execution count."""
    source: str
    failed: bool = False


class Step(Struct, frozen=True):
    """Code that ran: a cell of the user's, or code of the agent."""

    names: Names
    wanted: bool = False
    """Part of the notebook whether or not anything depends on it."""
    failed: bool = False
    """It raised an error: what it binds is not known."""


class Needed(Struct, frozen=True):
    """Which steps are needed, by their position, and the names that no step binds."""

    steps: frozenset[int]
    missing: tuple[str, ...] = ()


def needed(steps: Sequence[Step]) -> Needed:
    """The wanted steps, and those that they depend on, directly or not."""
    return _Search(steps).run()


class _Search:
    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._touching: dict[str, list[int]] = {}
        """For each name, the positions of the steps that bind or change it."""
        for at, step in enumerate(steps):
            for name in step.names.touched:
                self._touching.setdefault(name, []).append(at)
        self._found: set[int] = set()
        self._missing: set[str] = set()
        self._asked: set[tuple[str, int]] = set()
        self._open: list[tuple[str, int, bool]] = []
        """Names to look for, the position of the step that reads them, and whether it surely does."""

    def run(self) -> Needed:
        wanted = [at for at, step in enumerate(self._steps) if step.wanted]
        for at in wanted:
            self._add_wanted(at)
        for at in range(max(wanted, default=0)):
            if self._steps[at].names.is_settings:
                self._add(at, at)
        while self._open:
            self._look_for(*self._open.pop())
        return Needed(frozenset(self._found), tuple(sorted(self._missing)))

    def _add_wanted(self, at: int) -> None:
        names = self._steps[at].names
        self._found.add(at)
        self._want(names.reads, at)
        self._want(names.may_read, at, surely=False)
        self._want(names.reads_later - names.binds - names.may_bind, at)

    def _add(self, at: int, reader: int) -> None:
        """Add a step on which another depends. Its functions run when that one does."""
        names = self._steps[at].names
        self._found.add(at)
        self._want(names.reads, at)
        self._want(names.may_read, at, surely=False)
        self._want(names.reads_later, reader)

    def _want(self, names: Iterable[str], reader: int, *, surely: bool = True) -> None:
        self._open += [(name, reader, surely) for name in names if (name, reader) not in self._asked]

    def _look_for(self, name: str, reader: int, surely: bool) -> None:
        if (name, reader) in self._asked:
            return
        self._asked.add((name, reader))
        found, is_bound = self._touched_before(name, reader)
        if is_bound:
            for at in found:
                self._add(at, reader)
        elif name not in KNOWN and surely:
            unknown = [at for at in range(reader) if self._steps[at].names.binds_anything]
            for at in unknown:
                self._add(at, reader)
            if not unknown:
                self._missing.add(name)

    def _touched_before(self, name: str, reader: int) -> tuple[list[int], bool]:
        """The steps that gave the name its value: the last that surely bound it, and those that may have
        changed it since; and whether any of them binds it."""
        found: list[int] = []
        is_bound = is_module = False
        for at in reversed(self._touching.get(name, ())):
            step = self._steps[at]
            if at >= reader:
                continue
            found.append(at)
            if name in step.names.binds or name in step.names.may_bind:
                is_bound, is_module = True, name in step.names.imports
            if name in step.names.binds and not step.failed:
                break
        return [at for at in found if self._changes(at, name, is_module)], is_bound

    def _changes(self, at: int, name: str, is_module: bool) -> bool:
        names = self._steps[at].names
        if name in names.binds or name in names.may_bind or name in names.changes:
            return True
        methods = [method for called, method in names.calls if called == name]
        if is_module:
            return any(method.startswith(SETTERS) for method in methods)
        return any(method not in LOOKS for method in methods)
