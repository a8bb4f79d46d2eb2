"""The package's log: nothing is printed by default, `doctor` shows it, no broad `except` is silent."""

from __future__ import annotations

import ast
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook import log
from acp_notebook.log import logger, suppressed

PACKAGE = Path(acp.__file__).parent

CHILDREN = ("demo/", "agent/processes/guardian.py", "agent/processes/supervisor.py")
"""They run as separate processes, without our log: the guardian and the supervisor with
`python -I -S`, the demo agent without the package."""

LOGS = {"debug", "info", "warning", "error", "exception", "log"}
BROAD = {"Exception", "BaseException"}


@pytest.fixture(autouse=True)
def empty_log() -> Iterator[None]:
    log.recent.clear()
    yield
    log.recent.clear()


# ---- no broad except is silent ----------------------------------------------------------------------


def _modules() -> list[str]:
    names = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    return sorted(name for name in names if not name.startswith(CHILDREN))


def _names(node: ast.AST | None) -> set[str]:
    return {it.id for it in ast.walk(node) if isinstance(it, ast.Name)} if node is not None else set()


def _is_heard(handler: ast.ExceptHandler) -> bool:
    """It raises, logs, or passes the exception on."""
    inside = [node for statement in handler.body for node in ast.walk(statement)]
    functions = (node.func for node in inside if isinstance(node, ast.Call))
    return (
        any(isinstance(node, ast.Raise) for node in inside)
        or any(isinstance(it, ast.Attribute) and it.attr in LOGS for it in functions)
        or any(isinstance(node, ast.Name) and node.id == handler.name for node in inside)
    )


def _silent(source: str) -> list[int]:
    """The lines of broad handlers that stay silent."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler) and (node.type is None or _names(node.type) & BROAD):
            found += [] if _is_heard(node) else [node.lineno]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("suppress", "contextlib.suppress"):
            found += [node.lineno] if any(_names(it) & BROAD for it in node.args) else []
    return found


@pytest.mark.parametrize("module", _modules())
def test_no_broad_except_is_silent(module: str) -> None:
    assert not _silent((PACKAGE / module).read_text()), "raise, report or log what is caught here"


@pytest.mark.parametrize(
    ("handler", "silent"),
    [
        ("except Exception:\n    pass", True),
        ("except (OSError, BaseException):\n    x = 1", True),
        ("except:\n    pass", True),
        ("except Exception as error:\n    report(error)", False),
        ("except BaseException:\n    close()\n    raise", False),
        ("except Exception:\n    _log.warning('x')", False),
        ("except OSError:\n    pass", False),
    ],
)
def test_what_counts_as_silent(handler: str, silent: bool) -> None:
    assert bool(_silent(f"try:\n    work()\n{handler}")) is silent


# ---- where it goes ----------------------------------------------------------------------------------


def test_nothing_is_printed_unless_the_user_asks_for_it() -> None:
    code = (
        "from acp_notebook.log import logger\n"
        "logger('acp_notebook.x').warning('quiet')\n"
        "import logging; logging.basicConfig()\n"
        "logger('acp_notebook.x').warning('heard')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == ""
    assert done.stderr == "WARNING:acp_notebook.x:heard\n"


def test_debug_records_are_kept_only_if_the_user_sets_the_level() -> None:
    package = logging.getLogger("acp_notebook")
    logger("acp_notebook.x").debug("one")
    package.setLevel(logging.DEBUG)
    try:
        logger("acp_notebook.x").debug("two")
    finally:
        package.setLevel(logging.NOTSET)
    assert [it.text.partition(": ")[2] for it in log.recent.records] == ["two"]


def test_the_newest_records_are_kept() -> None:
    for number in range(log.MOST_RECORDS + 5):
        logger("acp_notebook.x").warning("%d", number)
    assert len(log.recent.records) == log.MOST_RECORDS
    assert log.recent.records[-1].text.endswith(f": {log.MOST_RECORDS + 4}")


def test_a_record_has_the_type_and_place_of_an_exception_but_no_message() -> None:
    with suppressed(logger("acp_notebook.x"), acp.UsageError, level=logging.WARNING):
        acp.load_transcript("/nowhere/my secret.ipynb")
    (record,) = log.recent.records
    assert "UsageError at api/load.py:" in record.text and "secret" not in record.text
    assert "test_log" not in record.text and record.level == "WARNING"


def test_only_the_named_errors_are_suppressed() -> None:
    with pytest.raises(KeyError), suppressed(logger("acp_notebook.x"), OSError):
        raise KeyError
    assert log.recent.records == ()


# ---- doctor -----------------------------------------------------------------------------------------


def test_the_doctor_shows_the_log_on_request_without_secrets(tmp_path: Path) -> None:
    home = str(Path.home())
    logger("acp_notebook.agent.x").warning("failed in %s with hunter2hunter2", f"{home}/here")
    assert "hunter2" not in repr(acp.doctor())
    with acp.connect("demo", cwd=tmp_path, secrets=["hunter2hunter2"]):
        report = repr(acp.doctor(log=True))
    assert "Recent log" in report and "agent.x:" in report
    assert "hunter2" not in report and f"{home}/here" not in report and "~/here" in report


def test_the_doctor_says_how_to_log_more() -> None:
    assert "setLevel('DEBUG')" in repr(acp.doctor(log=True))
