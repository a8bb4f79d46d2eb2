"""The pytest fixture from the wheel, in a virtual environment without this tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.patience import code_to_replace
from tests.test_wheel import build, built_by_hand, copy

__all__ = ["copy"]

BOUND_S = 200.0
"""The timeout of each step, on a loaded machine."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(4 * BOUND_S)]

TEST = """
import acp_notebook

def test_it(acp_cassette, tmp_path):
    assert {prefix!r} in acp_notebook.__file__
    session = acp_cassette.connect("demo", permissions="allow")
    turn = session.prompt("/sh echo {text} > made.txt")
    assert (tmp_path / "made.txt").read_text() == "{text}\\n"
    assert [it.action for it in turn.also_changed] == ["created"]
    print("started", session.agent.pid is not None)
"""


PATIENT = code_to_replace(checkpoint_start=60.0)


@pytest.fixture
def python(copy: Path, tmp_path: Path) -> Path:
    """The Python of an environment with our wheel and the packages installed here, except this tree."""
    built_by_hand(copy)
    built = build(copy, "wheel")
    assert built.returncode == 0, built.stderr
    [wheel] = copy.glob("dist/*.whl")
    place = tmp_path / "environment"
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", wheel]
    subprocess.run(list(map(str, pip)), check=True, capture_output=True, timeout=BOUND_S)
    [packages] = place.glob("lib/python*/site-packages")
    _bring(Path(sysconfig.get_path("purelib")), tmp_path / "packages")
    (packages / "others.pth").write_text(str(tmp_path / "packages"))  # a .pth file there is not read
    return python


def _bring(here: Path, there: Path) -> None:
    there.mkdir()
    for path in here.iterdir():
        if "acp_notebook" not in path.name and path.suffix != ".pth":
            (there / path.name).symlink_to(path)


def run(python: Path, folder: Path, *arguments: str, text: str = "one") -> str:
    (folder / "test_mine.py").write_text(TEST.format(text=text, prefix=str(python.parents[1])))
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    env |= {"ACP_NOTEBOOK_CONFIG": str(folder / "config"), "ACP_NOTEBOOK_STATE": str(folder / "state")}
    words = [str(python), "-m", "pytest", "-rA", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=BOUND_S)
    return done.stdout + done.stderr


def test_the_wheels_fixture_records_once_replays_and_rerecords(python: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "conftest.py").write_text(PATIENT)
    tape = folder / "cassettes" / "test_mine" / "test_it.jsonl"
    assert "there is no recording" in run(python, folder)
    assert "started True" in run(python, folder, "--acp-record=once")
    first = tape.read_bytes()
    for mode in ("none", "once"):
        assert "started False" in run(python, folder, f"--acp-record={mode}")
    assert tape.read_bytes() == first
    assert "-/sh echo one" in run(python, folder, "--acp-record=once", text="two")
    assert "started True" in run(python, folder, "--acp-record=all", text="two")
    assert tape.read_bytes() != first
    shutil.rmtree(folder / "state", ignore_errors=True)
    assert "started False" in run(python, folder, text="two")
