"""The table of a benchmark run: measure, ours, peer or limit, ratio, aim, and whether the aim was held.

Also compares a run with an earlier one, and says what disturbed it.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

BUSY = 0.1
"""The share of the machine that other programs may use before a run counts as disturbed."""

STOLEN = 0.02
"""The share of the machine that its host may take away."""

LOOK_S = 1.0
"""How long to look at the machine before a group whose own work cannot be told from that of others."""

LOAD = 0.5
"""The load average per core before the run, above which other programs are waiting for the machine."""

LOST = 1.15
"""A ratio that grew by more than this factor since the run compared with is marked."""


Line = tuple[str, str, str, float, float | None]
"""The fields of a row."""


@dataclass(frozen=True)
class Row:
    """One measure. `ratio`: ours relative to the peer; `aim`: the largest acceptable ratio."""

    what: str
    ours: str
    peer: str
    ratio: float
    aim: float | None = None

    @property
    def held(self) -> bool:
        return self.aim is None or self.ratio <= self.aim


class Table:
    """Prints rows as they are measured, and keeps them."""

    def __init__(self, earlier: Path | None = None, *, quiet: bool = False) -> None:
        """`earlier`: a file with an earlier run, as `--json` writes it."""
        self.rows: list[Row] = []
        self.failures: dict[str, str] = {}
        """Groups that could not be measured, and why."""
        self._quiet = quiet
        self._earlier = {} if earlier is None else _ratios(earlier)
        self._disturbance = _Disturbance()
        self._print(f"{'measure':<46} {'ours':>11} {'peer or limit':>26} {'ratio':>7}  {'aim':<7} held")

    def row(self, what: str, ours: str, peer: str, ratio: float, aim: float | None = None) -> None:
        row = Row(what, ours, peer, ratio, aim)
        self.rows.append(row)
        limit = "" if aim is None else f"≤ {aim:.3g}"
        held = "" if aim is None else "yes" if row.held else "NO"
        self._print(
            f"{what:<46} {ours:>11} {peer:>26} {ratio:>7.2f}  {limit:<7} {held:<4}{self._change(row)}"
        )

    def _change(self, row: Row) -> str:
        before = self._earlier.get(f"{row.what} / {_name(row.peer)}")
        if before is None:
            return "  new" if self._earlier else ""
        return f"  was {before:.2f}{'  SLOWER' if row.ratio > before * LOST else ''}"

    def _print(self, text: str) -> None:
        if not self._quiet:
            print(text, flush=True)

    def skip(self, group: str, why: str) -> None:
        """Say that a group is not measured here, which is no failure."""
        self._print(f"{group}: not measured, {why}")

    def fail(self, group: str, why: str) -> None:
        self.failures[group] = why
        self._print(f"{group}: NOT MEASURED, {why}")

    @contextmanager
    def watched(self, group: str, alone: bool) -> Iterator[None]:
        """While a group runs. `alone`: all of its work is that of our own processes, so that the work of
        others can be told from it; otherwise only the moment before it is looked at."""
        if not alone:
            self._disturbance.look_before(group)
        self._disturbance.counts = alone
        try:
            yield
        finally:
            self._disturbance.counts = False

    @property
    def missed(self) -> bool:
        return bool(self.failures) or not all(row.held for row in self.rows)

    def finish(self) -> None:
        """Print what disturbed the run."""
        for reason in self._disturbance.reasons():
            self._print(f"DISTURBED: {reason}. Compare ratios only, or repeat the run on an idle machine.")

    def json(self) -> str:
        rows = [{**asdict(row), "held": row.held} for row in self.rows]
        about = {"machine": machine(), "disturbed": self._disturbance.reasons(), "failed": self.failures}
        return json.dumps({**about, "rows": rows})


class _Disturbance:
    """Watches the machine while it counts."""

    def __init__(self) -> None:
        self._load = os.getloadavg()[0]
        self._seen = [0.0] * 4
        self._began: list[float] | None = None
        self._before: dict[str, float] = {}
        """By group: the share of the machine that was used while nothing was measured."""
        self.counts = True

    @property
    def counts(self) -> bool:
        return self._began is not None

    @counts.setter
    def counts(self, on: bool) -> None:
        if self._began is not None:
            self._seen = self._so_far()
        self._began = _seconds() if on else None

    def look_before(self, group: str) -> None:
        """Note what other programs do while we wait. The load average would still count the last group."""
        self.counts = False
        clock, busy, own, _ = _seconds()
        time.sleep(LOOK_S)
        passed = [now - then for now, then in zip(_seconds()[:3], (clock, busy, own), strict=True)]
        self._before[group] = (passed[1] - passed[2]) / (passed[0] * (os.cpu_count() or 1))

    def _so_far(self) -> list[float]:
        """Seconds of the clock, of all programs, of our own ones, and those that the host took away."""
        if self._began is None:
            return self._seen
        passed = (now - then for now, then in zip(_seconds(), self._began, strict=True))
        return [seen + it for seen, it in zip(self._seen, passed, strict=True)]

    def reasons(self) -> list[str]:
        cores = os.cpu_count() or 1
        clock, busy, own, stolen = self._so_far()
        available = max(clock, 0.01) * cores
        others, taken = (busy - own) / available, stolen / available
        found = []
        if self._load > LOAD * cores:
            found.append(f"the load average was {self._load:.1f} on {cores} cores when the run began")
        if others > BUSY:
            found.append(f"other programs used {others:.0%} of the machine")
        if busy_before := {group: it for group, it in self._before.items() if it > BUSY}:
            each = ", ".join(f"{group} ({it:.0%})" for group, it in busy_before.items())
            found.append(f"other programs used the machine right before {each}")
        if taken > STOLEN:
            found.append(f"the host took {taken:.0%} of the machine away")
        return found


def machine() -> dict[str, str | int]:
    """What a reader has to know about the machine."""
    import platform

    model = platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), model)
    return {"processor": model, "cores": os.cpu_count() or 1, "python": platform.python_version()}


def _machine_seconds() -> tuple[float, float]:
    """CPU seconds of all programs, and those that the host of a virtual machine took away."""
    if not Path("/proc/stat").exists():
        return _own_seconds(), 0.0
    values = [int(it) for it in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _, _, irq, soft, stolen = values[:8]
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + soft) / tick, stolen / tick


def _seconds() -> list[float]:
    busy, stolen = _machine_seconds()
    return [time.monotonic(), busy, _own_seconds(), stolen]


def _own_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(it.ru_utime + it.ru_stime for it in used)


def _name(peer: str) -> str:
    """The peer without its figure."""
    return " ".join(
        word
        for word in peer.split()
        if not word[:1].isdigit() and word not in ("ms", "µs", "MB", "s", "bytes")
    )


def _ratios(file: Path) -> dict[str, float]:
    rows = json.loads(file.read_text())["rows"]
    return {f"{row['what']} / {_name(row['peer'])}": row["ratio"] for row in rows}
