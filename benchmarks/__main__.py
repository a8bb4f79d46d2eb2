"""Runs the benchmarks and prints one table: measure, ours, peer or limit, ratio, aim, held or not.

`--json FILE` writes the table, `--compare FILE` shows each ratio next to that of an earlier run, `--quick`
leaves out what needs a browser or takes minutes, and names of groups measure only those. The exit code is 1
if an aim was missed or a group could not be measured.

Each group of measures runs in a process of its own, for a limited time, so that nothing can hang.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from .table import Line, Table

RUNS = 3
"""Each contender runs this often, alternating with the others; the best run counts (the least disturbed)."""

PROMPTS = 3
"""In each run, a session that is warm is sent the prompt this often; again, the best counts."""

CHUNKS = 60_000
TOOLS = 10_000
OUTPUT_MB = 200

LIMIT_S = 400
"""For a group, on a machine that is twice as slow as a laptop."""


def best(prompt: str, what: str, *names: str, prompts: int = PROMPTS) -> list[float]:
    """The lowest figure of each contender."""
    from .contenders import measure

    rounds = [[measure(name, prompt, prompts)[what] for name in names] for _ in range(RUNS)]
    return [min(costs) for costs in zip(*rounds, strict=True)]


def us(seconds: float, count: int = 1) -> str:
    return f"{seconds / count * 1e6:.1f} µs"


def ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"


# ---- the groups -------------------------------------------------------------------------------------


def messages() -> Iterator[Line]:
    from .guard import CHUNK_AIM

    warm, sdk, bare = best(f"chunks {CHUNKS}", "cpu", "warm", "sdk", "bare")
    row = "a chunk, CPU"
    yield row, us(warm, CHUNKS), f"SDK {us(sdk, CHUNKS)}", warm / sdk, 1 / 6
    yield row, us(warm, CHUNKS), f"bare msgspec {us(bare, CHUNKS)}", warm / bare, CHUNK_AIM
    first = min(best(f"chunks {CHUNKS}", "cpu", *["first"] * PROMPTS, prompts=1))
    row = f"… of {CHUNKS:,} in a session's first prompt"
    yield row, us(first, CHUNKS), f"bare msgspec {us(bare, CHUNKS)}", first / bare, 5
    warm, sdk = best("chunks 1", "cpu", "warm", "sdk", prompts=10)
    yield "a turn of one chunk, CPU", f"{warm * 1e3:.1f} ms", f"SDK {sdk * 1e3:.1f} ms", warm / sdk, None
    warm, sdk, bare = best(f"tools {TOOLS}", "cpu", "warm", "sdk", "bare")
    row = "a tool call update with 1 kB, CPU"
    yield row, us(warm, TOOLS), f"SDK {us(sdk, TOOLS)}", warm / sdk, 1 / 6
    yield row, us(warm, TOOLS), f"bare msgspec {us(bare, TOOLS)}", warm / bare, CHUNK_AIM
    warm, bare = best(f"terminal {OUTPUT_MB}", "cpu", "warm", "bare")
    row = f"{OUTPUT_MB} MB of a command's output, CPU"
    yield row, ms(warm), f"bare read loop {ms(bare)}", warm / bare, CHUNK_AIM
    warm, sdk, bare = best("one 20000000", "cpu", "warm", "sdk", "bare")
    row = "one message of 20 MB, CPU"
    yield row, ms(warm), f"SDK {ms(sdk)}", warm / sdk, 1
    yield row, ms(warm), f"bare msgspec {ms(bare)}", warm / bare, None
    warm, sdk = best("chunks 100000", "memory", "warm", "sdk", prompts=1)
    row = "memory after 100,000 chunks"
    yield row, f"{warm / 1e6:.1f} MB", f"SDK {sdk / 1e6:.1f} MB", warm / sdk, None


def before() -> Iterator[Line]:
    from . import before

    return before.rows()


def imports() -> Iterator[Line]:
    """Each import in a new interpreter, with byte code, without what the interpreter itself costs."""
    from .guard import CONNECT, IMPORT_AIM, IMPORT_LIMIT_S, import_cpu

    statements = ("pass", "import acp_notebook", CONNECT, "import acp", "import asyncio, msgspec")
    rounds = [[import_cpu(it) for it in statements] for _ in range(8)][1:]
    nothing, *costs = (min(each) for each in zip(*rounds, strict=True))
    package, whole, sdk, least = (cost - nothing for cost in costs)
    yield "import acp_notebook, CPU", ms(package), f"import acp {ms(sdk)}", package / sdk, 0.25
    row = "… and everything that connect() needs"
    yield row, ms(whole), f"import acp {ms(sdk)}", whole / sdk, None
    yield row, ms(whole), f"asyncio, msgspec {ms(least)}", whole / least, IMPORT_AIM
    yield row, ms(whole), f"limit {ms(IMPORT_LIMIT_S)}", whole / IMPORT_LIMIT_S, 1


def start() -> Iterator[Line]:
    from . import start

    return start.rows()


def lengths() -> Iterator[Line]:
    from . import exports, growth

    short = "in one of 10,000"
    row = "a chunk in a transcript of 1,000,000 chunks"
    yield row, "", short, growth.after_chunks(1_000_000), growth.AIM
    row = "a chunk in a transcript of 20,000 tool calls"
    yield row, "", short, growth.after_tools(20_000), growth.AIM
    count = exports.LONG / exports.SHORT
    for name, (few, many) in exports.costs().items():
        row = f"{name}, an item of {exports.LONG:,}"
        peer = f"{exports.SHORT:,} in {few:.2f} s"
        yield row, f"{many:.2f} s", peer, many / few / count, exports.AIM


def files() -> Iterator[Line]:
    from . import ipynb

    for step, cost, peer, ratio in ipynb.rows():
        yield f"notebook: {step}", ms(cost), f"json.loads {ms(peer)}", ratio, None
    for what, cost, name, peer, aim in ipynb.whole_rows():
        yield f"notebook: {what}", ms(cost), f"{name} {ms(peer)}", cost / peer, aim


def processes() -> Iterator[Line]:
    from . import processes

    ours, direct = processes.start_costs()
    limit = direct + processes.ALLOWED_S
    row = "start of a process below a supervisor"
    yield row, f"{ours * 1e3:.1f} ms", f"direct + 10 ms {limit * 1e3:.1f} ms", ours / limit, 1


def kernel() -> Iterator[Line]:
    from . import kernel_tools

    for what, mine, name, its, aim in kernel_tools.rows():
        yield what, f"{mine * 1e3:.2f} ms", f"{name} {its * 1e3:.2f} ms", mine / its, aim


def remote() -> Iterator[Line]:
    from . import remote

    for what, mine, name, its, aim in remote.rows():
        yield what, us(mine), f"{name} {us(its)}", mine / its, aim


def fan_out() -> Iterator[Line]:
    from . import fan_out

    return fan_out.rows()


def long_life() -> Iterator[Line]:
    from . import long_life

    return long_life.rows()


def checkpoints() -> Iterator[Line]:
    from . import checkpoints

    return checkpoints.rows()


def undo() -> Iterator[Line]:
    from . import undo

    return undo.rows()


def paint() -> Iterator[Line]:
    from . import paint

    return paint.rows()


def stream() -> Iterator[Line]:
    from . import browser

    return browser.rows()


def panel() -> Iterator[Line]:
    from . import panel

    return panel.rows()


def long_life_page() -> Iterator[Line]:
    from . import long_life_page

    return long_life_page.rows()


def extension() -> Iterator[Line]:
    from . import lab_extension

    return lab_extension.rows()


Group = Callable[[], Iterator[Line]]

QUICK: tuple[Group, ...] = (messages, before, imports, start, lengths, files, processes)
KERNELS: tuple[Group, ...] = (kernel, remote, fan_out)
LONG: tuple[Group, ...] = (long_life, checkpoints, undo)
PAGES: tuple[Group, ...] = (paint, stream, panel, long_life_page, extension)
"""They need Chromium, and most of their work is that of other programs: the server and the browser."""

GROUPS = {it.__name__: it for it in (*QUICK, *KERNELS, *LONG, *PAGES)}


# ---- running them -----------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="dev.py bench")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table to this file")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="show the ratios of an earlier run")
    parser.add_argument("--quick", action="store_true", help="nothing that needs a browser or takes minutes")
    parser.add_argument("--rows", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], metavar="GROUP", help=", ".join(GROUPS))
    chosen = parser.parse_args(arguments)
    groups = [GROUPS[it] for it in chosen.groups] or (QUICK if chosen.quick else [*GROUPS.values()])
    if chosen.rows:
        for group in groups:
            for row in group():
                print(json.dumps(row), flush=True)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the group is ended, too
    table = Table(chosen.compare)
    for group in groups:
        if group in PAGES and not has_chromium():
            table.skip(group.__name__, "no Chromium on the PATH (ACP_TEST_CHROMIUM names one)")
            continue
        if group is before and (why := why_not_before()) is not None:
            table.skip(group.__name__, why)
            continue
        with table.watched(group.__name__, alone=group not in (*KERNELS, *PAGES)):
            measure_group(group.__name__, table)
    table.finish()
    if chosen.json is not None:
        chosen.json.write_text(table.json() + "\n")
    return 1 if table.missed else 0


def why_not_before() -> str | None:
    from . import before

    return before.why_not()


def has_chromium() -> bool:
    from .browser import chromium

    return chromium() is not None


def measure_group(name: str, table: Table) -> None:
    """Run a group in a process of its own; after LIMIT_S it is ended, with all that it started."""
    command = [sys.executable, "-m", "benchmarks", "--rows", name]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    late = threading.Event()

    def end() -> None:
        late.set()
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(LIMIT_S, end)
    timer.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            table.row(*json.loads(line))
        code = process.wait()
    finally:
        timer.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if late.is_set():
        table.fail(name, f"it took more than {LIMIT_S} s")
    elif code:
        table.fail(name, f"it ended with {code}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
