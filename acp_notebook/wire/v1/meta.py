"""What agents tell in `_meta` of a tool call, beyond the protocol: terminals that they run themselves.

Knows the forms of codex-acp and claude-agent-acp; keeps no state. What does not fit is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core import events as ev

OUTPUT = ("terminal_output", "terminal_output_delta")


def terminal_events(meta: Any) -> Iterator[ev.TerminalChanged | ev.TerminalOutput]:
    """The terminal that begins, more of its output, its end: in this order, each if it is told."""
    told = meta if isinstance(meta, dict) else {}
    if (begun := _named(told.get("terminal_info"))) is not None:
        yield ev.TerminalChanged(begun["terminal_id"], cwd=_text(begun.get("cwd")), status="running")
    for name in OUTPUT:
        output = _named(told.get(name))
        if output is not None and isinstance(output.get("data"), str):
            yield ev.TerminalOutput(output["terminal_id"], output["data"])
    if (ended := _named(told.get("terminal_exit"))) is not None:
        code, signal = ended.get("exit_code"), ended.get("signal")
        yield ev.TerminalChanged(
            ended["terminal_id"],
            status="exited",
            exit_code=code if type(code) is int else None,
            signal=signal if isinstance(signal, str) else None,
        )


def whole_output(raw_output: Any) -> str | None:
    """All that a command printed, where the agent says so at its end: of a quick one, codex-acp sends it in
    no other way."""
    output = raw_output.get("aggregated_output") if isinstance(raw_output, dict) else None
    return output if isinstance(output, str) else None


def _named(told: Any) -> dict[str, Any] | None:
    """What is told of a terminal, if it says of which."""
    return told if isinstance(told, dict) and isinstance(told.get("terminal_id"), str) else None


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else ev.UNSET
