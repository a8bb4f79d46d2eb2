"""The cells that the user ran in this kernel, and IPython's way to read their syntax.

Independent of agents. Without IPython there is no history, and code is read as Python.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..core.provenance import HistoryCell
from ..log import logger
from .ipykernel_compat import running_kernel

_log = logger(__name__)


def last_cell(shell: Any) -> int | None:
    """The number of the last cell that has begun; not the shell's counter, which may be one ahead."""
    manager = getattr(shell, "history_manager", None)
    return None if manager is None else len(manager.input_hist_raw) - 1


def cells_run() -> list[HistoryCell]:
    """The cells of this kernel in the order in which they ran, those that failed included."""
    manager = getattr(getattr(running_kernel(), "shell", None), "history_manager", None)
    sources = list(getattr(manager, "input_hist_raw", ()))
    failed = getattr(manager, "exceptions", {})  # since IPython 9
    return [
        HistoryCell(number, str(source), failed=bool(failed.get(number)))
        for number, source in enumerate(sources)
        if number > 0 and source
    ]


def as_python(source: str) -> str:
    """The code as IPython runs it: with its magics as calls; unchanged if IPython cannot read it."""
    try:
        return str(_transformer().transform_cell(source))
    except Exception:  # a SyntaxError, or a transformer of an extension
        _log.debug("code could not be transformed", exc_info=True)
        return source


def _transformer() -> Any:
    shell = getattr(running_kernel(), "shell", None)
    if shell is not None:
        return shell
    transformers: Any = import_module("IPython.core.inputtransformer2")  # it has no types
    return transformers.TransformerManager()
