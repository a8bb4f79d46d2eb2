"""A notebook as one text, for people to compare: what is in its cells, and nothing of JSON and outputs.

Knows no merge. js/src/view/places.ts finds the cells again by the lines that they begin with.
"""

from __future__ import annotations

from ..records import Diff
from .errors import Invalid
from .parse import Notebook, read

SUFFIX = ".ipynb"

MOST_CHARS = 4_000_000
"""Of a diff's JSON: to read more would hold up the messages that come behind it."""


def script(notebook: Notebook) -> str:
    return "".join(_cell_text(cell.id, cell.type, cell.source) for cell in notebook.cells)


def _cell_text(id: str, type: str, source: str) -> str:
    kind = "" if type == "code" else f" [{type}]"
    ending = "" if source.endswith("\n") or not source else "\n"
    return f"# %%{kind} {id}\n{source}{ending}\n"


def is_notebooks(diff: Diff) -> bool:
    return diff.path.lower().endswith(SUFFIX)


def in_cells(diff: Diff) -> Diff:
    """A change of a whole notebook, cell by cell; as it is where it is a part of the JSON, or no notebook."""
    texts = (diff.new_text, diff.old_text)
    if not is_notebooks(diff) or sum(len(it or "") for it in texts) > MOST_CHARS:
        return diff
    try:
        new, old = (None if it is None else script(read(it)) for it in texts)
    except Invalid:
        return diff
    return Diff(diff.path, new or "", old)
