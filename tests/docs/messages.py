"""Extracts the error messages that the package raises from its source; variable parts are "…"."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from acp_notebook import errors

PACKAGE = Path(errors.__file__).parent
ERRORS = {name for name, value in vars(errors).items() if inspect.isclass(value)}
ELSEWHERE = {"demo"}
"""The built-in agent is not part of the client: its messages are an agent's."""


ALIASES = {"Failure": "ConnectionLost", "HeadersFailed": "ConnectionLost"}
"""What becomes an error: the failures of a network."""


def messages() -> dict[str, set[str]]:
    """The messages by error name; those that are created elsewhere are left out."""
    found: dict[str, set[str]] = {name: set() for name in sorted(ERRORS)}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] not in ELSEWHERE:
            aliases = ALIASES if path.parent.name == "remote" else {}
            for name, text in raised(ast.parse(path.read_text(encoding="utf-8")), aliases):
                if re.search(r"\w{3}", text):
                    found[name].add(text)
    return found


def raised(tree: ast.AST, aliases: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            name = aliases.get(name, name)
            if name in ERRORS:
                yield name, fixed(node.args[0])


def fixed(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return re.sub("…+", "…", "".join(fixed(it) for it in values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return fixed(left) + fixed(right)
    return "…"
