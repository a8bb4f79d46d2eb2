"""An undo that is killed leaves temporary files; the next start removes those and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from acp_notebook.agent.files.unfinished import LEFTOVER, Unfinished, remove_unfinished

KILLED = """
import os, signal, sys
from acp_notebook.agent.files.roots import Roots
from acp_notebook.agent.files.blob_store import BlobStore
from acp_notebook.agent.undo.change_log import Change, ChangeLog, Part
from acp_notebook.agent.undo.operations import Restorer
from acp_notebook.core.changes import Version

root = sys.argv[1]
log = ChangeLog(BlobStore())
before, after = log.store.keep(Version(b"before\\n")), log.store.keep(Version(b"after\\n"))
change = Change("f1", "t1", (Part(os.path.join(root, "a.txt"), before, after),))
os.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
Restorer(Roots([root]), log).restore(change, change.everything, frozenset())
"""


def left_in(folder: Path) -> list[str]:
    return [it for it in os.listdir(folder) if LEFTOVER.fullmatch(it)]


def test_leftovers_of_a_killed_undo_are_removed_next_time(tmp_path: Path) -> None:
    root, state = Path(os.path.realpath(tmp_path)) / "root", tmp_path / "state"
    root.mkdir()
    (root / "a.txt").write_text("after\n")
    env = {**os.environ, "ACP_NOTEBOOK_STATE": str(state)}
    done = subprocess.run([sys.executable, "-c", KILLED, str(root)], env=env, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert len(left_in(root)) == 1
    remove_unfinished(state)
    assert os.listdir(root) == ["a.txt"] and (root / "a.txt").read_text() == "after\n"
    assert not any((state / "unfinished").iterdir())


def test_files_of_living_processes_and_of_others_stay(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path)) / "root"
    (root / "below").mkdir(parents=True)
    (root / "link").symlink_to("below")
    name = f".acp-notebook-{'0' * 16}.tmp"
    for path in (root / name, root / "below" / name, root / "mine.txt"):
        path.write_text("text")
    (root / "folder" / name).mkdir(parents=True)
    living = Unfinished(tmp_path)
    for noted in (root / name, root / "mine.txt", root / "link" / name, root / "folder" / name):
        living.note(str(noted))
    remove_unfinished(tmp_path)
    assert (root / name).exists()
    [file] = (tmp_path / "unfinished").iterdir()
    dead = file.with_name("dead")
    dead.write_bytes(file.read_bytes() + b"relative\0" + os.fsencode(root / "below" / name))  # cut short
    remove_unfinished(tmp_path)
    assert not dead.exists() and file.exists()
    assert not (root / name).exists()
    assert (
        (root / "below" / name).exists()
        and (root / "mine.txt").exists()
        and (root / "folder" / name).is_dir()
    )
    living.close()
    assert not file.exists()
