"""`python3 dev.py compat [agent…]`: real agents against this client, as a table.

An agent is a name of the report's list, `npm:package`, `pypi:package` (with arguments: "npm:x --acp"), or
a whole command line. Without any: those of docs/compat.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.compat import models, report
from tests.compat.agents import AGENTS, DEFAULT
from tests.compat.outcome import Outcome
from tests.compat.script import ROWS
from tests.compat.trial import column, places

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "compat.md"

HEAD = """\
# Agents and this client

Made by `python3 dev.py compat --write NAME`: real agents, started here with a mock model behind them, and one
script of prompts for all. Other agents: `python3 dev.py compat -- "some-agent --acp"`, or `npm:package`.

"""


def _tell(word: str, row: str, cell: Outcome) -> None:
    note = f"  ({cell.note})" if cell.note else ""
    print(f"{word:20} {row:18} {cell.word}{note}", file=sys.stderr, flush=True)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py compat", description=__doc__)
    parser.add_argument("agents", nargs="*", help=f"default: {' '.join(DEFAULT)}; known: {' '.join(AGENTS)}")
    parser.add_argument(
        "--family", choices=models.FAMILIES, help="whose variables point the agent at the mock model"
    )
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="{url}: the model's")
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"into {PAGE.relative_to(ROOT)}, too; the columns of other agents stay",
    )
    return parser


def main() -> int:
    asked = _arguments().parse_args()
    setup = models.FAMILIES[asked.family] if asked.family else None
    with tempfile.TemporaryDirectory(prefix="acp-compat-config-") as config:
        os.environ["ACP_NOTEBOOK_CONFIG"] = config  # nothing that the user has allowed counts here
        columns = [column(it, places(), _tell, setup, asked.env) for it in asked.agents or DEFAULT]
    text = report.table(columns, ROWS)
    print(text)
    if asked.write:
        PAGE.write_text(HEAD + report.table(report.merged(report.read(PAGE.read_text()), columns), ROWS))
    for fault in report.failed(columns):
        print(f"FAIL {fault}", file=sys.stderr)
    return 1 if report.failed(columns) else 0


if __name__ == "__main__":
    sys.exit(main())
