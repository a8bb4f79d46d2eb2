"""Find code that uses an agent: to run it again would start the agent and send it prompts.

Such code imports this package, uses one of its magics, or reads a name that such code has bound. Code in the
text of a magic (%%time) or of exec() counts; code that makes up such a text at run time is not found.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct

from .names import RUNS_PYTHON, Names, Transform, names_of, parsed

PACKAGE = "acp_notebook"
MAGICS = frozenset({"acp", "acp_agent"})
SESSION = "session"
"""The variable that %acp_agent binds unless its line says --as."""

IMPORTERS = frozenset({"__import__", "import_module", "run_module"})
RUNNERS = frozenset({"exec", "eval", "run_cell", "run_cell_async", "ex", "ev"})
"""Functions and methods that get Python as a text."""


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
        pieces = list(_pieces(statement, self._transform))
        if names.all_reads & self._names or any(map(_starts_agent, pieces)):
            for piece in pieces:
                bound = names_of([piece], self._transform)
                self._names |= bound.binds | bound.may_bind | bound.changes | _bound_by_magic(piece)
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


def _pieces(statement: ast.stmt, transform: Transform) -> Iterator[ast.stmt]:
    """The statement, and those in the texts that it runs as Python."""
    yield statement
    for node in ast.walk(statement):
        for text in _python_texts(node):
            for inner in parsed(transform(text)):
                yield from _pieces(inner, transform)


def _python_texts(node: ast.AST) -> Sequence[str]:
    function, texts = _call(node)
    if function in RUNNERS:
        return texts[:1]
    if function == "magic":
        return [f"%{it}" for it in texts[:1]]
    if function in ("run_line_magic", "run_cell_magic") and texts and texts[0] in RUNS_PYTHON:
        return texts[1:]
    return ()


def _call(node: ast.AST) -> tuple[str | None, list[str]]:
    """The function or method that a node calls, and the texts that it passes."""
    match node:
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), args):
            return name, [
                it.value for it in args if isinstance(it, ast.Constant) and isinstance(it.value, str)
            ]
    return None, []


def _starts_agent(statement: ast.stmt) -> bool:
    return any(_imports_package(it) or _runs_magic(it) for it in ast.walk(statement))


def _imports_package(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(_is_package(it.name) for it in names)
        case ast.ImportFrom(module=str(module), level=0):
            return _is_package(module)
    function, texts = _call(node)
    return function in IMPORTERS and any(map(_is_package, texts[:1]))


def _is_package(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _runs_magic(node: ast.AST) -> bool:
    name, line = _magic(node)
    return name in MAGICS or (name in ("load_ext", "reload_ext") and line.split() == [PACKAGE])


def _magic(node: ast.AST) -> tuple[str | None, str]:
    """The magic that a node runs, and its line."""
    function, texts = _call(node)
    if function not in ("run_line_magic", "run_cell_magic") or not texts:
        return None, ""
    return texts[0], texts[1] if len(texts) > 1 else ""


def _bound_by_magic(statement: ast.stmt) -> set[str]:
    found = set()
    for name, line in map(_magic, ast.walk(statement)):
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
            text = "\n".join(lines[ended : statement.end_lineno])
            if shares_line:
                text = ast.get_source_segment(code, statement) or ""
            found.append(text)
        elif changed := [it for it in kept if it.lineno == statement.lineno and it not in statements]:
            found += map(ast.unparse, changed)
        ended = max(ended, statement.end_lineno or ended)
    return "\n".join(found).strip("\n")
