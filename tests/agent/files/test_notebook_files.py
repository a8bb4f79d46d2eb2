"""A write to a notebook does what was shown: concurrent changes stay."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from acp_notebook.agent.files.notebook_files import NotebookFiles
from acp_notebook.agent.files.roots import Roots

LIMIT_S = 60.0


def book(**sources: str) -> str:
    cells = [
        {"cell_type": "code", "id": id, "metadata": {}, "source": source, "outputs": []}
        | {"execution_count": None}
        for id, source in sources.items()
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def sources(path: Path) -> dict[str, Any]:
    cells = json.loads(path.read_text())["cells"]
    return {it["id"]: "".join(it["source"]) for it in cells}


def test_a_read_while_the_question_is_open_does_not_make_the_users_change_the_agents(tmp_path: Path) -> None:
    """Attack: the agent reads a concurrent edit of the user, so that its older text would revert it."""
    path = tmp_path / "a.ipynb"
    path.write_text(book(first="1", second="2"))
    files = NotebookFiles(Roots([str(tmp_path)]), lambda notice: None, lambda: (None, None))

    async def main() -> None:
        place = await files.place_of(str(path))
        assert place is not None
        seen = await files.read(place, None, None)
        wanted = seen.replace('"1"', '"10"')
        planned = await files.plan(place, wanted)
        path.write_text(book(first="1", second="2  # by the user"))  # while the question is open
        await files.read(place, None, None)
        await files.write(place, wanted, planned)

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))
    assert sources(path) == {"first": "10", "second": "2  # by the user"}
