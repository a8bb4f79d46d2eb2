"""`run_cells`: the page runs the cells if the kernel is idle, our own runner if a cell waits or there is no
page.

A cell that waits for the turn blocks the kernel's queue: an execute_request of the page would wait for that
cell, which waits for the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.document_protocol import Failed, Stale, Unreachable
from ...core.ipynb.parse import Cell
from ...core.kernel_tools.outline import Outline, outputs_from_nbformat
from ..open_documents import OpenDocuments
from .runs import CodeRun

NO_PAGE = "No page shows the notebook: the outputs are here only, and the cells in the file do not have them."
CHANGED = "Nothing was run: cell {} was changed since. Read it again."
CHANGED_BEFORE_RUN = "Cell {} was changed while those before it ran: it and what follows were not run."
NOT_CODE = "Nothing was run: cell {} is {}, not code."
ITSELF = "Nothing was run: cell {} is the one that waits for this turn."
PAGE_LOST = "The page that ran the cells does not answer any more ({}): they may still run."


def refusal(cells: Sequence[Cell], expected: Mapping[str, str] | None, waiting: str | None) -> str | None:
    """Why these cells cannot be run, or None."""
    for cell in cells:
        if cell.type != "code":
            return NOT_CODE.format(cell.id, cell.type)
        if cell.id == waiting:
            return ITSELF.format(cell.id)
        if expected is not None and expected.get(cell.id, cell.source) != cell.source:
            return CHANGED.format(cell.id)
    return None


def chosen(outline: Outline, names: Sequence[str]) -> list[Cell]:
    """The cells with these names; raises UnknownCell."""
    return [outline.find(it) for it in names]


async def run_in_page(run: CodeRun, documents: OpenDocuments, page: Any) -> bool:
    """Have the page execute the run's cells; False if it cannot, and nothing was run."""
    wanted = [(it.cell or "", it.source) for it in run.steps]
    run.begin_elsewhere()
    try:
        ran = {it.id: it for it in await documents.run_cells(page, wanted)}
    except Stale as error:
        run.finish("refused", f"Nothing was run: {error}.")
        return True
    except Failed:
        run.begin_here()
        return False
    except Unreachable as error:
        run.finish("error", PAGE_LOST.format(error))
        return True
    for step in run.steps:
        done = ran.get(step.cell or "")
        if done is not None:
            step.status, step.count = done.status, done.execution_count
            step.shown = outputs_from_nbformat(done.outputs)
    failed = any(it.status == "error" for it in run.steps)
    interrupted = failed and run.was_interrupted
    changed = None if failed else next((it.cell for it in run.steps if it.status == "skipped"), None)
    if changed is not None:
        run.finish("error", CHANGED_BEFORE_RUN.format(changed))
    else:
        run.finish("interrupted" if interrupted else "error" if failed else "ok")
    return True
