"""Arrows between the parts of the package go one way, and importing it costs next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import acp_notebook

PACKAGE = Path(acp_notebook.__file__).parent
NAME = PACKAGE.name

TOP = {"api", "setup", "frontend", "pytest_plugin", "__init__"}
"""What users script against: these may import anything below, and nothing below may import them."""

BELOW = {"agent", "notebook", "wire", "core", "errors", "_version"}

ALLOWED: dict[str, set[str]] = {
    **dict.fromkeys(TOP, TOP | BELOW),
    "agent": {"agent", "wire", "core", "errors", "_version"},
    "notebook": {"notebook", "core", "errors", "_version"},
    "wire": {"wire", "core", "errors"},
    "core": {"core"},
    "demo": {"demo"},
    "errors": set(),
    "_version": set(),
}
"""Which parts of the package a part may import."""

OUTSIDE: dict[str, set[str]] = {
    **{part: {"msgspec"} for part in TOP | {"agent", "wire", "core"}},
    "notebook": {"msgspec", "IPython", "ipykernel", "anywidget", "traitlets", "comm"},
    "core/export": {"msgspec", "markdown_it"},
    "frontend/magics": {"IPython"},
    "pytest_plugin": {"pytest"},
}
"""What is not the standard library's, and may be used there all the same."""

ALONE = {"guardian", "supervisor"}
"""Modules of `agent/processes` that run as processes of their own: they have each other and the standard
library, nothing else."""


def modules() -> list[str]:
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def part_of(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def imports(module: str) -> Iterator[str]:
    """The full names of what a module imports, anywhere in it."""
    where = [NAME, *module.split("/")[:-1]]
    for node in ast.walk(ast.parse((PACKAGE / module).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = where[: len(where) - node.level + 1] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            # `from . import x` may mean the module x; `from .x import y` means x in any case.
            yield from (
                [f"{origin}.{alias.name}" for alias in node.names] if node.module is None else [origin]
            )


def parts_used(module: str) -> set[str]:
    ours = {name for name in imports(module) if name.split(".")[0] == NAME}
    return {name.split(".")[1] if "." in name else "__init__" for name in ours}


def outside_used(module: str) -> set[str]:
    roots = {name.split(".")[0] for name in imports(module)}
    return roots - sys.stdlib_module_names - {NAME}


def test_every_part_has_its_rule() -> None:
    assert {part_of(module) for module in modules()} <= set(ALLOWED)


@pytest.mark.parametrize("module", modules())
def test_arrows_between_parts_go_one_way(module: str) -> None:
    assert parts_used(module) <= ALLOWED[part_of(module)]


@pytest.mark.parametrize("module", modules())
def test_only_named_libraries_are_used(module: str) -> None:
    folder = next((it for it in OUTSIDE if module.startswith(f"{it}/") and "/" in it), part_of(module))
    assert outside_used(module) <= OUTSIDE.get(folder, set())


def test_the_guardian_needs_nothing_but_the_standard_library() -> None:
    for name in ALONE:
        module = f"agent/processes/{name}.py"
        used = {it for it in imports(module) if it.split(".")[0] == NAME}
        assert used <= {f"{NAME}.agent.processes.{other}" for other in ALONE}
        assert outside_used(module) == set()


def test_core_has_no_clock_no_chance_and_no_input_or_output() -> None:
    forbidden = {"asyncio", "threading", "time", "datetime", "random", "uuid", "socket", "subprocess", "os"}
    for module in modules():
        if part_of(module) == "core":
            assert not {name.split(".")[0] for name in imports(module)} & forbidden, module


def loaded_after(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=PACKAGE.parent,
    )
    return set(run.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = loaded_after("import acp_notebook; acp_notebook.__version__; dir(acp_notebook)")
    assert not loaded & {"asyncio", "msgspec", "json", "markdown_it", "subprocess", "IPython"}
    ours = {name for name in loaded if name.startswith(f"{NAME}.")}
    assert ours == {f"{NAME}._version"}


def test_connecting_loads_no_writer_of_documents() -> None:
    assert "markdown_it" not in loaded_after("import acp_notebook; acp_notebook.connect")


def test_errors_can_be_caught_without_loading_anything_heavy() -> None:
    assert not loaded_after("import acp_notebook; acp_notebook.AgentDied") & {"asyncio", "msgspec"}
