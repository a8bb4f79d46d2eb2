"""What the JupyterLab extension (js/lab) asks of the kernel: it evaluates these calls without a cell.

Results are plain JSON. Knows neither the page nor how it shows sessions.
"""

from __future__ import annotations

import io
import keyword
import shlex
import tokenize
from collections.abc import Iterator
from itertools import count
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from ..api.session import Session
from ..errors import UsageError
from ..notebook.ipykernel_compat import running_kernel
from ..notebook.output import CellOutput
from .agents_output import offer_agents_aside
from .magics.acp_magics import ANY_AGENT, find_magics
from .magics.agent_line import DEFAULT, open_session, parse_request
from .magics.shell_context import shell_context

MOST_VARIABLES = 8
"""More would bury the question."""

_NO_DATA = (ModuleType, FunctionType, BuiltinFunctionType, type)
"""What the code itself or an import tells about; not a variable to look at."""


def offer(cell: str) -> str:
    """Offer agents; returns the model of the widget to show. `cell`: the id of the session's future cell."""
    shell = _shell()
    if find_magics(shell) is None:
        shell.extension_manager.load_extension("acp_notebook")
    if find_magics(shell) is None:
        raise UsageError("acp_notebook could not be loaded into this kernel")

    def start(agent: str, install: str | bool) -> Session:
        session = open_session(parse_request([ANY_AGENT]).chosen(agent, install))
        names = shell.user_ns  # the user's cells may have changed them since the offer
        name = next(it for it in _session_names() if names.setdefault(it, session) is session)
        _cells[session._live_panel().model_id] = cell, _source(name, agent)
        return session

    return offer_agents_aside(cell, start, lambda session: _cells[session._live_panel().model_id][1])


_cells: dict[str, tuple[str, str]] = {}
"""The cell of each session that a side panel started, by the session's model: its id and its source."""


def cell_for(model: str, id: str) -> dict[str, str]:
    """The cell to keep this session in the file; `id` is used if it has had none that can be made again."""
    cell, source = _cells.get(model, (id, ""))
    if not source:
        magics = find_magics(_shell())
        sessions = {} if magics is None else magics._sessions()
        shown = {it._live_panel().model_id: (name, it) for name, it in sessions.items()}
        if model not in shown:
            raise UsageError("no variable holds this session any more, so no cell can show it")
        source, session = shown[model]
        session._live_panel().show_in(model, CellOutput.in_page(cell))
        _cells[model] = cell, source
    return {"cell": cell, "source": source}


def _session_names() -> Iterator[str]:
    """session, session_2, session_3, …: what the user has is never replaced."""
    yield DEFAULT
    yield from (f"{DEFAULT}_{number}" for number in count(2))


def _source(name: str, agent: str) -> str:
    words = ["%acp_agent", agent, *([] if name == DEFAULT else ["--as", name])]
    return f"%load_ext acp_notebook\n{shlex.join(words)}"


def variables_in(source: str) -> list[str]:
    """The user's variables that this code uses, in the order of their first use."""
    variables = shell_context(_shell()).variables()
    found = dict.fromkeys(name for name in _names(source) if name in variables and not name.startswith("_"))
    return [name for name in found if not isinstance(variables[name], _NO_DATA)][:MOST_VARIABLES]


def _names(source: str) -> Iterator[str]:
    """The names in the code; as far as it can be read, since it may be what is wrong."""
    before = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME and before != "." and not keyword.iskeyword(token.string):
                yield token.string
            before = token.string
    except (tokenize.TokenError, SyntaxError):
        return


def _shell() -> Any:
    kernel = running_kernel()
    assert kernel is not None  # it has evaluated the call
    return kernel.shell
