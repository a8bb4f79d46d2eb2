"""An output knows whether its cell shows it still."""

from __future__ import annotations

import pytest

from acp_notebook.notebook import output
from acp_notebook.notebook.output import CellOutput, emit


def test_an_output_that_never_changes_takes_the_place_of_an_earlier_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    request = ["run 1"]
    monkeypatch.setattr(output, "current_cell", lambda: "cell-1")
    monkeypatch.setattr(output, "current_request", lambda: request[0])
    earlier = CellOutput(None, "cell-1", "run 1")
    other = CellOutput(None, "cell-2", "run 1")
    emit({"text/plain": "in the same run"})
    assert earlier.is_current
    request[0] = "run 2"
    emit({"text/plain": "a stored answer"})
    assert not earlier.is_current
    assert other.is_current
