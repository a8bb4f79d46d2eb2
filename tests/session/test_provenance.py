"""session.to_notebook(): what an agent ran in a kernel, with the user's cells, runs in a new kernel."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbclient import NotebookClient

import acp_notebook as acp
from acp_notebook.core.provenance.notebook import MISSING
from tests.headless import CELL_TIMEOUT_S, executed, nbformat
from tests.patience import patient_kernels
from tests.session.test_kernel_tools import Kernels, kernels

__all__ = ["kernels"]

ROOT = Path(__file__).resolve().parents[2]
FILE = "provenance.ipynb"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    monkeypatch.setenv("PYTHONPATH", os.fspath(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(patient_kernels(tmp_path / "ipython")))
    monkeypatch.delenv("ACP_NOTEBOOK_HEADLESS", raising=False)
    yield tmp_path


def run_code(code: str) -> str:
    words = f"/kernel run_code {json.dumps({'code': code})}"
    return f"turn = session.prompt({words!r})"


CELLS = [
    "import pandas as pd\nimport asyncio",
    "df = pd.DataFrame({'month': [1, 2, 3], 'sum': [4, 5, 6]})",
    "unused = open('no such file', 'a').close()",
    "import acp_notebook as acp\nfactor = 2\n"
    f"session = acp.connect([{sys.executable!r}, '-m', 'tests.agents.demo_probes'], "
    "tools=True, permissions='allow')",
    "df['sum'] = df['sum'] * factor",
    "df.head()",
    "session.prompt('/plot df')",
    run_code("raise ValueError('no')"),
    run_code("await asyncio.sleep(0)\n%time total = int(df['sum'].sum())\n!echo total {total}"),
    "def doubled(n):\n    return n * times\n\ntimes = 2",
    run_code("print('doubled', doubled(total))"),
    f"made = session.to_notebook({FILE!r})\nassert session.to_notebook() == made",
    "turn.to_notebook('last.ipynb')",
    f"try:\n    session.to_notebook({FILE!r})\nexcept acp.UsageError as error:\n    print(error)",
    f"session.to_notebook({FILE!r}, overwrite=True)\nsession.close()",
]


def run_again(path: Path, folder: Path) -> list[dict[str, Any]]:
    """Run the notebook in a new kernel and an empty folder; return its code cells."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    folder.mkdir()
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=CELL_TIMEOUT_S, resources=resources).execute()
    return [it for it in notebook.cells if it.cell_type == "code"]


def printed(cell: dict[str, Any]) -> str:
    return "".join(it["text"] for it in cell["outputs"] if it["output_type"] == "stream")


@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("default")  # those of nbclient and its libraries are not ours
def test_what_an_agent_ran_with_the_cells_that_it_needs_runs_again(folder: Path) -> None:
    ran = executed(CELLS, folder)
    assert f"{FILE} exists; overwrite=True replaces it" in ran.cells[-2].outputs[0]["text"]
    cells = run_again(folder / FILE, folder / "again")
    sources = [it["source"] for it in cells]
    assert sources[:2] == CELLS[:2] and sources[2].endswith("factor = 2") and sources[3] == CELLS[4]
    assert not any("unused" in it or "acp" in it.replace("acp_notebook", "") for it in sources)
    figure, failed, awaited, defined, doubled = cells[4:]
    assert any("image/png" in it.get("data", {}) for it in figure["outputs"])
    assert failed["outputs"][0]["ename"] == "ValueError"
    assert "total 30" in printed(awaited) and "Wall time" in printed(awaited)
    assert defined["source"].startswith("def doubled") and printed(doubled) == "doubled 60\n"

    last = run_again(folder / "last.ipynb", folder / "last")
    assert printed(last[-1]) == "doubled 60\n" and "plot" not in json.dumps([it["source"] for it in last])


def test_a_session_in_which_no_code_ran_gives_a_notebook_that_says_so(tmp_path: Path) -> None:
    with acp.connect("demo", cwd=tmp_path) as session:
        session.prompt("Hello")
        made = session.to_notebook(tmp_path / FILE)
        assert session.turns[0].to_notebook()["cells"] == made["cells"]
    assert "ran no code" in made["cells"][0]["source"]
    assert "Hello" in made["cells"][1]["source"]
    written = nbformat.read(tmp_path / FILE, as_version=4)
    nbformat.validate(written)
    assert written == nbformat.from_dict(made)


def test_a_replay_gives_the_same_notebook(kernels: Kernels, tmp_path: Path) -> None:
    prompt = '/kernel run_code {"code": "print(df)"}'
    record = tmp_path / "run.jsonl"
    with acp.connect("demo", cwd=tmp_path, tools=True, permissions="allow", record=record) as session:
        session.prompt(prompt)
        made = session.to_notebook()
    with acp.connect(cassette=record) as replayed:
        replayed.prompt(prompt)
        assert replayed.to_notebook()["cells"] == made["cells"]
    assert [it["source"] for it in made["cells"] if it["cell_type"] == "code"] == [
        f"{MISSING}\n# df",
        "print(df)",
    ]


def test_nothing_of_what_redact_removes_is_in_the_notebook(tmp_path: Path) -> None:
    with acp.connect("demo", cwd=tmp_path) as session:
        session.redact = lambda text: text.replace("hunter2", "•••")
        session.prompt("my password is hunter2")
        text = json.dumps(session.to_notebook(), ensure_ascii=False)
        assert "hunter2" not in text and "•••" in text
        session.redact = lambda text: 1 / 0  # type: ignore[assignment, return-value]
        with pytest.raises(acp.UsageError, match="`redact` failed: ZeroDivisionError"):
            session.to_notebook(tmp_path / FILE)
    assert not (tmp_path / FILE).exists()


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with (
        acp.connect("demo", cwd=tmp_path) as session,
        pytest.raises(acp.UsageError, match="cannot be written"),
    ):
        session.to_notebook(tmp_path / "none" / FILE)
