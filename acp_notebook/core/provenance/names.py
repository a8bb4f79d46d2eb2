"""Find the names that code reads, binds and changes.

Knows Python's scopes and the magics of IPython, whose own syntax a `Transform` has turned into Python. Code
is only parsed, never run. Where the order of execution is unknown, a name counts as perhaps read and perhaps
bound.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

Transform = Callable[[str], str]
"""Turns IPython's syntax (magics, shell commands) into Python, as IPython does before it runs a cell."""

RUNS_PYTHON = frozenset({"time", "timeit", "capture", "prun"})
"""Magics whose text is Python that runs in the user's namespace."""

BINDS_ANYTHING = frozenset({"run", "pylab", "store"})
"""Magics that may bind any name."""

SETTINGS = frozenset(
    {"matplotlib", "config", "load_ext", "cd", "env", "set_env", "precision", "pylab", "autoreload"}
)
"""Magics that set the kernel up."""

VIEWERS = frozenset({"print", "display", "len", "type", "help", "dir", "repr", "id", "vars", "isinstance"})
"""Functions that only look at what they are given."""

_INTERPOLATED = re.compile(r"[{$]\s*([^\W\d]\w*)")
"""A variable in a shell command or in the text of a magic: {name} or $name."""

_OPTIONS = re.compile(r"\s*(?:-\w+\s*\d*\s+)*")
"""The options before the code of %timeit."""


class Names(Struct, frozen=True):
    """The names in one piece of code."""

    reads: frozenset[str] = frozenset()
    """Read before the code itself binds them."""
    may_read: frozenset[str] = frozenset()
    """Perhaps read: bound in one branch only, in the text of a magic, or by a function that the code itself
    may call."""
    reads_later: frozenset[str] = frozenset()
    """Read when functions that the code defines are called."""
    binds: frozenset[str] = frozenset()
    may_bind: frozenset[str] = frozenset()
    """Bound in one branch only, or by a function that is called later."""
    imports: frozenset[str] = frozenset()
    """Bound by an import."""
    changes: frozenset[str] = frozenset()
    """Objects of which an item or an attribute is set or deleted."""
    calls: frozenset[tuple[str, str]] = frozenset()
    """Objects whose method is called as a statement, and the method; "" for objects that are passed to a
    function."""
    binds_anything: bool = False
    """Binds names that cannot be read from the code, such as `from module import *`."""
    is_settings: bool = False
    """Consists of magics that set the kernel up."""

    @property
    def touched(self) -> frozenset[str]:
        return self.binds | self.may_bind | self.changes | frozenset(name for name, _ in self.calls)

    @property
    def all_reads(self) -> frozenset[str]:
        return self.reads | self.may_read | self.reads_later


def parsed(code: str) -> list[ast.stmt]:
    """The statements of Python code; none if it cannot be parsed, and so cannot have run."""
    try:
        return ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def names_of(statements: Sequence[ast.stmt], transform: Transform) -> Names:
    reader = _Reader(transform)
    try:
        reader.visit_all(statements)
    except RecursionError:  # nested more deeply than people write
        return _all_names(statements)
    is_settings = bool(statements) and all(_magic_of(it) in SETTINGS for it in statements)
    return reader.names(is_settings=is_settings)


def _all_names(statements: Sequence[ast.stmt]) -> Names:
    """Every name in the code, wherever it stands."""
    nodes = [node for it in statements for node in ast.walk(it)]
    names = [it for it in nodes if isinstance(it, ast.Name)]
    bound = {it.id for it in names if not isinstance(it.ctx, ast.Load)}
    return Names(
        reads=frozenset(it.id for it in names) - bound, may_read=frozenset(bound), may_bind=frozenset(bound)
    )


def _magic_of(statement: ast.stmt) -> str | None:
    if not isinstance(statement, ast.Expr):
        return None
    method, texts = _ipython_call(statement.value)
    return texts[0] if method == "run_line_magic" and texts else None


def _ipython_call(node: ast.AST) -> tuple[str | None, list[str]]:
    """The method of `get_ipython()` that a node calls, and the texts that it passes."""
    match node:
        case ast.Call(ast.Attribute(ast.Call(ast.Name("get_ipython"), [], []), method), args):
            return method, [
                it.value for it in args if isinstance(it, ast.Constant) and isinstance(it.value, str)
            ]
    return None, []


