"""A newcomer clones, runs `python3 dev.py demo` and the notebook, and gets an answer.

The time to the first answer is reported at the end of the run, as `measured`; no test depends on it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import missing
from tests.notebook.kernels import ROOT

ANSWER_S = 240.0
"""For everything in the page."""

END_S = 120.0

CELLS = 5
"""From the first one with code to the one that asks; two of them are text."""

FOREIGN = ("JUPYTER", "IPYTHON", "ACP_NOTEBOOK", "JPY_", "PYTEST_", "PYTHONPATH", "VIRTUAL_ENV")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_newcomer_gets_an_answer(
    browser: BrowserContext, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    clone = tmp_path / "acp_notebook"
    began = time.monotonic()
    if shutil.which("git") is None or subprocess.call(["git", "clone", "-q", str(ROOT), str(clone)]):
        missing("this is no clone, or there is no git")
    with demo_of(clone, tmp_path) as address:
        page = browser.new_page()
        page.goto(address)
        expect(page.get_by_text("| Idle")).to_be_visible(timeout=ANSWER_S * 1000)  # the kernel has started
        page.locator(".jp-CodeCell .cm-content").first.click()
        for _ in range(CELLS):
            page.keyboard.press("Shift+Enter")
        turn = page.locator(".acp-turn", has_text="I am a scripted demo agent").first
        expect(turn).to_contain_text("You said", timeout=ANSWER_S * 1000)
        took = time.monotonic() - began
        page.close()
    record_property("measured", f"from the clone to the demo agent's first answer: {took:.0f} s")


@contextmanager
def demo_of(clone: Path, folder: Path) -> Iterator[str]:
    """`python3 dev.py demo` in that clone; gives the address that it says."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    env |= {f"JUPYTER_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA")}
    env |= {f"ACP_NOTEBOOK_{name}": str(folder / name) for name in ("STATE", "CONFIG")}
    env |= {"IPYTHONDIR": str(folder / "ipython"), "PATH": system_path()}
    command = [python(), "dev.py", "demo", "--no-browser"]
    demo = subprocess.Popen(command, cwd=clone, env=env, stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    try:
        yield said(demo.stdout)
    finally:
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=END_S)
    assert demo.returncode == 0


def said(stdout: IO[str]) -> str:
    lines = []
    for line in stdout:
        lines.append(line)
        if found := re.search(r"open (http://127\.0\.0\.1\S+)", line):
            return found[1]
    raise AssertionError(f"dev.py demo ended without an address:\n{''.join(lines)}")


def system_path() -> str:
    """Without the .venv that runs the tests: a newcomer has none."""
    own = Path(sys.prefix, "bin")
    return os.pathsep.join(it for it in os.environ.get("PATH", "").split(os.pathsep) if Path(it) != own)


def python() -> str:
    """The one that .venv was made with."""
    return str(Path(sys.base_prefix, "bin", "python3"))
