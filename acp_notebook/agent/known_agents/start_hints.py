"""Explain why an agent failed to start: what its stderr says, and what to do about it.

Works on text only. Keeps the last failure of each agent, for `acp.doctor()`.
"""

from __future__ import annotations

import re

LINES = 10
"""How many of the last lines of stderr an error shows."""

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
"""The error of the last failed start, by the agent's name."""

elsewhere: set[str] = set()
"""The names of agents on other machines."""


def explanation(stderr: str) -> str:
    """The last lines of stderr and a hint, to append to an error; "" if there are none."""
    lines = [line.rstrip() for line in stderr.strip().splitlines()[-LINES:]]
    printed = ["it printed on stderr:", *(f"  {line}" for line in lines)] if lines else []
    found = hint(stderr)
    return "\n".join([*printed, *([f"hint: {found}"] if found else [])])


def hint(text: str) -> str | None:
    """What to do, if the cause is known."""
    return next((advice for cause, advice in _HINTS if re.search(cause, text, re.IGNORECASE)), None)
