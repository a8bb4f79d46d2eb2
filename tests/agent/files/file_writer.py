"""A process that writes files and is killed for it, or that has no rights; driven by lines on stdin.

Run as a script, from `test_file_crashes.py`. It is started once and forks for each kill, so that a kill
costs milliseconds.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import select
import signal
import sys
from typing import Any

from acp_notebook.agent.files.roots import FileTrouble, Roots
from acp_notebook.agent.files.text_reader import read_text
from acp_notebook.agent.files.text_writer import write_text

NOBODY = 65534
PIECES = 7


@functools.cache
def version(letter: str) -> str:
    """A text that reveals any mix or truncation, long enough for a kill in the middle of it."""
    return "".join(f"{letter} {number}\n" for number in range(20_000)) + f"end of {letter}"


def write_in_pieces() -> None:
    """Make a write take several calls, as on a slow disk."""
    write, size = os.write, len(version("A")) // PIECES
    os.write = lambda fd, data: write(fd, memoryview(data)[:size])


def die_at(step: int) -> None:
    """Kill this process before or after the system call with this number."""
    seen = 0

    def count(_frame: Any, event: str, called: Any) -> None:
        nonlocal seen
        if event in ("c_call", "c_return") and getattr(called, "__module__", None) == "posix":
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

    sys.setprofile(count)


def write_until_killed(roots: Roots, path: str, started: int) -> None:
    letter = "A"
    while True:
        letter = "B" if letter == "A" else "A"
        write_text(roots.resolve(path), version(letter))
        os.write(started, b".")


def killed_at(step: int, roots: Roots, path: str) -> bool:
    """Whether the write reached this step."""
    child = os.fork()
    if child == 0:
        write_in_pieces()
        die_at(step)
        write_text(roots.resolve(path), version("B"))
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def killed_after(pause: float, roots: Roots, path: str) -> bool:
    """Kill the process this long after the first write."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            write_until_killed(roots, path, write)
        finally:
            os._exit(1)
    os.read(read, 1)
    never, ours = os.pipe()
    select.select([never], [], [], pause)
    os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for fd in (read, write, never, ours):
        os.close(fd)
    return status == -signal.SIGKILL


def without_rights() -> None:
    """Drop root's rights, which would bypass permissions."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def tried(order: dict[str, Any]) -> dict[str, Any]:
    """Read or write, and report the result."""
    roots = Roots([order["root"]])
    try:
        if "text" in order:
            return {"created": write_text(roots.resolve(order["path"]), order["text"]).created}
        return {"text": read_text(roots.resolve(order["path"]))}
    except FileTrouble as error:
        return {"error": type(error).__name__, "message": str(error)}


def main() -> None:
    version("A"), version("B")  # created once, for all forked processes
    for line in sys.stdin:
        order = json.loads(line)
        answer: Any = None
        match order["do"]:
            case "kill at":
                answer = killed_at(order["step"], Roots([order["root"]]), order["path"])
            case "kill after":
                answer = killed_after(order["pause"], Roots([order["root"]]), order["path"])
            case "limit size":
                resource.setrlimit(resource.RLIMIT_FSIZE, (order["size"], order["size"]))
            case "drop rights":
                without_rights()
            case _:
                answer = tried(order)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
