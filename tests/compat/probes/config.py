"""Sets every option to another value and back."""

from __future__ import annotations

import acp_notebook as acp
from acp_notebook.core.records import ConfigOption
from tests.compat.outcome import Found
from tests.compat.subject import Subject


def probe(subject: Subject) -> None:
    session = subject.session
    if not session.config.options:
        raise Found("not offered")
    for id in [it.id for it in session.config.options]:
        before = _option(session, id)
        other = None if before is None else _other(before)
        if before is None or other is None:
            continue  # gone with another option's value, or without a choice
        session.config[id] = other
        if session.config[id] != other:
            raise Found("defect", f"{id} does not take the value {other!r}")
        now = _option(session, id)
        if now is not None and before.value in (True, False, *(it.value for it in now.choices)):
            session.config[id] = before.value  # some offer their first value only while they have it


def _option(session: acp.Session, id: str) -> ConfigOption | None:
    return next((it for it in session.config.options if it.id == id), None)


def _other(option: ConfigOption) -> str | bool | None:
    if isinstance(option.value, bool):
        return not option.value
    return next((it.value for it in option.choices if it.value != option.value), None)
