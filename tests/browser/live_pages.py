"""Read and edit the open notebook in its page, as a user does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat

from tests.browser.pages import LIMIT_S, NOTEBOOK, NotebookPage
from tests.waiting import wait_until


def sources(notebook: NotebookPage) -> list[str]:
    """The sources of the cells in the page, including unsaved text."""
    found: list[str] = notebook.page.evaluate(
        f"() => {NOTEBOOK}.context.model.sharedModel.cells.map((cell) => cell.getSource())"
    )
    return found


def set_source(notebook: NotebookPage, cell: int, text: str) -> None:
    notebook.page.evaluate(
        f"([at, text]) => {NOTEBOOK}.context.model.sharedModel.getCell(at).setSource(text)", [cell, text]
    )


def type_in(notebook: NotebookPage, cell: int, text: str) -> None:
    """Type like the user at the end of the cell, without saving."""
    notebook.select(cell)
    notebook.page.keyboard.press("Control+End")
    notebook.page.keyboard.type(text)


def until(notebook: NotebookPage, expected: list[str]) -> None:
    wait_until(lambda: sources(notebook) == expected, f"the cells are {expected}", LIMIT_S)


def valid(path: Path) -> Any:
    content = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(content)
    return content
