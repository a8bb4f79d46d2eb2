"""Code in README and docs/ runs as written, and links lead somewhere.

Python blocks of a page run in order, in one namespace, in a folder of their own, as a script: so "ask" is
answered by no. A block with `%` or `!` in it is for a cell and is run by IPython.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dev
from tests.patience import patient_kernels

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SKIP = "# not run:"
"""A block that begins with this is not run; it says why."""

PAGE_S = 240
"""The timeout for all blocks of one page."""


VARIABLES = "sales = [120, 95, 143]\n"
"""What the examples take for granted."""


def as_script(block: str) -> str:
    """A script cannot contain cell magics as such."""
    if not block.startswith("%%"):
        return block
    return f"get_ipython().run_cell({block!r}).raise_error()\n"


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text(encoding="utf-8")) if found == language]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [it for it in PAGES if it.name != "reference.md"], ids=named)
def test_python_blocks_run_as_written(page: Path, tmp_path: Path) -> None:
    code = [text for text in blocks(page, "python") if not text.startswith(SKIP)]
    if not code:
        assert "```python" not in page.read_text(encoding="utf-8").replace(f"```python\n{SKIP}", "")
        return
    (tmp_path / "etl.py").write_text("print('slow')\n")
    script = tmp_path / "page.ipy"
    script.write_text("\n".join([VARIABLES, *map(as_script, code)]), encoding="utf-8")
    ipython = patient_kernels(tmp_path / "ipython")
    home = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "IPYTHONDIR": str(ipython)}
    ran = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", str(script)],
        cwd=tmp_path,
        env={**os.environ, **home, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PAGE_S,
    )
    assert ran.returncode == 0 and "Traceback" not in ran.stdout, ran.stdout[-3000:] + ran.stderr[-3000:]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_are_valid(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        other = (page.parent / path).resolve() if path else page
        assert other.exists(), f"{named(page)} points to {target}"
        if anchor and other.suffix == ".md":
            assert anchor in anchors(other), f"{named(page)} points to {target}"


def anchors(page: Path) -> set[str]:
    """The anchors of the page's headings."""
    heads = re.findall(r"^#+ (.*)$", BLOCK.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_commands_of_the_readme_exist() -> None:
    shown = {line.split()[2] for page in PAGES for line in commands(page)}
    for verb in shown:
        with pytest.raises(SystemExit) as stopped:
            dev.parser().parse_args([verb, "--help"])
        assert stopped.value.code == 0
    assert {"demo", "test"} <= shown


def commands(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^python3 dev\.py \w+.*$", text, re.MULTILINE)
