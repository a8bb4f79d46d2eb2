"""The probes in their order, each bounded in time: one that hangs or kills the agent spoils its own cell."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.compat.outcome import Outcome, outcome_of
from tests.compat.probes import (
    cancel,
    config,
    eof,
    fork,
    initialize,
    list_sessions,
    load,
    modes,
    new_session,
    orphans,
    permission,
    prompt,
    read_file,
    resume,
    terminal,
    unknown,
    write_file,
)
from tests.compat.report import Column
from tests.compat.subject import Subject

Probe = Callable[[Subject], Outcome | None]

PROBES: dict[str, Probe] = {
    "initialize": initialize.probe,
    "new": new_session.probe,
    "prompt": prompt.probe,
    "permission": permission.probe,
    "fs read": read_file.probe,
    "fs write": write_file.probe,
    "terminal": terminal.probe,
    "cancel x3": cancel.probe,
    "load": load.probe,
    "resume": resume.probe,
    "list": list_sessions.probe,
    "fork": fork.probe,
    "config": config.probe,
    "modes": modes.probe,
    "EOF": eof.probe,
    "orphans": orphans.probe,
    "unknown messages": unknown.probe,
}

SCHEMA = "our messages"
"""The last row: whether the schema allows everything that we sent."""

ROWS = (*PROBES, SCHEMA)

PROBE_S = 150.0
"""Longer than the timeouts inside a probe: for a probe that waits forever."""


def examined(subject: Subject, on_cell: Callable[[str, Outcome], None] = lambda *_: None) -> Column:
    """Run all probes with one agent."""
    cells: dict[str, Outcome] = {}
    for name, probe in PROBES.items():
        cells[name] = _bounded(subject, probe)
        if cells[name].word in ("defect", "FAIL"):
            subject.spoilt()
        on_cell(name, cells[name])
        if name == "initialize" and cells[name].word != "ok":
            cells |= dict.fromkeys([it for it in PROBES if it not in cells], cells[name])
            break
    subject.close()
    cells[SCHEMA] = outcome_of(lambda: Outcome("FAIL", wrong) if (wrong := subject.invalid()) else None)
    on_cell(SCHEMA, cells[SCHEMA])
    return Column(subject.name, subject.version, cells)


def _bounded(subject: Subject, probe: Probe) -> Outcome:
    found: list[Outcome] = []
    work = threading.Thread(target=lambda: found.append(outcome_of(lambda: probe(subject))), daemon=True)
    work.start()
    work.join(PROBE_S)
    if not found:
        subject.kill()
        return Outcome("FAIL", f"no end within {PROBE_S:g} s")
    return found[0]
