"""The tutorials in notebooks/, run and saved as they are in the repository: the same file from the same code.

`dev.py notebooks` runs this, with the names of some or for all of them. nbval compares what they print with
what is saved here, in the test command; for it, this is a plugin of pytest (`-p tests.tutorials`).
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
CELL_TIMEOUT_S = 120

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}

ANSWERS = f"""
[[permissions.rules]]
say = "allow"
kind = "edit"
path = "{FOLDER / "vat.py"}"
"""
"""Settings that answer the quickstart's question, which waits for the reader in a page."""

_settings = tempfile.TemporaryDirectory(prefix="acp-tutorials-")

nbformat: Any = import_module("nbformat")  # it has no types


def executed(notebook: Any, folder: Path = FOLDER) -> Any:
    """The notebook after a run by nbclient, with nothing in it of this machine, moment or version."""
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        record_timing=False,
    )
    client.execute()
    notebook.metadata = {"kernelspec": KERNEL}
    return notebook


def answer_questions() -> None:
    """Give the kernels that this process starts the settings above, and no other settings."""
    (Path(_settings.name) / "config.toml").write_text(ANSWERS)
    os.environ["ACP_NOTEBOOK_CONFIG"] = _settings.name


pytest_configure = answer_questions


def main(names: list[str]) -> None:
    answer_questions()
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            print(path.name, flush=True)
            nbformat.write(executed(nbformat.read(path, as_version=4)), path)


if __name__ == "__main__":
    main(sys.argv[1:])
