"""Find code that uses an agent: to run it again would start the agent and send it prompts.

Such code imports this package, uses one of its magics, or reads a name that such code has bound.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from msgspec import Struct

from .names import Names, Transform, magics_of, names_of, parsed

PACKAGE = "acp_notebook"
MAGICS = frozenset({"acp", "acp_agent"})
SESSION = "session"
"""The variable that %acp_agent binds unless its line says --as."""


class Code(Struct, frozen=True):
    """Code without the statements that use an agent."""

    source: str
    """As the user or the agent wrote it, or, if something is left out, as IPython runs it."""
    names: Names
    left_out: bool = False
    """Whether statements are left out."""

    @property
    def is_empty(self) -> bool:
        return not self.source.strip()


class AgentUse:
    """Reads pieces of code in the order in which they ran, and knows which names lead to an agent."""

    def __init__(self, transform: Transform) -> None:
        self._transform = transform
        self._names: set[str] = set()

    def without_agents(self, source: str) -> Code:
        code = self._transform(source)
        statements = parsed(code)
        kept: list[ast.stmt] = []
        for statement in statements:
            found = self._without_agents(statement)
            if found is not None:
                kept.append(found)
        names = names_of(kept, self._transform)
        if kept == statements:
            return Code(source, names)
        return Code(_text(code, statements, kept), names, left_out=True)

    def _without_agents(self, statement: ast.stmt) -> ast.stmt | None:
        """The statement, if it uses no agent; a definition without the decorators that do."""
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            statement = self._undecorated(statement)
        names = names_of([statement], self._transform)
        bound = names.binds | names.may_bind
        if names.all_reads & self._names or _imports_package(statement) or _runs_magic(statement):
            self._names |= bound | names.changes | _bound_by_magic(statement)
            return None
        self._names -= names.binds
        return statement

    def _undecorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> ast.stmt:
        kept = [it for it in node.decorator_list if not self._reads_agent(it)]
        if len(kept) == len(node.decorator_list):
            return node
        copied = type(node)(**{name: getattr(node, name) for name in node._fields})
        copied.decorator_list = kept
        return ast.copy_location(copied, node)

    def _reads_agent(self, node: ast.expr) -> bool:
        return bool(names_of([ast.Expr(node)], self._transform).all_reads & self._names)


def _imports_package(statement: ast.stmt) -> bool:
    for node in ast.walk(statement):
        match node:
            case ast.Import(names=names):
                found = any(it.name.partition(".")[0] == PACKAGE for it in names)
            case ast.ImportFrom(module=str(module), level=0):
                found = module.partition(".")[0] == PACKAGE
            case _:
                continue
        if found:
            return True
    return False


def _runs_magic(statement: ast.stmt) -> bool:
    return any(
        name in MAGICS or (name in ("load_ext", "reload_ext") and line.split() == [PACKAGE])
        for name, line in magics_of(statement)
    )


def _bound_by_magic(statement: ast.stmt) -> set[str]:
    found = set()
    for name, line in magics_of(statement):
        words = line.split()
        if name == "acp_agent":
            found.add(words[words.index("--as") + 1] if "--as" in words[:-1] else SESSION)
    return found


def _text(code: str, statements: Sequence[ast.stmt], kept: Sequence[ast.stmt]) -> str:
    """The text of the kept statements, with the comments before each."""
    lines = code.splitlines()
    found: list[str] = []
    ended = 0
    for number, statement in enumerate(statements):
        after = statements[number + 1].lineno if number + 1 < len(statements) else None
        shares_line = statement.lineno <= ended or after == statement.end_lineno
        if statement in kept:
            text = ast.unparse(statement) if shares_line else "\n".join(lines[ended : statement.end_lineno])
            found.append(text)
        elif changed := [it for it in kept if it.lineno == statement.lineno and it not in statements]:
            found += map(ast.unparse, changed)
        ended = max(ended, statement.end_lineno or ended)
    return "\n".join(found).strip("\n")
