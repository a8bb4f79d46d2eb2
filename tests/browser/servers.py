"""Jupyter servers for the tests: JupyterLab and Notebook 7, with the kernels of several ipykernel versions.

All files of a server are in a folder of its own, so the user's settings are neither read nor changed.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.notebook.kernels import ROOT, kernel_python, python_with
from tests.patience import patient_kernels

LAB = ("jupyterlab", "LabApp")
HOSTS = {
    "lab": LAB,
    "notebook": ("notebook", "JupyterNotebookApp"),
    "collaboration": LAB,
    "collaboration-alone": LAB,
}
"""The module that starts it, and the prefix of its settings; "alone" is without our extension."""

EXTENSION = ROOT / "js" / "lab" / "labextension"

COLLABORATION = ["jupyterlab", "jupyter-collaboration", "jupyterlab_widgets", "anywidget"]
"""In an environment of its own: it changes how every document is opened and saved."""

START_S = 180.0
END_S = 60.0

ENDS_WITH_PARENT = """
import ctypes, os, signal, sys
if sys.platform == "linux":
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])
"""
"""Runs a module; where the system can, a test run that is killed leaves no server behind.

Not a `preexec_fn`: that may deadlock in a process with threads, and the interpreter warns of it from 3.12 on.
"""

KERNELS = "@jupyterlab/apputils-extension/kernels-settings"
THEMES = "@jupyterlab/apputils-extension/themes"
NEWS = "@jupyterlab/apputils-extension/notification"

OWN = "own"
"""A kernel in the environment of the server, with what is installed there."""

FOREIGN = ("JUPYTER", "IPYTHON", "ACP_NOTEBOOK", "JPY_", "PYTEST_")
"""The user's variables that would affect the tests."""


class CannotStart(Exception):
    """A server ended, or did not become ready."""


@dataclass(frozen=True)
class Server:
    """A running server."""

    host: str
    url: str
    token: str
    folder: Path
    python: Path
    """The Python that it runs on."""

    def add_notebook(self, name: str, kernel: str, cells: list[str]) -> Path:
        """Create a notebook with these cells, for a kernel with this ipykernel; `OWN`: the server's."""
        kernelspec = {"name": self._kernel(kernel), "display_name": kernel, "language": "python"}
        blank: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
        made = [{**blank, "id": f"cell-{at}", "source": source} for at, source in enumerate(cells)]
        notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": made}
        path = self.folder / "work" / f"{name}.ipynb"
        path.write_text(json.dumps(notebook))
        return path

    def address(self, notebook: Path) -> str:
        """Of the page that shows it."""
        view = "notebooks" if self.host == "notebook" else "doc/tree"
        return f"{self.url}{view}/{notebook.name}?token={self.token}"

    def set(self, plugin: str, **settings: Any) -> None:
        """Set the host's settings for pages opened from now on; none: the defaults."""
        path = self.folder / "config" / "lab" / "user-settings" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))

    def forget_layout(self) -> None:
        """Pages opened from now on have the default layout, without the side panels that others left open."""
        shutil.rmtree(self.folder / "config" / "lab" / "workspaces", ignore_errors=True)

    def end_kernels(self) -> None:
        """All of them: a server has the notebooks of one test at a time."""
        for kernel in self._api("GET", "kernels"):
            with suppress(urllib.error.HTTPError):  # one that is being restarted ends with the server
                self._api("DELETE", f"kernels/{kernel['id']}")

    def remove_files(self) -> None:
        """What a test and its agents have written: another test would find it, in any order."""
        for path in (self.folder / "work").iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def _api(self, method: str, path: str) -> Any:
        headers = {"Authorization": f"token {self.token}"}
        call = urllib.request.Request(f"{self.url}api/{path}", method=method, headers=headers)
        with urllib.request.urlopen(call, timeout=END_S) as answer:
            return json.loads(answer.read() or b"null")

    def _kernel(self, version: str) -> str:
        """The name of the kernel with this ipykernel; its kernelspec is created on first use."""
        name = f"ipykernel-{version}"
        spec = self.folder / "data" / "kernels" / name / "kernel.json"
        if not spec.exists():
            python = self.python if version == OWN else kernel_python(version)
            argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            path = {} if version == OWN else {"PYTHONPATH": str(ROOT)}
            env = {**path, "PYTHONDONTWRITEBYTECODE": "1"}
            spec.parent.mkdir(parents=True)
            spec.write_text(
                json.dumps({"argv": argv, "env": env, "display_name": name, "language": "python"})
            )
        return name


@contextmanager
def started(host: str, folder: Path, python: Path = Path(sys.executable)) -> Iterator[Server]:
    """Run a server on loopback, on its own port; ended afterwards with its kernels."""
    for name in ("home", "config", "data", "runtime", "ipython", "work"):
        (folder / name).mkdir(exist_ok=True)  # it may have run there before
    if host == "collaboration":
        extension = folder / "data" / "labextensions" / "acp-notebook"
        extension.parent.mkdir(exist_ok=True)
        if not extension.is_symlink():
            extension.symlink_to(EXTENSION)
    module, app = HOSTS[host]
    token = secrets.token_hex(16)
    command = [_python(host, python), "-c", ENDS_WITH_PARENT, module]
    command += ["--no-browser", "--allow-root", "--log-level=WARN"]
    command += [f"--{app}.expose_app_in_browser=True", f"--IdentityProvider.token={token}"]
    options = {"ip": "127.0.0.1", "port": 0, "root_dir": folder / "work", "terminals_enabled": True}
    command += [f"--ServerApp.{name}={value}" for name, value in options.items()]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            command,
            env=_environment(folder),
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,
        )
    try:
        running = Server(host, _url(server, folder), token, folder, python)
        running.set(NEWS, fetchNews="false", checkForUpdates=False)  # no dialogs, no network
        yield running
    finally:
        server.terminate()
        try:
            server.wait(END_S)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _python(host: str, python: Path) -> str:
    if not host.startswith("collaboration"):
        return str(python)
    return str(python_with("collaboration", COLLABORATION))


def _environment(folder: Path) -> Mapping[str, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    env |= {
        "HOME": str(folder / "home"),
        "IPYTHONDIR": str(patient_kernels(folder / "ipython")),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
    }
    return env


def _url(server: subprocess.Popen[bytes], folder: Path) -> str:
    """Its address, from the file that it writes when it is up."""
    info = folder / "runtime" / f"jpserver-{server.pid}.json"
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            return str(json.loads(info.read_text())["url"])
        except (OSError, ValueError):  # missing or incomplete
            time.sleep(0.05)
    raise CannotStart(f"the server did not start:\n{(folder / 'log').read_text()[-2000:]}")
