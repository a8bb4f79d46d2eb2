"""Imports go one way between the parts of the package, and importing it is cheap."""

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
"""The public parts: they may import anything below, and nothing below may import them."""

BELOW = {"agent", "notebook", "wire", "core", "errors", "log", "timeouts", "_version"}

ALLOWED: dict[str, set[str]] = {
    **dict.fromkeys(TOP, TOP | BELOW),
    "agent": {"agent", "wire", "core", "errors", "log", "timeouts", "_version"},
    "notebook": {"notebook", "core", "errors", "log", "timeouts", "_version"},
    "wire": {"wire", "core", "errors"},
    "core": {"core"},
    "demo": {"demo"},
    "errors": set(),
    "log": set(),
    "timeouts": set(),
    "_version": set(),
}
"""Which parts of the package a part may import."""

OUTSIDE: dict[str, set[str]] = {
    **{part: {"msgspec"} for part in TOP | {"agent", "wire", "core", "timeouts"}},
    "notebook": {"msgspec", "IPython", "ipykernel", "anywidget", "traitlets", "comm"},
    "agent/remote": {"httpx", "websockets"},
    "core/export": {"msgspec", "markdown_it"},
    "api/fan_out": {"msgspec", "pandas", "distributed"},
    "frontend/magics": {"IPython"},
    "pytest_plugin": {"pytest"},
}
"""Third-party libraries that a part may use."""

SHARED = {
    *(
        "agent_state",
        "audience",
        "audit_file",
        "auditor",
        "backoff",
        "event_bus",
        "known_answers",
        "locked_file",
    ),
    *("loop", "session_state", "spool", "tap", "temporary_folders", "threads", "transport"),
    *("turn_queue", "user_dirs"),
}
"""Modules of `agent` itself that its sub-packages may import: what the parts of a session share."""

AGENT: dict[str, set[str]] = {
    "shared": {"shared", "known_agents"},
    "known_agents": {"known_agents"},
    "processes": {"processes", "shared"},
    "remote": {"remote", "shared"},
    "files": {"files", "shared"},
    "terminals": {"terminals", "processes", "shared"},
    "permissions": {"permissions", "files", "known_agents", "shared"},
    "undo": {"undo", "files", "processes", "shared"},
    "copies": {"copies", "undo", "files", "processes", "shared"},
    "kernel_tools": {"kernel_tools", "files", "permissions", "shared"},
    "backends": {"files", "terminals", "undo", "shared"},
    "recordings": {
        *("recordings", "backends", "files", "kernel_tools", "known_agents", "terminals", "undo", "shared"),
    },
    "session": {
        *("session", "backends", "files", "kernel_tools", "known_agents", "permissions", "terminals", "undo"),
        "shared",
    },
}
"""Which parts of `agent` a part of it may import. "session" is every other module of `agent` itself: the
sessions and their agent, which nothing below imports, and which do not know recordings."""

LARGEST_CYCLE = 3
"""Import cycles, including imports for types only."""

REPLAYS = ("agent/recordings/", "api/cassette.py", "api/launcher.py", "demo/")
"""Only these know replays: the recordings, the public object, and the place that chooses. (The demo agent
replays its own sessions.)"""

ALONE = {"guardian", "supervisor"}
"""Modules of `agent/processes` that run as processes of their own: they have each other and the standard
library, nothing else."""


def modules() -> list[str]:
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def part_of(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def imports(module: str) -> Iterator[str]:
    """The full names of everything that a module imports, anywhere in it."""
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


def name_of(module: str) -> str:
    return ".".join([NAME, *module.removesuffix(".py").removesuffix("/__init__").split("/")])


def import_graph() -> dict[str, set[str]]:
    """Every module and its imports, anywhere in it, including those for types only."""
    names = {name_of(module): module for module in modules()}
    found: dict[str, set[str]] = {}
    for name, module in names.items():
        where = [NAME, *module.split("/")[:-1]]
        used: set[str] = set()
        for node in ast.walk(ast.parse((PACKAGE / module).read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                origin = ".".join([*where[: len(where) - node.level + 1], *filter(None, [node.module])])
                whole = {f"{origin}.{alias.name}" for alias in node.names}
                used |= {it if it in names else origin for it in whole}
        found[name] = (used & names.keys()) - {name}
    return found


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other."""
    reached = {name: reachable(graph, name) for name in graph}
    groups = {frozenset(it for it in reached[name] if name in reached[it]) for name in graph}
    return sorted((sorted(group) for group in groups if group), key=len, reverse=True)


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        fresh = graph[waiting.pop()] - found
        found |= fresh
        waiting += fresh
    return found


def part_of_agent(name: str) -> str | None:
    """The part of `agent` that a full name belongs to; None outside of it, and for `agent` itself."""
    match name.split("."):
        case [_, "agent", part]:
            parts = AGENT.keys() - {"session", "shared"}
            return "shared" if part in SHARED else part if part in parts else "session"
        case [_, "agent", part, *_]:
            return part
    return None


def identifiers(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse((PACKAGE / module).read_text())):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.ImportFrom(module=str(name)):
                yield name


def outside_used(module: str) -> set[str]:
    roots = {name.split(".")[0] for name in imports(module)}
    return roots - sys.stdlib_module_names - {NAME}


def test_every_part_has_an_import_rule() -> None:
    assert {part_of(module) for module in modules()} <= set(ALLOWED)


@pytest.mark.parametrize("module", modules())
def test_imports_between_parts_go_one_way(module: str) -> None:
    assert parts_used(module) <= ALLOWED[part_of(module)]


@pytest.mark.parametrize("module", modules())
def test_only_named_libraries_are_used(module: str) -> None:
    folder = next((it for it in OUTSIDE if module.startswith(f"{it}/") and "/" in it), part_of(module))
    assert outside_used(module) <= OUTSIDE.get(folder, set())


@pytest.mark.parametrize("module", [it for it in modules() if it.startswith("agent/")])
def test_imports_inside_agent_go_one_way(module: str) -> None:
    part = part_of_agent(name_of(module))
    if part is not None:
        assert {part_of_agent(it) for it in imports(module)} - {None} <= AGENT[part]


def test_no_import_cycle_is_large() -> None:
    found = cycles(import_graph())
    assert [it for it in found if len(it) > LARGEST_CYCLE] == []


def test_import_cycles_are_detected() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert cycles(graph) == [["a", "b", "c"], ["d", "e"]]


def test_only_recordings_and_the_launcher_know_replays() -> None:
    others = [it for it in modules() if not it.startswith(REPLAYS)]
    assert [it for it in others if any("replay" in name.lower() for name in identifiers(it))] == []


def test_the_guardian_needs_nothing_but_the_standard_library() -> None:
    assert outside_used("agent/kernel_tools/proxy.py") | parts_used("agent/kernel_tools/proxy.py") == set()
    for name in ALONE:
        module = f"agent/processes/{name}.py"
        used = {it for it in imports(module) if it.split(".")[0] == NAME}
        assert used <= {f"{NAME}.agent.processes.{other}" for other in ALONE}
        assert outside_used(module) == set()


def test_core_uses_no_clock_no_randomness_and_no_io() -> None:
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


def test_connecting_does_not_load_the_exporters() -> None:
    assert "markdown_it" not in loaded_after("import acp_notebook; acp_notebook.connect")


def test_errors_can_be_caught_without_loading_anything_heavy() -> None:
    assert not loaded_after("import acp_notebook; acp_notebook.AgentDied") & {"asyncio", "msgspec"}
