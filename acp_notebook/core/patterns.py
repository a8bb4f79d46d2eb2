"""Regular expressions that are compiled at their first use.

Most of them are about what rarely happens, and to compile them all took a tenth of the time to import
`connect`. Patterns that every message needs are compiled where they are defined.
"""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["pattern"]


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, but later."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        """Called once for each name: the compiled pattern's own method is kept."""
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)
        return value
