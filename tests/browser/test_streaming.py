"""Chunks that come faster than the server forwards messages all arrive, in order."""

from __future__ import annotations

import hashlib

import pytest

from benchmarks.browser import CELLS, COUNT, streamed
from tests.browser.conftest import Open


@pytest.mark.parametrize("host", ["lab", "notebook"])
def test_nothing_is_lost_and_nothing_reordered(open_notebook: Open, host: str) -> None:
    run = streamed(open_notebook(CELLS, host=host))
    assert run.words == [f"{number}" for number in range(COUNT)]
    assert run.kernel == f"{len(run.text)} {hashlib.sha256(run.text.encode()).hexdigest()}"
