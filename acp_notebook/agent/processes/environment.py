"""The environment that an agent starts with.

Knows nothing of processes; decides only which variables of the kernel's go along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# JPY_* and JUPYTERHUB_*: how the kernel talks to its server and its hub, tokens and private addresses among
# them (JUPYTERHUB_API_TOKEN acts as the user on the whole hub). The other JUPYTER_* settings are harmless and
# useful (JUPYTER_PATH, JUPYTER_CONFIG_DIR), except those that open the server: with JUPYTER_TOKEN a process
# runs code in any kernel, so an agent that has it needs none of our permissions. Images and extensions have
# their own names for it (JUPYTER_SERVER_PASSWORD, JUPYTER_TOKEN_FILE), so those go by the word in them.
_SERVER = re.compile(
    r"JUPYTERHUB_.*|JPY_.*|CONFIGPROXY_AUTH_TOKEN"
    r"|JUPYTER(_.*)?_(TOKEN|PASSWORD|PASSWD|PASSPHRASE|SECRET|COOKIE)S?(_.*)?"
)

_KERNEL_BACKENDS = ("module://matplotlib_inline", "module://ipykernel")
"""What ipykernel puts into MPLBACKEND. It works in a kernel only; a value of the user's own is kept."""

_BASICS = re.compile(r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TMPDIR|TERM|XDG_.*")
"""What nearly every program needs in order to start, and nothing that could hold a secret."""


def agent_environment(
    base: Mapping[str, str], extra: Mapping[str, str] | None = None, inherit: bool | Iterable[str] = True
) -> dict[str, str]:
    """The variables of `base` that an agent gets, and `extra` over them.

    `inherit=True`: all but the server's secrets; `inherit=False`: the basics only; names: exactly those,
    whatever they are, since they were asked for by name.
    """
    wanted = _wanted(inherit)
    chosen = {name: value for name, value in base.items() if _goes_along(name, value, wanted)}
    return chosen | _checked(extra or {})


def _wanted(inherit: bool | Iterable[str]) -> bool | frozenset[str]:
    if isinstance(inherit, bool):
        return inherit
    if isinstance(inherit, str):
        raise TypeError(f"inherit must be True, False or a list of names: write inherit=[{inherit!r}]")
    names = frozenset(inherit)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"inherit must hold names of variables, not {type(name).__name__} ({name!r})")
    return names


def _goes_along(name: str, value: str, wanted: bool | frozenset[str]) -> bool:
    if isinstance(wanted, frozenset):
        return name in wanted
    if not wanted:
        return _BASICS.fullmatch(name) is not None
    if name == "MPLBACKEND":
        return not value.startswith(_KERNEL_BACKENDS)
    return _SERVER.fullmatch(name) is None


def _checked(extra: Mapping[str, str]) -> dict[str, str]:
    for name, value in extra.items():
        if not isinstance(name, str) or not name or "=" in name or "\0" in name:
            raise TypeError(f"{name!r} cannot be the name of an environment variable")
        if not isinstance(value, str):
            hint = f"write env={{{name!r}: {str(value)!r}}}"
            raise TypeError(
                f"environment variable {name} must be a string, not {type(value).__name__}: {hint}"
            )
        if "\0" in value:
            raise TypeError(f"environment variable {name} must not hold a NUL character")
    return dict(extra)
