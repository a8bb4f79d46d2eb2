"""The package's loggers, and the newest records in memory for `acp.doctor(log=True)`.

A module logs where it swallows an exception: at debug level what is expected (a process that is gone, a
closed pipe), as a warning what is not. Nothing is printed unless the user configures logging; debug records
need `logging.getLogger("acp_notebook").setLevel("DEBUG")`. Of an exception, the records in memory hold its
type and where it was raised, and not its message, which could quote what the user wrote.
"""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from logging import WARNING
from types import TracebackType
from typing import NamedTuple

__all__ = ["WARNING", "logger", "recent", "suppressed"]

NAME = __name__.partition(".")[0]

MOST_RECORDS = 200
"""In memory: the last minutes of a bad day, in a report that somebody still reads."""

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class Recent(NamedTuple):
    """A record as text, without the objects that it was about."""

    when: str
    level: str
    text: str


class RecentRecords(logging.Handler):
    """Keeps the newest records."""

    def __init__(self) -> None:
        super().__init__()
        self._records: deque[Recent] = deque(maxlen=MOST_RECORDS)

    @property
    def records(self) -> tuple[Recent, ...]:
        return tuple(self._records)

    def clear(self) -> None:
        self._records.clear()

    def emit(self, record: logging.LogRecord) -> None:
        when = time.strftime("%H:%M:%S", time.gmtime(record.created))
        where = f"{record.name.removeprefix(f'{NAME}.')}:{record.lineno}"
        self._records.append(
            Recent(when, record.levelname, f"{where}: {record.getMessage()}{_cause(record)}")
        )


def _cause(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    return "" if error is None else f" ({type(error).__name__}{_origin(error.__traceback__)})"


def _origin(traceback: TracebackType | None) -> str:
    """The innermost line of this package that it came through."""
    found = ""
    while traceback is not None:
        path = traceback.tb_frame.f_code.co_filename
        if path.startswith(_FOLDER):
            found = f" at {os.path.relpath(path, _FOLDER)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found


recent = RecentRecords()
"""With this handler none of our records reaches `logging.lastResort`, which would print it below a cell."""

logging.getLogger(NAME).addHandler(recent)


def logger(name: str) -> logging.Logger:
    """The logger of a module, by its `__name__`."""
    return logging.getLogger(name)


class suppressed:
    """Like `contextlib.suppress`, with a record of what was suppressed."""

    def __init__(self, log: logging.Logger, *errors: type[BaseException], level: int = logging.DEBUG) -> None:
        self._log = log
        self._errors = errors
        self._level = level

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        if error is None or not isinstance(error, self._errors):
            return False
        self._log.log(self._level, "suppressed", exc_info=error, stacklevel=2)
        return True
