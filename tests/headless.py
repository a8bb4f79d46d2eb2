"""A notebook with every kind of turn, as a headless run leaves it: tests/data/headless.ipynb.

`python -m tests.headless` runs its cells and writes it again; test_headless.py compares it by nbval.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nbclient import NotebookClient

from tests.patience import patient_kernels

FILE = Path(__file__).parent / "data" / "headless.ipynb"
CELL_TIMEOUT_S = 180

CELLS = [
    'import acp_notebook as acp\n\nsession = acp.connect("demo")',
    'session.prompt("hello")',
    'turn = session.prompt("/ask")\nturn',
    "turn",
    'first = session.prompt("/think one")\nsecond = session.prompt("/plan")',
    'turn = session.start("/tools 2")\nturn.wait()',
    'turn = session.start("/markdown")\nawait turn',
    'session.prompt("/tour");',
    'for command in ("/image", "/notice", "/fail", "/refuse", "/max", "/unfinished", '
    '"/unknown", "/parallel"):\n'
    "    session.prompt(command)",
    'try:\n    session.prompt("/error -32099 no such model")\n'
    "except acp.AgentError as error:\n    print(error)",
    'try:\n    session.prompt("/die 3")\nexcept acp.AgentDied as error:\n    print(error)',
    "# cancelled before it began\n"
    'running, queued = session.stream("/tools 1 wait"), session.start("hello")\n'
    "queued.cancel()\nqueued.wait()\n"
    "for event in running:\n"
    '    if isinstance(event, acp.events.ToolChanged) and event.status == "completed":\n        break\n'
    "running.close()\nsession.turns[-2].wait()",
    "# cancelled, and the agent does not listen\n"
    'for event in session.stream("/hang"):\n'
    "    if isinstance(event, acp.events.MessageChunk):\n        break\nsession.turns[-1].wait()",
    'with acp.connect("demo", permissions="allow", '
    'redact=lambda text: text.replace("hunter2", "•••")) as other:\n'
    '    other.prompt("my password is hunter2")',
    "other",
    "session.close()",
]


nbformat: Any = import_module("nbformat")  # it has no types


def executed(cells: list[str], folder: Path | None = None) -> Any:
    """The notebook after a run by nbclient, like nbconvert and papermill."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    notebook.cells = [nbformat.v4.new_code_cell(cell, id=f"cell-{at}") for at, cell in enumerate(cells)]
    resources = {"metadata": {"path": str(folder or FILE.parent)}}
    client = NotebookClient(
        notebook, timeout=CELL_TIMEOUT_S, resources=resources, store_widget_state=False, record_timing=False
    )
    client.execute()
    notebook.metadata.pop("language_info", None)  # it names the version of Python
    return notebook


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        os.environ["IPYTHONDIR"] = str(patient_kernels(Path(made)))
        nbformat.write(executed(CELLS), FILE)
