"""Environments with our wheel and a chosen version of JupyterLab and Notebook, as `pip install` makes them.

The packages are installed once, into .cache/hosts; the wheel is built and installed for each test run.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.notebook.kernels import ROOT, CannotMake

HOSTS = {
    "4.2": ("jupyterlab==4.2.*", "notebook==7.2.*"),
    "newest": ("jupyterlab", "notebook"),
}
"""What is installed, by the version of JupyterLab."""

INSTALL_S = 900.0


def hosts_folder() -> Path:
    return Path(os.environ.get("ACP_TEST_HOSTS") or ROOT / ".cache" / "hosts")


@cache
def installed_python(version: str) -> Path:
    """The Python of an environment with that JupyterLab, and the wheel of this tree."""
    venv = hosts_folder() / "python{}.{}".format(*sys.version_info) / version
    python, mark = venv / "bin" / "python", venv / "made-of"
    venv.parent.mkdir(parents=True, exist_ok=True)
    wanted = "\n".join(HOSTS[version])
    with (venv.parent / f"{version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers want the same one
        if not mark.exists() or mark.read_text() != wanted:
            _call(sys.executable, "-m", "venv", "--clear", str(venv))
            _pip(python, *HOSTS[version])
            mark.write_text(wanted)
        with tempfile.TemporaryDirectory() as folder:
            _call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
            [wheel] = Path(folder).glob("*.whl")
            _pip(python, str(wheel))
            _pip(python, "--force-reinstall", "--no-deps", str(wheel))
    return python


def _pip(python: Path, *what: str) -> None:
    _call(str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *what)


def _call(*command: str) -> None:
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=INSTALL_S
    )
    if done.returncode:
        raise CannotMake(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}")
