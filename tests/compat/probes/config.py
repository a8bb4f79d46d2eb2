"""Every option is set to another value and back."""

from __future__ import annotations

from acp_notebook.core.records import ConfigOption
from tests.compat.outcome import Found
from tests.compat.subject import Subject


def probe(subject: Subject) -> None:
    session = subject.session
    options = session.config.options
    if not options:
        raise Found("not offered")
    for option in options:
        other = _other(option)
        if other is None:
            continue
        before = session.config[option.id]
        session.config[option.id] = other
        if session.config[option.id] != other:
            raise Found("defect", f"{option.id} does not take the value {other!r}")
        if before in [it.value for it in option.choices] or isinstance(before, bool):
            session.config[option.id] = before  # some have a value that is none of their choices


def _other(option: ConfigOption) -> str | bool | None:
    if isinstance(option.value, bool):
        return not option.value
    return next((it.value for it in option.choices if it.value != option.value), None)
