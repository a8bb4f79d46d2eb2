"""A notebook as a script in percent format, for people to compare: only its cells, no JSON and no outputs.

js/src/view/locations.ts finds the cells by their first lines.
"""

from __future__ import annotations

import re

from ..patterns import pattern
from ..records import Diff
from .errors import Invalid
from .parse import Notebook, read

SUFFIX = ".ipynb"

MOST_CHARS = 4_000_000
"""The largest diff that is converted: parsing more JSON would delay the messages behind it."""

_LIKE_A_CELL = pattern(r"^(?=\\*#[^\S\n]*%%)", re.MULTILINE)


def script(notebook: Notebook) -> str:
    """The cells, each after a line that names it. A line of a source that looks like that gets a backslash:
    otherwise code could look like the text of a markdown cell."""
    return "".join(_cell_text(cell.id, cell.type, cell.source) for cell in notebook.cells)


def _cell_text(id: str, type: str, source: str) -> str:
    kind = "" if type == "code" else f" [{type}]"
    ending = "" if source.endswith("\n") or not source else "\n"
    shown = _LIKE_A_CELL.sub(r"\\", source)
    return f"# %%{kind} {id}\n{shown}{ending}\n"


def is_notebook_diff(diff: Diff) -> bool:
    return diff.path.lower().endswith(SUFFIX)


def in_percent_format(diff: Diff) -> Diff:
    """The diff of a whole notebook in percent format; any other diff, such as one of a part, unchanged."""
    texts = (diff.new_text, diff.old_text)
    if not is_notebook_diff(diff) or sum(len(it or "") for it in texts) > MOST_CHARS:
        return diff
    try:
        new, old = (None if it is None else script(read(it)) for it in texts)
    except Invalid:
        return diff
    return Diff(diff.path, new or "", old)
