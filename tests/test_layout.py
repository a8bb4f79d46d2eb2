"""The tests mirror the package: the tests of a module are in the folder of its name."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "acp_notebook"

CROSS_CUTTING = {
    "session": "what a user sees of several modules at once, through acp.Session",
    "browser": "a panel in JupyterLab and Notebook 7",
    "real": "installed agents",
    "compat": "the compatibility table of installed agents",
    "docs": "what the pages say",
    "agents": "agents to test with",
}
"""Folders without a package of their name, and what they are about. There, a file may have any name."""


def _test_files() -> list[Path]:
    return [path.relative_to(TESTS) for path in TESTS.rglob("test_*.py")]


def _mirrored() -> list[Path]:
    return [path for path in _test_files() if path.parts[0] not in CROSS_CUTTING]


def _homes(module: str) -> set[Path]:
    """The packages that have a module of this name; several may."""
    found = [*PACKAGE.rglob(f"{module}.py"), *PACKAGE.rglob(f"{module}/__init__.py")]
    return {
        (path.parent.parent if path.name == "__init__.py" else path.parent).relative_to(PACKAGE)
        for path in found
    }


def test_every_folder_of_tests_is_a_package_or_cross_cutting() -> None:
    strange = sorted({str(path.parent) for path in _mirrored() if not (PACKAGE / path.parent).is_dir()})
    assert not strange, f"no package is called {strange}: move the tests, or name the folder in CROSS_CUTTING"


def test_the_test_of_a_module_is_in_the_folder_of_its_package() -> None:
    wrong = []
    for path in _mirrored():
        module = path.stem.removeprefix("test_")
        packages = _homes(module)
        if packages and path.parent not in packages and path.parent != _own_folder(module, packages):
            wrong.append(f"{path}: {module} is in {' and '.join(sorted(map(str, packages)))}")
    assert not wrong, "\n".join(wrong)


def _own_folder(module: str, packages: set[Path]) -> Path | None:
    """A package's own folder, for a test of the whole package: core/export/test_export.py."""
    return next((it / module for it in packages if (PACKAGE / it / module).is_dir()), None)


def test_every_cross_cutting_folder_exists() -> None:
    assert all((TESTS / folder).is_dir() for folder in CROSS_CUTTING)
