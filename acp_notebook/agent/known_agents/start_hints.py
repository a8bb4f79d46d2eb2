"""Why agents fail to start: what their stderr says, and what to do about it.

Knows no process: it gets texts. Keeps the last failure of each agent, for `acp.doctor()`.
"""

from __future__ import annotations

import re

LINES = 10
"""Of stderr, in an error: the last ones say why."""

_HINTS = (
    (r"root(?:/sudo)? privileges|as root|running as root", "start the kernel as another user than root"),
    (
        r"not (?:logged|signed) in|please (?:log|sign) in|login required|unauthenticated|/login\b",
        "sign in first: run the agent once in a terminal, or use session.authenticate()",
    ),
    (
        r"api[ _-]?key (?:is )?(?:not|missing|required)|(?:missing|no|set) (?:an? |the )?\w*api[ _-]?key",
        'give the agent its key: acp.connect(…, env={"…_API_KEY": "…"})',
    ),
    (
        r"(?:requires|unsupported|needs) node"
        r"|node(?:\.js)? (?:version )?v?\d+.*(?:required|or (?:newer|higher))"
        r"|SyntaxError: Unexpected token|EBADENGINE",
        "install a newer Node (20 at least): pip install 'acp-notebook[node]' brings one",
    ),
    (r"ENOSPC|no space left", "free some disk space"),
)

last: dict[str, str] = {}
"""By the agent's name: the error of its last start that failed."""


def explanation(stderr: str) -> str:
    """The last lines of stderr and a hint, as lines to put below an error; "" where there is nothing."""
    lines = [line.rstrip() for line in stderr.strip().splitlines()[-LINES:]]
    told = ["on stderr it printed:", *(f"  {line}" for line in lines)] if lines else []
    found = hint(stderr)
    return "\n".join([*told, *([f"hint: {found}"] if found else [])])


def hint(text: str) -> str | None:
    """What to do, where the cause is a known one."""
    return next((advice for cause, advice in _HINTS if re.search(cause, text, re.IGNORECASE)), None)
