"""Writes docs/reference.md from the docstrings of the public names: `python3 dev.py docs`.

Knows nothing of any name in particular. The text is the same on every machine, so that a test can say
whether the file is up to date.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import acp_notebook

TARGET = Path(__file__).with_name("reference.md")

HEAD = """\
# Reference

Every public name of `acp_notebook`, from its docstrings: this file is written by `python3 dev.py docs`.

In the examples, `import acp_notebook as acp`. The [guide](guide.md) shows how they work together.
"""

ALSO = (
    "core.snapshot.ToolCall",
    "core.snapshot.Plan",
    "core.snapshot.Question",
    "core.snapshot.TerminalRun",
    "core.audit.AuditTable",
    "api.live_notebook.LiveNotebook",
    "setup.permissions.Permissions",
    "api.preview.Preview",
    "api.tools.Tools",
    "api.tools.Tool",
    "api.session.Config",
)
"""What the public names give back."""

LONG = 100
"""A signature that is longer gets a line for each parameter."""


def reference() -> str:
    """The whole page."""
    values = {name: getattr(acp_notebook, name) for name in acp_notebook.__all__ if not name.startswith("_")}
    groups = {
        "Functions": [name for name, value in values.items() if is_function(value)],
        "Classes": [name for name, value in values.items() if inspect.isclass(value) and not is_error(value)],
        "Errors": [name for name, value in values.items() if inspect.isclass(value) and is_error(value)],
        "Modules": [name for name, value in values.items() if inspect.ismodule(value)],
    }
    left = set(values).difference(*groups.values())
    assert not left, f"no room in the reference for {', '.join(sorted(left))}"
    met = {path.rpartition(".")[2]: found(path) for path in ALSO}
    values |= met
    groups["What they give back"] = list(met)
    parts = [HEAD, contents(groups)]
    for group, names in groups.items():
        parts += [f"## {group}", *(described(name, values[name]) for name in sorted(names, key=str.lower))]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def found(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(import_module(f"acp_notebook.{module}"), name)


def is_function(value: Any) -> bool:
    """A function, or an object that is called like one."""
    return callable(value) and not inspect.isclass(value)


def is_error(value: type) -> bool:
    return issubclass(value, Exception)


def contents(groups: dict[str, list[str]]) -> str:
    return "\n".join(
        f"- {group}: " + ", ".join(f"[`{name}`](#{name.lower()})" for name in sorted(names, key=str.lower))
        for group, names in groups.items()
    )


def described(name: str, value: Any) -> str:
    if inspect.ismodule(value):
        return module_page(name, value)
    call = call_of(f"acp.{name}", value) if hasattr(acp_notebook, name) else ""
    parts = [f"### {name}", call, prose(value)]
    if inspect.isclass(value):
        parts.append(members(value))
    elif not inspect.isroutine(value):
        parts.append(members(type(value)))
    return "\n\n".join(filter(None, parts))


def module_page(name: str, module: ModuleType) -> str:
    classes = [it for it in vars(module).values() if inspect.isclass(it) and it.__module__ == module.__name__]
    rows = [f"- `{it.__name__}({', '.join(field_names(it))})` {one_line(it)}".rstrip() for it in classes]
    return "\n\n".join([f"### {name}", prose(module), "\n".join(rows)])


# ---- one class


def members(cls: type) -> str:
    """Fields, properties and methods, in the order of the source."""
    rows = [*fields(cls), *attributes(cls)]
    return "\n".join(rows)


def attributes(cls: type) -> Iterator[str]:
    for owner in own_classes(cls):
        for name, value in vars(owner).items():
            if name.startswith("_"):
                continue
            if isinstance(value, property):
                settable = " (settable)" if value.fset is not None else ""
                yield f"- `.{name}`{settable}: {one_line(value)}".rstrip(": ")
            elif inspect.isfunction(value):
                yield f"- `.{name}{signature_of(value)}`: {one_line(value)}".rstrip(": ")


def own_classes(cls: type) -> list[type]:
    """The class and its bases in this package."""
    return [it for it in cls.__mro__ if it.__module__.startswith("acp_notebook")]


def fields(cls: type) -> Iterator[str]:
    """The annotated fields of a record, with the strings that stand behind them."""
    for owner in filter(is_record, reversed(own_classes(cls))):
        body = class_body(owner)
        for at, node in enumerate(body):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
                if not name.startswith("_") and "ClassVar" not in ast.unparse(node.annotation):
                    text = string_after(body, at)
                    yield f"- `.{name}`: `{ast.unparse(node.annotation)}`" + (f" — {text}" if text else "")


def is_record(cls: type) -> bool:
    return hasattr(cls, "__dataclass_fields__") or hasattr(cls, "__struct_fields__")


def field_names(cls: type) -> list[str]:
    names: Iterable[str] = getattr(cls, "__struct_fields__", ()) or getattr(cls, "__dataclass_fields__", ())
    return [name for name in names if not name.startswith("_") and name != "raw"]


def class_body(cls: type) -> list[ast.stmt]:
    try:
        [node] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    except (OSError, TypeError, ValueError):
        return []
    return node.body if isinstance(node, ast.ClassDef) else []


def string_after(body: list[ast.stmt], at: int) -> str:
    following = body[at + 1] if at + 1 < len(body) else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        return flat(str(following.value.value))
    return ""


# ---- words


def prose(value: Any) -> str:
    """The docstring, unless it is only inherited."""
    text = inspect.getdoc(value) or ""
    if not inspect.isclass(value):
        return text
    made = text.startswith(f"{value.__name__}(")  # by dataclass, where nobody wrote one
    return text if vars(value).get("__doc__") and not made else ""


def one_line(value: Any) -> str:
    """The docstring as one line: the whole of it, not its first sentence only."""
    return flat(prose(value))


def flat(text: str) -> str:
    return " ".join(text.split())


def call_of(name: str, value: Any) -> str:
    if inspect.isclass(value) and not is_record(value):
        return ""  # made by the package, not by the user
    return f"```python\n{name}{signature_of(value, long=True)}\n```"


def signature_of(value: Any, *, long: bool = False) -> str:
    signature = inspect.signature(value)
    parameters = [it for it in signature.parameters.values() if it.name != "self"]
    text = readable(str(signature.replace(parameters=parameters)))
    if not long or len(text) <= LONG:
        return text
    lines = ",\n    ".join(readable(str(it)) for it in with_star(parameters))
    returned = signature.return_annotation
    arrow = "" if returned is inspect.Signature.empty else f" -> {readable(str(returned))}"
    return f"(\n    {lines},\n){arrow}"


def with_star(parameters: list[inspect.Parameter]) -> Iterator[object]:
    star = False
    for it in parameters:
        if it.kind is it.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        star = star or it.kind is it.VAR_POSITIONAL
        yield it


def readable(text: str) -> str:
    """Annotations are strings here (`from __future__ import annotations`): without quotes and modules."""
    text = re.sub(r"(: |-> )(?:'([^']*)'|\"([^\"]*)\")", lambda m: m[1] + (m[2] or m[3]), text)
    text = re.sub(r"\b(?:collections\.abc|typing|acp_notebook(?:\.\w+)*)\.", "", text)
    return re.sub(r"<object object at 0x[0-9a-f]+>", "…", text)


def main() -> None:
    TARGET.write_text(reference(), encoding="utf-8")
    print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()
