"""Read and check what a saved notebook file holds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from acp_notebook.notebook.static_bundle import TRANSCRIPT_MIME
from tests.browser.pages import LIMIT_S, NOTEBOOK, NotebookPage
from tests.waiting import wait_until

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}")
LOOKS = ("text/html", "text/plain")

Notebook = dict[str, Any]


def saved(notebook: NotebookPage) -> Notebook:
    """Save, wait until it is written, and read the file."""
    notebook.page.evaluate(f"async () => {{ await {NOTEBOOK}.context.save(); }}")
    content: Notebook = json.loads(notebook.path.read_text())
    return content


def saved_when_it_says(notebook: NotebookPage, cell: int, *texts: str) -> None:
    """Save until the file has it: the kernel sends the static output a moment after the last change."""

    def is_saved() -> bool:
        outputs = str(saved(notebook)["cells"][cell]["outputs"])
        return all(text in outputs for text in (*texts, TRANSCRIPT_MIME))

    wait_until(is_saved, f"the file says {texts}", LIMIT_S)
    assert_static(saved(notebook), cell, *texts)
    assert_no_widget(notebook.path)


def data_of(notebook: Notebook, cell: int, output: int = 0) -> dict[str, Any]:
    data: dict[str, Any] = notebook["cells"][cell]["outputs"][output]["data"]
    return data


def text_of(form: Any) -> str:
    """One form of an output, which a file may store as lines."""
    return "".join(form)


def assert_static(notebook: Notebook, cell: int, *texts: str) -> None:
    """Check that the cell's first output needs no kernel, and contains this."""
    assert notebook["cells"][cell]["outputs"], "an empty cell"
    data = data_of(notebook, cell)
    assert WIDGET_VIEW not in data
    assert TRANSCRIPT_MIME in data
    for form in LOOKS:
        assert text_of(data[form]) and not ADDRESS.search(text_of(data[form]))
    for text in texts:  # the plain text is a summary
        assert text in text_of(data["text/html"]), text_of(data["text/html"])[:500]


def assert_no_widget(path: Path) -> None:
    assert WIDGET_VIEW not in path.read_text()
