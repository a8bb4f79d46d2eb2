"""A test kernel that dies says where it was, and the next test gets a new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notebook.conftest import Shared
from tests.notebook.kernels import Lost, kernel_python, started


def test_a_kernel_that_hangs_is_reported_with_its_stack_and_replaced(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    python: Path = kernel_python("newest")
    shared = Shared(lambda: started(python, tmp_path_factory.mktemp("kernel")))
    try:
        front = shared.front()
        front.limit_s = 1.0
        with pytest.raises(Lost, match=r"(?s)the kernel's stack:.*in stuck"):
            front.run("def stuck():\n    threading.Event().wait()\nstuck()")
        assert front.lost
        assert shared.front() is not front
        assert shared.front().run("print(1)").text == "1\n"
    finally:
        shared.end()


def test_a_kernel_that_dies_is_reported_with_its_last_output(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with started(kernel_python("newest"), tmp_path_factory.mktemp("kernel")) as front:
        with pytest.raises(Lost, match=r"(?s)died.*farewell"):
            front.run("import os; os.write(2, b'farewell'); os._exit(1)")
        assert front.lost
