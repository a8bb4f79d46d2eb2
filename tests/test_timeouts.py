"""The record of time limits: what tests replace is a field of it, which mypy knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

import acp_notebook as acp
from acp_notebook import timeouts
from acp_notebook.timeouts import Timeouts

PACKAGE = Path(acp.__file__).parent
TESTS = Path(__file__).parent

FIELDS = list(Timeouts.__struct_fields__)
READ = re.compile(r"\b(?:timeouts\.get\(\)|limits|Timeouts)\.(\w+)")
CONSTANT = re.compile(r"[A-Z_]+_S")
ASSIGNED = re.compile(r"\.([A-Z_]+_S) *=[^=]")


def test_values_are_replaced_for_a_while() -> None:
    before = timeouts.get()
    with timeouts.replaced(cancel_grace=60.0):
        timeouts.replace(policy=7.0)
        assert timeouts.get() == structs.replace(before, cancel_grace=60.0, policy=7.0)
    assert timeouts.get() is before


def test_they_are_as_before_after_an_exception() -> None:
    before = timeouts.get()
    with pytest.raises(ZeroDivisionError), timeouts.replaced(cancel_grace=60.0):
        raise ZeroDivisionError
    assert timeouts.get() is before


def test_a_misspelt_field_is_an_error_that_mypy_finds() -> None:
    with pytest.raises(TypeError):
        timeouts.replace(cancel_grase=60.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError), timeouts.replaced(cancel_grase=60.0):  # type: ignore[call-arg]
        pass
    assert timeouts.get() == Timeouts()


def test_every_field_says_what_it_is_for() -> None:
    [record] = [
        it
        for it in ast.parse((PACKAGE / "timeouts.py").read_text()).body
        if isinstance(it, ast.ClassDef) and it.name == "Timeouts"
    ]
    pairs = zip(record.body, record.body[1:], strict=False)
    said = [
        field.target.id
        for field, text in pairs
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    ]
    assert said == FIELDS


def test_every_field_is_read_somewhere() -> None:
    sources = [path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "timeouts.py"]
    assert {name for source in sources for name in READ.findall(source)} >= set(FIELDS)


# ---- tests replace no constant ----------------------------------------------------------------------


def _constants() -> set[str]:
    """The names of the package's own times: what its other processes wait for, and how often it looks.

    Not the pauses of a wait: the test that a wait is woken up makes them long."""
    nodes = (node for path in PACKAGE.rglob("*.py") for node in ast.parse(path.read_text()).body)
    targets = (it for node in nodes if isinstance(node, ast.Assign) for it in node.targets)
    names = (it.id for it in targets if isinstance(it, ast.Name) and CONSTANT.fullmatch(it.id))
    return {it for it in names if not it.endswith("_PAUSE_S")}


def _replaced(source: str) -> Iterator[str]:
    """The names of constants that are replaced: by setattr with a string, or in code within a string."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "setattr":
            for it in node.args[:2]:
                if isinstance(it, ast.Constant) and isinstance(it.value, str):
                    yield it.value.rpartition(".")[2]
    yield from ASSIGNED.findall(source)


def test_no_test_replaces_a_constant() -> None:
    constants = _constants()
    others = [it for it in sorted(TESTS.rglob("*.py")) if it != Path(__file__)]
    found = [
        (path.name, name) for path in others for name in _replaced(path.read_text()) if name in constants
    ]
    assert not found, "make it a field of Timeouts: a rename would break this only when the test runs"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('monkeypatch.setattr(module, "STEP_S", 1.0)', ["STEP_S"]),
        ('monkeypatch.setattr("acp_notebook.notebook.interrupts.STEP_S", 1.0)', ["STEP_S"]),
        ('code = "interrupts.STEP_S = 1.0"', ["STEP_S"]),
        ("module.STEP_S = 1.0", ["STEP_S"]),
        ("wait(module.STEP_S == 1.0)", []),
    ],
)
def test_how_a_replacement_is_recognized(code: str, found: list[str]) -> None:
    assert list(_replaced(code)) == found
