"""The spool gives back what it was given, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acp_notebook.agent import spool as spool_module
from acp_notebook.agent.spool import Full, Spool

KILLED = """
import os, signal, sys
from acp_notebook.agent.spool import Spool
spool = Spool()
stored = spool.keep(os.urandom(1_000_000))
assert len(spool.get(stored)) == 1_000_000
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_is_kept_comes_back_byte_for_byte_from_any_thread() -> None:
    spool = Spool()
    contents = [os.urandom(number * 1000) + b"text" * number for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        stored = list(threads.map(spool.keep, contents))
        assert list(threads.map(spool.get, stored)) == contents


def test_what_is_large_is_kept_without_the_cost_of_compression() -> None:
    spool = Spool()
    large = b"text" * (spool_module.MOST_COMPRESSED // 4)
    stored = [spool.keep(it) for it in (large, large + b"!", b"small")]
    assert [it.compressed for it in stored] == [True, False, True]
    assert [spool.get(it) for it in stored] == [large, large + b"!", b"small"]


def test_a_full_spool_says_so_and_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool()
    first = spool.keep(b"first")
    monkeypatch.setattr(spool_module, "MOST_BYTES", 100)
    with pytest.raises(Full, match="GB"):
        spool.keep(os.urandom(200))
    assert spool.get(first) == b"first"


def test_a_killed_process_leaves_no_file(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", KILLED], env=environment, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []
