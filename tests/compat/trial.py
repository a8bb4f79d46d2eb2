"""One agent, from its installation to its last probe. Knows where things are on this machine."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.agents import mock_model
from tests.compat import models, report
from tests.compat.choosing import Places, chosen
from tests.compat.install import NotInstalled
from tests.compat.outcome import Outcome
from tests.compat.script import ROWS, examined
from tests.compat.subject import Subject

ROOT = Path(__file__).parents[2]

OnCell = Callable[[str, str, Outcome], None]


def places() -> Places:
    """Its own cache folder, and those of the tests, where some agents are already installed."""
    cache, node = ROOT / ".cache", ROOT / ".cache" / "node" / "bin"
    tests = os.environ.get("ACP_TEST_AGENTS") or str(cache / "agents")
    return Places(cache / "compat", (Path(tests),), node if (node / "node").exists() else None)


def column(
    word: str,
    where: Places,
    on_cell: OnCell = lambda *_: None,
    setup: models.Setup | None = None,
    extra: Sequence[str] = (),
) -> report.Column:
    """Test one agent. `on_cell` is called for each cell; `extra` are environment variables, as NAME=VALUE."""
    heard: list[str] = []
    with (  # a short name, because agents create sockets there
        tempfile.TemporaryDirectory(prefix="acp-", ignore_cleanup_errors=True) as folder,
        mock_model.serving(heard.append) as url,
    ):
        try:
            choice = chosen(word, setup, url, Path(folder, "home"), where)
        except NotInstalled as error:
            return report.Column(word, None, dict.fromkeys(ROWS, Outcome("absent", str(error))))
        subject = Subject(
            choice.name,
            choice.command,
            dict(choice.env) | dict(it.replace("{url}", url).split("=", 1) for it in extra),
            Path(folder),
            choice.answers_scripts,
            lambda: bool(heard),
            choice.version,
        )
        return examined(subject, lambda row, cell: on_cell(word, row, cell))
