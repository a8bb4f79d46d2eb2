"""Reads answers that are typed in a terminal, or asked for by a kernel with `input()`.

In a terminal `input()` loses an interrupt that arrives after its prompt appears and before it reads: it
notices that one only with the next key. So we wait for the line ourselves.
"""

from __future__ import annotations

import os
import select
import sys
import termios
from contextlib import suppress

from ..notebook import kernel

INTERRUPT_CHECK_S = 0.1
"""How often a wait for a line returns to Python, which raises an interrupt that came between two waits."""

LONGEST_LINE = 4096
"""A terminal hands over no longer line."""


def read_line(prompt: str) -> str:
    """Ask for a line; an interrupt ends the wait."""
    terminal = _terminal()
    if terminal is None:
        return input(prompt).strip()
    sys.stdout.write(prompt)
    sys.stdout.flush()
    while not select.select([terminal], [], [], INTERRUPT_CHECK_S)[0]:
        pass
    line = os.read(terminal, LONGEST_LINE)
    if not line:
        raise EOFError
    return line.decode(sys.stdin.encoding, "replace").strip()


def fresh_input(prompt: str) -> str:
    """Ask, ignoring what was typed into the terminal before; in a kernel, the front end keeps that."""
    terminal = _terminal()
    if terminal is not None:
        with suppress(termios.error):
            termios.tcflush(terminal, termios.TCIFLUSH)
    return read_line(prompt)


def _terminal() -> int | None:
    """The terminal that lines are typed into; None in a kernel, or if the input is something else."""
    if not kernel.where().terminal:
        return None
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):
        return None
    return descriptor if os.isatty(descriptor) else None
