"""Files that a killed kernel leaves are removed by the next start; those of a living kernel stay."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.agent.process_helpers import ROOT

HANGS = """
import os, sys, time
from pathlib import Path
import acp_notebook as acp
folder = Path(sys.argv[1])

def hang(*_, **__):
    print("here", flush=True)
    time.sleep(600)
"""

WRITING = """
from acp_notebook.agent.files.roots import Roots
from acp_notebook.agent.files.text_writer import write_text
os.replace = hang
write_text(Roots([str(folder)]).resolve(str(folder / "a.txt")), "text")
"""

RECORDING = """
session = acp.connect("demo", cwd=folder, cassette=acp.Cassette(folder / "tape.jsonl", record="once"))
session.prompt("hello", timeout=60)
hang()
"""

FINISHING = """
os.replace = hang
session = acp.connect("demo", cwd=folder, record=folder / "tape.jsonl", undo=False)
session.agent.close()
"""

SETTINGS = """
from acp_notebook.agent.files import user_files
user_files.os.replace = hang
user_files.change_json(Path(os.environ["ACP_NOTEBOOK_CONFIG"]) / "decisions.json", lambda known: {"a": 1})
"""

UNDOING = """
session = acp.connect("demo", cwd=folder, permissions="allow")
session.prompt("/write a.txt x", timeout=60)
hang()
"""

NEXT = """
import sys
from pathlib import Path
import acp_notebook as acp
from acp_notebook.agent.files import user_files
from acp_notebook.agent.user_dirs import config_folder

folder = Path(sys.argv[1])
with acp.connect("demo", cwd=folder, permissions="allow") as session:
    session.prompt("/write other.txt x", timeout=60)
user_files.change_json(config_folder() / "decisions.json", lambda known: known)
"""


class Places:
    """The folders in which a user's kernels have their files."""

    def __init__(self, base: Path) -> None:
        self.base = Path(os.path.realpath(base))
        self.work = self.base / "work"
        names = {"ACP_NOTEBOOK_STATE": "state", "ACP_NOTEBOOK_CONFIG": "config", "TMPDIR": "tmp"}
        self.env = {**os.environ, "PYTHONPATH": str(ROOT)}
        self.env |= {variable: str(self.base / name) for variable, name in names.items()}
        for name in ("work", *names.values()):
            (self.base / name).mkdir()

    @contextmanager
    def hanging(self, script: str) -> Iterator[subprocess.Popen[str]]:
        with subprocess.Popen(
            [sys.executable, "-c", HANGS + script, str(self.work)],
            env=self.env,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            try:
                assert process.stdout.readline() == "here\n"
                yield process
            finally:
                process.kill()

    def next_kernel(self) -> None:
        subprocess.run([sys.executable, "-c", NEXT, str(self.work)], env=self.env, check=True, timeout=120)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


@pytest.mark.parametrize(
    ("script", "left"),
    [
        pytest.param(WRITING, "work/.acp-notebook-*.tmp", id="a file that the agent writes"),
        pytest.param(RECORDING, "work/tape.jsonl.part", id="an unfinished cassette"),
        pytest.param(FINISHING, "work/.acp-notebook-*.tmp", id="a recording that is finished"),
        pytest.param(SETTINGS, "config/decisions.json.*.tmp", id="permanent decisions"),
        pytest.param(UNDOING, "state/checkpoints/*/index.*", id="the index of checkpoints"),
    ],
)
def test_leftovers_of_a_killed_kernel_are_removed_by_the_next(places: Places, script: str, left: str) -> None:
    with places.hanging(script) as process:
        made = set(places.base.glob(left))
        assert made
        if script != SETTINGS:  # the next kernel would wait for the lock
            places.next_kernel()
            assert all(it.exists() for it in made), "it belongs to a living kernel"
        process.kill()
        process.wait()
    assert all(it.exists() for it in made), "nobody removes it yet"
    places.next_kernel()
    assert not list(places.base.glob(left))
    assert not list((places.base / "state" / "unfinished").glob("*"))
    assert not list((places.base / "tmp").glob("acp-*"))


def test_two_kernels_do_not_record_the_same_cassette(places: Places) -> None:
    again = RECORDING.replace("session.prompt", "raise SystemExit('it recorded'); session.prompt")
    with places.hanging(RECORDING):
        done = subprocess.run(
            [sys.executable, "-c", HANGS + again, str(places.work)],
            env=places.env,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
        assert "another session is recording" in done.stderr
        lines = (places.work / "tape.jsonl.part").read_text().splitlines()
        assert len(lines) > 5, "what the first one has recorded is still there"
