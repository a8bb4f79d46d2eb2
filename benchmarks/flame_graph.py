"""Draws the flame graph in docs/speed.md: where a chunk's time goes, in an earlier tree and in this one.

    git worktree add /tmp/before fcba11b
    python -m benchmarks.flame_graph /tmp/before docs/chunk-path.svg

Both trees receive the same chunks, in turns, in processes of their own, with this tree's agent. A timer of
the processor's time interrupts them, and the stack of the loop is noted from where it reads the pipe.
Both halves have the same scale: samples of the same number of chunks. Prints the CPU time of a chunk, too.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any

HERE = Path(__file__).resolve().parents[1]
SOURCE = [sys.executable, str(HERE / "benchmarks" / "source.py")]
CHUNKS = 60_000
PROMPTS = 4
ROUNDS = 2
INTERVAL_S = 0.001
LIMIT_S = 120
PACKAGE = f"{os.sep}acp_notebook{os.sep}"
LOOP = "acp-io"
ROOT = "pipes.py"
"""The file in which the way of a chunk begins."""

WIDTH, HEIGHT, TOP = 1000, 17, 22
LEAST_PX = 1.0
LETTER_PX = 6.2
COLOURS = {"wire": "#8ecae6", "core": "#ffb703", "agent": "#90be6d"}
OTHER = "#cccccc"

Stacks = Counter[tuple[str, ...]]


# ---- sampling, in a process of its own


class _Thread(threading.Thread):
    """Hands the loop thread to the main thread, the only one whose stack a signal can note where it is."""

    handed: queue.SimpleQueue[threading.Thread] = queue.SimpleQueue()

    def start(self) -> None:
        if self.name == LOOP:
            self.handed.put(self)
        else:
            super().start()

    def is_alive(self) -> bool:
        return self.name == LOOP or super().is_alive()


def sample() -> None:
    """Print the stacks and the CPU seconds of a chunk; the tree to measure is first on sys.path."""
    stacks: Stacks = Counter()

    def note(_: int, frame: FrameType | None) -> None:
        if stack := _stack(frame):
            stacks[stack] += 1

    signal.signal(signal.SIGPROF, note)
    threading.Thread = _Thread  # type: ignore[misc]
    _Thread(target=_prompt, args=(stacks,)).start()
    _Thread.handed.get(timeout=LIMIT_S).run()


def _prompt(stacks: Stacks) -> None:
    import acp_notebook as acp

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with acp.connect(SOURCE) as session:
            session.prompt("chunks 2000")
            cost = min(_cpu(session) for _ in range(PROMPTS))
            signal.setitimer(signal.ITIMER_PROF, INTERVAL_S, INTERVAL_S)
            for _ in range(PROMPTS):
                session.prompt(f"chunks {CHUNKS}")
            signal.setitimer(signal.ITIMER_PROF, 0)
    counted = [[list(stack), count] for stack, count in stacks.items()]
    print(json.dumps({"cpu": cost / CHUNKS, "stacks": counted}), flush=True)
    os._exit(0)  # the main thread runs the loop


def _cpu(session: Any) -> float:
    began = time.process_time()
    session.prompt(f"chunks {CHUNKS}")
    return time.process_time() - began


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    """The functions of the package, outermost first, from where the pipe is read; empty elsewhere."""
    found: list[str] = []
    while frame is not None:
        code = frame.f_code
        _, inside, path = code.co_filename.rpartition(PACKAGE)
        if inside:
            found.append(f"{code.co_qualname} ({path})")
        frame = frame.f_back
    found.reverse()
    begin = next((at for at, name in enumerate(found) if name.endswith(f"{ROOT})")), None)
    return () if begin is None else tuple(found[begin:])


def sampled(tree: Path) -> tuple[float, Stacks]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(HERE)])}
    command = [sys.executable, __file__, "--sample"]
    run = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True, text=True, timeout=LIMIT_S)
    found = json.loads(run.stdout)
    return found["cpu"], Counter({tuple(stack): count for stack, count in found["stacks"]})


# ---- drawing


def drawn(halves: dict[str, Stacks]) -> str:
    most = max(sum(stacks.values()) for stacks in halves.values())
    parts: list[str] = []
    top = 0
    for title, stacks in halves.items():
        share = sum(stacks.values()) / most
        parts.append(f'<text x="4" y="{top + 13}" class="t">{escape(title)}: {share:.0%} of the time</text>')
        deepest = _draw(parts, stacks, 0, 0.0, top + TOP, most)
        top += TOP + (deepest + 1) * HEIGHT + 12
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" font-family="monospace"'
    style = "<style>.t{font-size:13px;font-family:sans-serif}</style>"
    back = f'<rect width="{WIDTH}" height="{top}" fill="#fff"/>'
    return f'{head} font-size="10">{style}{back}{"".join(parts)}</svg>\n'


def _draw(parts: list[str], stacks: Stacks, depth: int, left: float, top: float, most: int) -> int:
    """Draw the frames at this depth, widest first, and all above them; return the greatest depth."""
    groups: dict[str, Stacks] = {}
    for stack, count in stacks.items():
        if len(stack) > depth:
            groups.setdefault(stack[depth], Counter())[stack] += count
    deepest = depth - 1
    for name, inside in sorted(groups.items(), key=lambda it: -sum(it[1].values())):
        width = sum(inside.values()) / most * WIDTH
        if width < LEAST_PX:
            continue
        parts.append(_frame(name, left, top, width))
        deepest = max(deepest, depth, _draw(parts, inside, depth + 1, left, top + HEIGHT, most))
        left += width
    return deepest


def _frame(name: str, left: float, top: float, width: float) -> str:
    function, _, place = name.partition(" (")
    colour = COLOURS.get(place.split("/")[0], OTHER)
    shown = function[: int((width - 4) / LETTER_PX)]
    label = f'<text x="{left + 2:.1f}" y="{top + 12:.0f}">{escape(shown)}</text>' if len(shown) > 2 else ""
    title = f"<title>{escape(name)}: {width / WIDTH:.1%}</title>"
    box = f'<rect x="{left:.1f}" y="{top:.0f}" width="{max(width - 0.5, 0.5):.1f}" height="16"'
    return f'<g>{title}{box} fill="{colour}"/>{label}</g>'


def main(before: Path, output: Path) -> None:
    rounds = [(sampled(before), sampled(HERE)) for _ in range(ROUNDS)]
    old, new = (min(it[side][0] for it in rounds) for side in (0, 1))
    halves: list[Stacks] = [sum((it[side][1] for it in rounds), Counter()) for side in (0, 1)]
    command = ["git", "-C", str(before), "rev-parse", "--short=7", "HEAD"]
    commit = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S).stdout.strip()
    output.write_text(drawn({f"before: commit {commit}": halves[0], "now": halves[1]}))
    print(f"a chunk, CPU: {old * 1e6:.1f} µs before, {new * 1e6:.1f} µs now, ratio {new / old:.2f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--sample"]:
        sample()
    else:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
