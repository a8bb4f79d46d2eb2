"""The pytest fixture replays, records on request, and costs nothing when unused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import acp_notebook.api.connect  # noqa: F401  kept: a run inside of a test forgets what it imported first
from acp_notebook.pytest_plugin import path_of

pytest_plugins = ["pytester"]

TEST = """
def test_it(acp_cassette, tmp_path):
    session = acp_cassette.connect("demo", permissions="allow")
    turn = session.prompt("/write notes.txt {text}")
    print("pid", session.agent.pid)
    assert (tmp_path / "notes.txt").read_text() == "{text}\\n"
    assert {passes}
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(pytester.path / "config"))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(*arguments: str, text: str = "hello", passes: bool = True, code: str = TEST) -> pytest.RunResult:
        pytester.makepyfile(test_mine=code.format(text=text, passes=passes))
        plain = ("-p", "acp_notebook.pytest_plugin", "-W", "error", "--strict-markers", "-rA")
        return pytester.runpytest_inprocess(*plain, *arguments)

    return run


def tape(pytester: pytest.Pytester, name: str = "test_it") -> Path:
    return pytester.path / "cassettes" / "test_mine" / f"{name}.jsonl"


def test_it_records_once_and_replays_from_then_on(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    first = run("--acp-record=once")
    first.assert_outcomes(passed=1)
    first.stdout.no_fnmatch_line("pid None")
    for arguments in ([], ["--acp-record=none"], ["--acp-record=once"]):
        again = run(*arguments)
        again.assert_outcomes(passed=1)
        again.stdout.fnmatch_lines(["pid None"])
    assert [it.name for it in tape(pytester).parent.iterdir()] == ["test_it.jsonl"]


def test_without_a_recording_it_fails_and_says_what_to_do(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*there is no recording *--acp-record=once*"])
    assert not tape(pytester).parent.exists()


def test_a_changed_prompt_fails_with_a_diff_until_it_is_rerecorded(run) -> None:  # type: ignore[no-untyped-def]
    run("--acp-record=once").assert_outcomes(passed=1)
    changed = run(text="goodbye")
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(["E*-/write notes.txt hello", "E*+/write notes.txt goodbye"])
    run("--acp-record=all", text="goodbye").assert_outcomes(passed=1)
    run(text="goodbye").assert_outcomes(passed=1)


def test_a_failing_test_keeps_the_old_recording(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    run("--acp-record=once", passes=False).assert_outcomes(failed=1)
    assert list(tape(pytester).parent.iterdir()) == []
    run("--acp-record=once").assert_outcomes(passed=1)
    before = tape(pytester).read_bytes()
    run("--acp-record=all", passes=False).assert_outcomes(failed=1)
    assert tape(pytester).read_bytes() == before
    assert [it.name for it in tape(pytester).parent.iterdir()] == ["test_it.jsonl"]


MARKED = """
import pytest

@pytest.mark.acp_cassette("shared.jsonl", match=lambda recorded, asked: True, record="once")
@pytest.mark.parametrize("text", ["one", "two"])
def test_marked(acp_cassette, text):
    acp_cassette.connect("demo").prompt(text)
    assert acp_cassette.path.name == "shared.jsonl"

@pytest.mark.parametrize("text", ["a/b", "a b"])
def test_two(acp_cassette, text):
    first, second = acp_cassette.connect("demo"), acp_cassette.connect("demo")
    first.prompt(text)
    second.prompt("second")
"""


def test_markers_parameters_and_two_agents_in_a_test(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    run("--acp-record=once", code=MARKED).assert_outcomes(passed=4)
    run("-k", "test_two or [two]", code=MARKED).assert_outcomes(passed=3)
    assert (pytester.path / "shared.jsonl").exists()
    assert len(list(tape(pytester).parent.iterdir())) == 4


def test_the_settings_file_sets_the_mode_which_must_be_valid(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    pytester.makeini("[pytest]\nacp_record = once\n")
    run().assert_outcomes(passed=1)
    pytester.makeini("[pytest]\nacp_record = often\n")
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*acp_record is 'often'*"])


def test_an_unused_plugin_does_not_load_the_package(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    mine = {it for it in sys.modules if it.startswith('acp_notebook')}\n"
        "    assert mine == {'acp_notebook', 'acp_notebook._version', 'acp_notebook.pytest_plugin'}\n"
        "    assert 'msgspec' not in sys.modules\n"
    )
    plain = [sys.executable, "-m", "pytest", "-q", "-p", "acp_notebook.pytest_plugin", "-W", "error"]
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*plain, str(tmp_path)], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("nodeid", "path"),
    [
        ("test_a.py::test_x", "test_a/test_x.jsonl"),
        ("sub/test_a.py::TestC::test_x[1-two]", "test_a/TestC.test_x-1-two.jsonl"),
    ],
)
def test_a_recording_is_found_by_the_name_of_its_test(nodeid: str, path: str) -> None:
    assert path_of(nodeid).as_posix() == path


def test_tests_with_names_invalid_for_files_do_not_share_a_recording() -> None:
    names = {path_of(f"test_a.py::test_x[{it}]") for it in ("a/b", "a b", "ä", "ü", "x" * 300, "x" * 301)}
    assert len(names) == 6
    assert all(len(it.name) < 120 for it in names)