class _Reader(ast.NodeVisitor):
    """Visits statements in the order in which they run."""

    def __init__(self, transform: Transform) -> None:
        self._transform = transform
        self._bound: set[str] = set()
        self._maybe: set[str] = set()
        self._reads: set[str] = set()
        self._may_read: set[str] = set()
        self._later: set[str] = set()
        self._defined: dict[str, set[str]] = {}
        """For each function and class, what its calls read."""
        self._imports: set[str] = set()
        self._changes: set[str] = set()
        self._calls: set[tuple[str, str]] = set()
        self._binds_anything = False

    def names(self, *, is_settings: bool) -> Names:
        return Names(
            frozenset(self._reads),
            frozenset(self._may_read - self._reads),
            frozenset(self._later),
            frozenset(self._bound),
            frozenset(self._maybe - self._bound),
            frozenset(self._imports),
            frozenset(self._changes),
            frozenset(self._calls),
            self._binds_anything,
            is_settings,
        )

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def _either(self, *branches: Sequence[ast.AST]) -> None:
        """Visit branches of which one runs: what all of them bind is bound, other names perhaps."""
        before = self._bound
        ends = []
        for branch in branches:
            self._bound = set(before)
            self.visit_all(branch)
            ends.append(self._bound)
        self._bound = set.intersection(*ends)
        self._maybe |= set.union(*ends) - self._bound

    # ---- names

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bound.add(node.id)
        elif isinstance(node.ctx, ast.Del):
            self._read(node.id)
            self._changes.add(node.id)
            self._bound.discard(node.id)
        else:
            self._read(node.id)

    def _read(self, name: str) -> None:
        if name not in self._bound:
            (self._may_read if name in self._maybe else self._reads).add(name)
        if name in self._defined:
            self._call(self._defined[name])

    def _call(self, reads: set[str]) -> None:
        """A function that reads these names is perhaps called now, with those that it calls itself."""
        found = set(reads)
        unseen = list(reads)
        while unseen:
            more = self._defined.get(unseen.pop(), set()) - found
            found |= more
            unseen += more
        self._may_read |= found - self._bound

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._part(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._part(node)

    def _part(self, node: ast.Attribute | ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load) and (base := _base(node)) is not None:
            self._changes.add(base)
        self.generic_visit(node)

    # ---- statements

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit_all([node.value, *node.targets])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._read(node.target.id)
            self._changes.add(node.target.id)
        self.visit_all([node.value, node.target])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        is_bound = node.value is not None or not isinstance(node.target, ast.Name)
        self.visit_all([node.annotation, node.value, node.target if is_bound else None])

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit_all([node.value, node.target])

    def visit_Expr(self, node: ast.Expr) -> None:
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        match call:
            case ast.Call(ast.Attribute(_, method) as function):
                if (base := _base(function)) is not None:
                    self._calls.add((base, method))
            case ast.Call(ast.Name(name), args) if name not in VIEWERS:
                self._calls |= {(it.id, "") for it in args if isinstance(it, ast.Name)}
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for it in node.names:
            if it.name == "*":
                self._binds_anything = True
                continue
            name = it.asname or it.name.partition(".")[0]
            self._bound.add(name)
            self._imports.add(name)

    visit_ImportFrom = visit_Import

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self._either(node.body, node.orelse)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self._either([node.target, *node.body], [])
        self._either(node.orelse, [])

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._either(node.body, [])
        self._either(node.orelse, [])

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        self._either([*node.body, *node.orelse], *([it] for it in node.handlers))
        self.visit_all(node.finalbody)

    visit_TryStar = visit_Try

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        if node.name is not None:
            self._bound.add(node.name)
        self.visit_all(node.body)
        self._bound.discard(node.name or "")

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for it in node.items:
            self.visit_all([it.context_expr, it.optional_vars])
        self.visit_all(node.body)

    visit_AsyncWith = visit_With

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        self._either(*([it] for it in node.cases), [])

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        self.generic_visit(node)
        if node.name is not None:
            self._bound.add(node.name)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest is not None:
            self._bound.add(node.rest)

    # ---- scopes

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.visit_all([*node.decorator_list, *_evaluated(node.args), node.returns])
        free, given = _free_names(node, self._transform)
        self._later |= free
        self._maybe |= given
        self._bound.add(node.name)
        self._defined[node.name] = free
        if node.decorator_list:
            self._call(free)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit_all(_evaluated(node.args))
        free, _ = _free_names(node, self._transform)
        self._later |= free
        self._call(free)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.visit_all([*node.decorator_list, *node.bases, *(it.value for it in node.keywords)])
        outside, defined = set(self._bound), self._defined
        self._defined = dict(defined)
        self.visit_all(node.body)
        methods = [reads for name, reads in self._defined.items() if defined.get(name) is not reads]
        self._bound = outside | {node.name}
        self._defined = defined | {node.name: set().union(*methods)}

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        first, *others = node.generators
        self.visit(first.iter)
        own = {it.id for at in node.generators for it in ast.walk(at.target) if isinstance(it, ast.Name)}
        hidden = own & self._bound
        self._bound |= own
        self.visit_all(first.ifs)
        for it in others:
            self.visit_all([it.iter, *it.ifs])
        self.visit_all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self._bound = (self._bound - own) | hidden

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp

    # ---- magics

    def visit_Call(self, node: ast.Call) -> None:
        method, texts = _ipython_call(node)
        if method is None:
            self.generic_visit(node)
            return
        name = texts[0] if texts and method in ("run_line_magic", "run_cell_magic") else None
        self._binds_anything |= name in BINDS_ANYTHING
        if name in RUNS_PYTHON and method == "run_cell_magic":
            if name == "capture" and texts[1].strip().isidentifier():
                self._bound.add(texts[1].strip())
            self._python(texts[-1])
        elif name in RUNS_PYTHON:
            self._python(_OPTIONS.sub("", texts[-1], count=1))
        else:
            self._may_read |= {it for text in texts for it in _INTERPOLATED.findall(text)} - self._bound

    def _python(self, text: str) -> None:
        self.visit_all(parsed(self._transform(text)))


def _base(node: ast.expr) -> str | None:
    """The name of the object that an item or an attribute belongs to."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _evaluated(args: ast.arguments) -> Iterator[ast.expr | None]:
    """What is evaluated when a function is defined: its defaults and annotations."""
    yield from (*args.defaults, *args.kw_defaults)
    for it in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        yield it.annotation if it is not None else None


def _free_names(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, transform: Transform
) -> tuple[set[str], set[str]]:
    """The names that a call of the function reads from outside, and those that it binds there."""
    inside = _Reader(transform)
    args = function.args
    given = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg)
    own = {it.arg for it in given if it is not None}
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    inside.visit_all(body)
    outer = {name for node in body for name in _declared(node)}
    own |= (inside._bound | inside._maybe) - outer
    return (inside._reads | inside._may_read | inside._later) - own, (inside._bound | inside._maybe) & outer


def _declared(node: ast.AST) -> Iterator[str]:
    """The names that a function declares as global."""
    for it in ast.walk(node):
        if isinstance(it, ast.Global):
            yield from it.names
