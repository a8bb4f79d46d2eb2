"""Binds an object to a free variable of the user's, so that it can be used from cells."""

from __future__ import annotations

import builtins
import itertools
import keyword
import re
from typing import Any

from .ipykernel_compat import running_kernel


def bind_to_free_name(wish: str, value: object) -> str | None:
    """Bind the value to this name, or to the next one with a number; return the name, None without a kernel.

    Never replaces a variable.
    """
    shell = getattr(running_kernel(), "shell", None)
    if shell is None:
        return None
    variables: dict[str, Any] = shell.user_ns
    base = re.sub(r"\W", "_", wish).strip("_") or "agent"
    if not base.isidentifier() or keyword.iskeyword(base) or hasattr(builtins, base):
        base = f"agent_{base}"
    for number in itertools.count(1):
        name = base if number == 1 else f"{base}_{number}"
        if variables.setdefault(name, value) is value:
            return name
    return None
