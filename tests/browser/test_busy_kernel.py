"""While the user's code blocks the kernel with a question open, the panel says so and loses nothing."""

from __future__ import annotations

from pathlib import Path

from tests.browser.conftest import Open

BUSY = """
import pathlib, time
print("busy")
while not pathlib.Path("go").exists():
    time.sleep(0.02)
pathlib.Path("go").unlink()
print("free")
"""


def test_a_question_is_answered_while_a_cell_blocks(
    open_notebook: Open, kernel_on: tuple[str, str, str]
) -> None:
    kernel, comms, host = kernel_on
    cells = [
        "import acp_notebook as acp\ns = acp.connect('demo')",
        "turn = s.start('/ask')\nturn",
        BUSY,
        "print('then', turn.wait().text)",
    ]
    notebook = open_notebook(cells, kernel=kernel, comms=comms, host=host)
    notebook.run(0, 1)
    notebook.asks(1)
    notebook.run(2, 3)
    notebook.says(2, "busy")
    notebook.answer(1)
    at_once = kernel != "6.29" and comms == "default"  # a subshell takes it
    notebook.says(1, "You answered allow_once." if at_once else "Kernel busy")
    Path(notebook.path.parent, "go").touch()
    notebook.says(2, "free")
    notebook.says(1, "You answered allow_once.")
    notebook.has_status(1, "done")
    notebook.says(3, "then You answered allow_once.")


def test_a_question_arrives_while_a_cell_blocks(open_notebook: Open) -> None:
    cells = [
        "import acp_notebook as acp\ns = acp.connect('demo')",
        "turn = s.start('/ask')\nturn",
        BUSY,
    ]
    notebook = open_notebook(cells, kernel="6.29")
    notebook.run(0)
    notebook.wait_idle()
    notebook.run(1, 2)
    notebook.says(2, "busy")
    Path(notebook.path.parent, "go").touch()
    notebook.says(2, "free")
    notebook.asks(1)
    notebook.answer(1)
    notebook.says(1, "You answered allow_once.")
