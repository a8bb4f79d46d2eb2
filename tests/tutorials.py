"""The tutorials in notebooks/, run and saved as they are in the repository: the same file from the same code.

`dev.py notebooks` runs this, with the names of some or for all of them. nbval compares what they print with
what is saved here, in the test command.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
CELL_TIMEOUT_S = 120

KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}

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


def main(names: list[str]) -> None:
    for path in sorted(FOLDER.glob("*.ipynb")):
        if not names or path.stem in names:
            print(path.name, flush=True)
            nbformat.write(executed(nbformat.read(path, as_version=4)), path)


if __name__ == "__main__":
    main(sys.argv[1:])
