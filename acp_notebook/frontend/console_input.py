"""Reads the answer to a question with `input()`: what was typed before the question is no answer to it."""

from __future__ import annotations

import sys
import termios
from contextlib import suppress

from ..notebook import kernel


def fresh_input(prompt: str) -> str:
    """Ask, ignoring what was typed into the terminal before; in a kernel, the front end keeps that."""
    if kernel.where().terminal:
        with suppress(termios.error, OSError, ValueError):  # not a terminal after all
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
    return input(prompt).strip()
