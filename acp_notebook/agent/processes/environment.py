"""Decide which of the kernel's environment variables an agent gets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...core.patterns import pattern

# JPY_* and JUPYTERHUB_*: how the kernel talks to its server and its hub, including tokens and private
# addresses (JUPYTERHUB_API_TOKEN acts as the user on the whole hub). The other JUPYTER_* settings are
# harmless and useful (JUPYTER_PATH, JUPYTER_CONFIG_DIR), except those that give access to the server: with
# JUPYTER_TOKEN a process can run code in any kernel, so an agent that has it can bypass our permissions.
# Images and extensions have their own names for it (JUPYTER_SERVER_PASSWORD, JUPYTER_TOKEN_FILE), so those
# are matched by a word.
_SERVER = pattern(
    r"JUPYTERHUB_.*|JPY_.*|CONFIGPROXY_AUTH_TOKEN"
    r"|JUPYTER(_.*)?_(TOKEN|PASSWORD|PASSWD|PASSPHRASE|SECRET|COOKIE)S?(_.*)?"
)

_KERNEL_BACKENDS = ("module://matplotlib_inline", "module://ipykernel")
"""Values that ipykernel sets in MPLBACKEND. They work in a kernel only; the user's own value is kept."""

_BASICS = pattern(r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TMPDIR|TERM|XDG_.*")
"""What nearly every program needs to start, and nothing that could be a secret."""


def agent_environment(
    base: Mapping[str, str], extra: Mapping[str, str] | None = None, inherit: bool | Iterable[str] = True
) -> dict[str, str]:
    """The variables of `base` that an agent gets, overridden by `extra`.

    `inherit=True`: all but the server's secrets; `inherit=False`: only the basics; names: exactly those,
    even secrets, because the user named them.
    """
    wanted = _wanted(inherit)
    chosen = {name: value for name, value in base.items() if _is_inherited(name, value, wanted)}
    return chosen | _checked(extra or {})


def _wanted(inherit: bool | Iterable[str]) -> bool | frozenset[str]:
    if isinstance(inherit, bool):
        return inherit
    if isinstance(inherit, str):
        raise TypeError(f"inherit must be True, False or a list of names: write inherit=[{inherit!r}]")
    names = frozenset(inherit)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"inherit must contain names of variables, not {type(name).__name__} ({name!r})")
    return names


def _is_inherited(name: str, value: str, wanted: bool | frozenset[str]) -> bool:
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
            raise TypeError(f"environment variable {name} must not contain a NUL character")
    return dict(extra)
