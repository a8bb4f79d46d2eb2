"""Parses the line of `%%acp --agents A,B`: one prompt for several agents. Knows no shell."""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn

from ...errors import UsageError

FLAG = "--agents"

DEFAULT = "runs"
"""The default name of the variable that has the runs."""

OPTIONS = (FLAG, "--attempts", "--at-once", "--score", "--max-cost", "--max-seconds", "--as")


class _Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"%%acp --agents: {message}")


class FanOutLine(argparse.Namespace):
    """The parsed line."""

    agents: list[str]
    name: str
    attempts: int
    at_once: int | None
    score: str | None
    max_cost: float | None
    max_seconds: float | None

    def options(self) -> dict[str, object]:
        """What `fan_out` is called with, besides the prompt."""
        names = ("agents", "attempts", "at_once", "score", "max_cost", "max_seconds")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def is_fan_out(line: str) -> bool:
    return any(word == FLAG or word.startswith(f"{FLAG}=") for word in line.split())


def parse_fan_out(line: str) -> FanOutLine:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"%%acp --agents: cannot parse the line: {error}") from None
    parser = _Parser(prog="%%acp", add_help=False, allow_abbrev=False)
    parser.add_argument(FLAG, metavar="A,B", type=_names)
    parser.add_argument("--as", dest="name", metavar="VAR", default=DEFAULT)
    parser.add_argument("--attempts", metavar="N", type=int, default=1)
    parser.add_argument("--at-once", metavar="N", type=int)
    parser.add_argument("--score", metavar="COMMAND")
    parser.add_argument("--max-cost", metavar="X", type=float)
    parser.add_argument("--max-seconds", metavar="S", type=float)
    return parser.parse_args(words, FanOutLine())


def _names(text: str) -> list[str]:
    names = [it.strip() for it in text.split(",") if it.strip()]
    if not names:
        raise argparse.ArgumentTypeError("name the agents: --agents claude,codex")
    return names
