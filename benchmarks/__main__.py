"""Runs the benchmarks and prints one table: measure, ours, peer or limit, ratio, aim, held or not.

`--json FILE` writes the table, `--compare FILE` shows each ratio next to that of an earlier run. The exit
code is 1 if an aim was missed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import exports, growth, ipynb, kernel_tools, processes, remote, start
from .contenders import measure
from .guard import CHUNK_AIM, CONNECT, import_cpu
from .table import Table

RUNS = 3
"""Each contender runs this often, alternating with the others; the best run counts (the least disturbed)."""

CHUNKS = 60_000
TOOLS = 10_000


def best(prompt: str, what: str, *names: str) -> list[float]:
    """The lowest figure of each contender."""
    rounds = [[measure(name, prompt)[what] for name in names] for _ in range(RUNS)]
    return [min(costs) for costs in zip(*rounds, strict=True)]


def us(seconds: float, count: int = 1) -> str:
    return f"{seconds / count * 1e6:.1f} µs"


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench --")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table to this file")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="show the ratios of an earlier run")
    chosen = parser.parse_args(arguments)
    table = Table(chosen.compare)
    messages(table)
    imports(table)
    for step in start.rows():
        table.row(*step)
    lengths(table)
    files(table)
    ours, direct = processes.start_costs()
    limit = direct + processes.ALLOWED_S
    row = "start of a process below a supervisor"
    table.row(row, f"{ours * 1e3:.1f} ms", f"direct + 10 ms {limit * 1e3:.1f} ms", ours / limit, 1)
    for what, mine, name, its, aim in kernel_tools.rows():
        table.row(what, f"{mine * 1e3:.2f} ms", f"{name} {its * 1e3:.2f} ms", mine / its, aim)
    for what, mine, name, its, aim in remote.rows():
        table.row(what, us(mine), f"{name} {us(its)}", mine / its, aim)
    table.finish()
    if chosen.json is not None:
        chosen.json.write_text(table.json() + "\n")
    return 1 if table.missed else 0


def messages(table: Table) -> None:
    warm, first, sdk, bare = best(f"chunks {CHUNKS}", "cpu", "warm", "ours", "sdk", "bare")
    row = "a chunk, CPU"
    table.row(row, us(warm, CHUNKS), f"SDK {us(sdk, CHUNKS)}", warm / sdk, 1 / 6)
    table.row(row, us(warm, CHUNKS), f"bare msgspec {us(bare, CHUNKS)}", warm / bare, CHUNK_AIM)
    row = f"… of {CHUNKS:,} in a session's first prompt"
    table.row(row, us(first, CHUNKS), f"bare msgspec {us(bare, CHUNKS)}", first / bare, 5)
    warm, sdk, bare = best(f"tools {TOOLS}", "cpu", "warm", "sdk", "bare")
    row = "a tool call update with 1 kB, CPU"
    table.row(row, us(warm, TOOLS), f"SDK {us(sdk, TOOLS)}", warm / sdk, 1 / 6)
    table.row(row, us(warm, TOOLS), f"bare msgspec {us(bare, TOOLS)}", warm / bare)
    warm, sdk, bare = best("one 20000000", "cpu", "warm", "sdk", "bare")
    row = "one message of 20 MB, CPU"
    table.row(row, ms(warm), f"SDK {ms(sdk)}", warm / sdk, 1)
    table.row(row, ms(warm), f"bare msgspec {ms(bare)}", warm / bare)
    warm, sdk = best("chunks 100000", "memory", "warm", "sdk")
    table.row("memory after 100,000 chunks", f"{warm / 1e6:.1f} MB", f"SDK {sdk / 1e6:.1f} MB", warm / sdk)


def imports(table: Table) -> None:
    """Each import in a new interpreter, with byte code, without what the interpreter itself costs."""
    statements = ("pass", "import acp_notebook", CONNECT, "import acp", "import asyncio, msgspec")
    rounds = [[import_cpu(it) for it in statements] for _ in range(6)][1:]
    nothing, *costs = (min(each) for each in zip(*rounds, strict=True))
    package, whole, sdk, least = (cost - nothing for cost in costs)
    table.row("import acp_notebook, CPU", ms(package), f"import acp {ms(sdk)}", package / sdk, 0.25)
    row = "… and everything that connect() needs"
    table.row(row, ms(whole), f"import acp {ms(sdk)}", whole / sdk)
    table.row(row, ms(whole), f"asyncio, msgspec {ms(least)}", whole / least, 3)
    table.row(row, ms(whole), "limit 150 ms", whole / 0.15, 1)


def lengths(table: Table) -> None:
    short = "in a short one"
    table.row("a chunk in a transcript of 1,000,000 chunks", "", short, growth.after_chunks(1_000_000), 1.2)
    table.row("a chunk in a transcript of 20,000 tool calls", "", short, growth.after_tools(20_000), 1.2)
    count = exports.LONG / exports.SHORT
    for name, (few, many) in exports.costs().items():
        row = f"{name}, an item of {exports.LONG:,}"
        peer = f"{exports.SHORT:,} in {few:.2f} s"
        table.row(row, f"{many:.2f} s", peer, many / few / count, exports.AIM)


def files(table: Table) -> None:
    for step, cost, peer, ratio in ipynb.rows():
        table.row(f"notebook: {step}", ms(cost), f"json.loads {ms(peer)}", ratio)
    for what, cost, peer, ratio in ipynb.whole_rows():
        table.row(f"notebook: {what}", ms(cost), f"loads + dumps {ms(peer)}", ratio, ipynb.WHOLE_AIM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
