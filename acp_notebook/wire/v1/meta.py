"""Read what agents report in `_meta`, beyond the protocol: the terminals that they run, their own methods.

Understands the formats of codex-acp, claude-agent-acp and qwen-code; keeps no state. Ignores everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core import events as ev

OUTPUT = ("terminal_output", "terminal_output_delta")


def terminal_events(meta: Any) -> Iterator[ev.TerminalChanged | ev.TerminalOutput]:
    """The start of a terminal, more output, and its end: in this order, each if reported."""
    entries = meta if isinstance(meta, dict) else {}
    if (begun := _with_id(entries.get("terminal_info"))) is not None:
        yield ev.TerminalChanged(begun["terminal_id"], cwd=_text(begun.get("cwd")), status="running")
    for name in OUTPUT:
        output = _with_id(entries.get(name))
        if output is not None and isinstance(output.get("data"), str):
            yield ev.TerminalOutput(output["terminal_id"], output["data"])
    if (ended := _with_id(entries.get("terminal_exit"))) is not None:
        code, signal = ended.get("exit_code"), ended.get("signal")
        yield ev.TerminalChanged(
            ended["terminal_id"],
            status="exited",
            exit_code=code if type(code) is int else None,
            signal=signal if isinstance(signal, str) else None,
        )


def whole_output(raw_output: Any) -> str | None:
    """The whole output of a command, if the agent reports it at the end: for a quick command, codex-acp
    sends it in no other way."""
    output = raw_output.get("aggregated_output") if isinstance(raw_output, dict) else None
    return output if isinstance(output, str) else None


def methods(meta: Any) -> tuple[str, ...]:
    """The methods that an agent lists with its capabilities, under a name of its own."""
    groups = meta.values() if isinstance(meta, dict) else ()
    lists = (it.get("methods") for it in groups if isinstance(it, dict))
    return tuple(name for it in lists if isinstance(it, list) for name in it if isinstance(name, str))


def _with_id(entry: Any) -> dict[str, Any] | None:
    """The entry, if it names its terminal."""
    return entry if isinstance(entry, dict) and isinstance(entry.get("terminal_id"), str) else None


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else ev.UNSET
