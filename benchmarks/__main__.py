"""Runs the benchmarks and prints a table: what was measured, our value, the peer's, the ratio, the target."""

from __future__ import annotations

import resource
import subprocess
import sys

from . import exports, growth, kernel_tools, processes
from .contenders import measure

RUNS = 3
"""Each contender runs this often, alternating with the others; the best run counts (the least disturbed)."""


def best(name: str, prompt: str, what: str) -> float:
    return min(measure(name, prompt)[what] for _ in range(RUNS))


def import_cpu(statement: str) -> float:
    """CPU seconds of a fresh interpreter that runs the statement."""
    costs = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", statement], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(costs)


class Table:
    """Prints rows as they are measured, and remembers whether a target was missed."""

    def __init__(self) -> None:
        self.missed = False

    def row(self, what: str, ours: str, peer: str, ratio: float, aim: float | None = None) -> None:
        """Print a row. `aim`: the largest acceptable ratio."""
        verdict = "" if aim is None else f"aim ≤ {aim:g}  {'ok' if ratio <= aim else 'MISSED'}"
        self.missed |= aim is not None and ratio > aim
        print(f"{what:<44} {ours:>12} {peer:>22} {ratio:>8.2f}  {verdict}", flush=True)


def us(seconds: float, count: int = 1) -> str:
    return f"{seconds / count * 1e6:.1f} µs"


def main() -> int:
    table = Table()
    print(f"{'':<44} {'ours':>12} {'peer':>22} {'ratio':>8}")
    chunks = 50_000
    ours, sdk, bare = (best(name, f"chunks {chunks}", "cpu") for name in ("ours", "sdk", "bare"))
    row = "CPU a chunk, 50,000 small chunks"
    table.row(row, us(ours, chunks), f"SDK {us(sdk, chunks)}", ours / sdk, 0.25)
    table.row(row, us(ours, chunks), f"bare msgspec {us(bare, chunks)}", ours / bare)
    ours, sdk, bare = (best(name, "one 20000000", "cpu") for name in ("ours", "sdk", "bare"))
    row = "CPU for one message of 20 MB"
    table.row(row, f"{ours * 1e3:.0f} ms", f"SDK {sdk * 1e3:.0f} ms", ours / sdk)
    table.row(row, f"{ours * 1e3:.0f} ms", f"bare msgspec {bare * 1e3:.0f} ms", ours / bare)
    ours, sdk = (best(name, "chunks 100000", "memory") for name in ("ours", "sdk"))
    table.row("memory after 100,000 chunks", f"{ours / 1e6:.1f} MB", f"SDK {sdk / 1e6:.1f} MB", ours / sdk)
    nothing = import_cpu("pass")
    ours = import_cpu("import acp_notebook") - nothing
    whole = import_cpu("import acp_notebook; acp_notebook.connect") - nothing
    sdk = import_cpu("import acp") - nothing
    peer = f"import acp {sdk * 1e3:.0f} ms"
    table.row("import acp_notebook, CPU", f"{ours * 1e3:.0f} ms", peer, ours / sdk, 0.25)
    table.row("… and everything that connect() needs", f"{whole * 1e3:.0f} ms", peer, whole / sdk)
    short = "in a short one"
    table.row("a chunk in a transcript of 100,000 chunks", "", short, growth.after_chunks(100_000), 1.5)
    table.row("a chunk in a transcript of 20,000 tool calls", "", short, growth.after_tools(20_000), 1.5)
    count = exports.LONG / exports.SHORT
    for name, (few, many) in exports.costs().items():
        peer = f"{exports.SHORT:,} in {few:.2f} s"
        table.row(
            f"{name}, an item of {exports.LONG:,}", f"{many:.2f} s", peer, many / few / count, exports.AIM
        )
    ours, direct = processes.start_costs()
    peer = f"direct + 10 ms {(direct + processes.ALLOWED_S) * 1e3:.1f} ms"
    row = "start of a process below a supervisor"
    table.row(row, f"{ours * 1e3:.1f} ms", peer, ours / (direct + processes.ALLOWED_S), 1)
    for what, mine, name, its, aim in kernel_tools.rows():
        table.row(what, f"{mine * 1e3:.2f} ms", f"{name} {its * 1e3:.2f} ms", mine / its, aim)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
