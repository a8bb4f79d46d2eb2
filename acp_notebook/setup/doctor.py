"""doctor(): a report of the environment, problems first, to read or to paste into an issue.

Changes nothing, starts no agent on this machine, is bounded in time and never raises. The report contains no
values of variables, no tokens and no command lines, and abbreviates the home folder to "~".
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from html import escape
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from .. import timeouts
from .._version import __version__
from ..errors import UsageError
from ..log import logger, recent

if TYPE_CHECKING:
    from ..agent.host import AgentHost
    from ..notebook.runtime import Runtime

_log = logger(__name__)

PACKAGES = (
    *("anywidget", "msgspec", "markdown-it-py", "ipykernel", "ipython", "ipywidgets", "traitlets", "pyzmq"),
    *("jupyterlab", "notebook", "jupyter-server", "jupyter-collaboration", "nbclient", "nbval", "pytest"),
)
NEEDED = ("anywidget", "msgspec", "markdown-it-py")
BUNDLE = ("session.js", "session.css", "turn.js")


class Finding(Struct, frozen=True):
    """One line of the report. `advice` says what to do about a problem."""

    name: str
    value: str
    problem: bool = False
    advice: str = ""


class Section(Struct, frozen=True):
    """A titled group of findings."""

    title: str
    findings: tuple[Finding, ...]


class Report:
    """The result of `acp.doctor()`, displayed as text or HTML; `to_markdown()` formats it for an issue."""

    def __init__(self, sections: Iterable[Section]) -> None:
        self.sections = tuple(sections)

    @property
    def problems(self) -> tuple[Finding, ...]:
        return tuple(it for section in self.sections for it in section.findings if it.problem)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterable[str]:
        yield self._headline()
        for problem in self.problems:
            yield f"  ✗ {problem.name}: {problem.value}"
            if problem.advice:
                yield f"    → {problem.advice}"
        for section in self.sections:
            yield from ("", section.title)
            for it in section.findings:
                yield f"  {'✗' if it.problem else ' '} {it.name}: {it.value}"

    def _headline(self) -> str:
        count = len(self.problems)
        return f"acp_notebook {__version__}: " + (
            "no problems found" if not count else f"{count} problem{'s' * (count > 1)}"
        )

    def to_markdown(self) -> str:
        """The report as markdown, to paste into an issue."""
        lines = [f"**{self._headline()}**", ""]
        lines += [f"- ✗ **{it.name}**: {it.value}. {it.advice}".rstrip() for it in self.problems]
        for section in self.sections:
            lines += ["", f"### {section.title}", "", "| | |", "|---|---|"]
            lines += [f"| {_cell(it.name)} | {_cell(it.value)} |" for it in section.findings]
        return "\n".join(lines) + "\n"

    def _repr_html_(self) -> str:
        problems = "".join(
            f"<li><strong>{escape(it.name)}</strong>: {escape(it.value)}"
            f"{f'<br>→ {escape(it.advice)}' if it.advice else ''}</li>"
            for it in self.problems
        )
        tables = "".join(map(_html_section, self.sections))
        return f"<p><strong>{escape(self._headline())}</strong></p><ul>{problems}</ul>{tables}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {
            "text/plain": repr(self),
            "text/html": self._repr_html_(),
            "text/markdown": self.to_markdown(),
        }


def doctor(*, log: bool = False) -> Report:
    """Report on the environment: versions, kernel, page, agents, undo, permissions; problems first.

    `log` adds recent log records of the package in this process: errors that stopped nothing.
    """
    checks: list[tuple[str, Callable[[], Iterable[Finding]]]] = [
        ("Versions", _versions),
        ("Agents", _agents),
        ("Node", _node),
        ("Running", _running),
        ("Remote agents", _remote),
        ("Undo", _undo),
        ("Your settings", _settings),
        ("The package", _package),
    ]
    notebook = Section("Notebook", _run(_notebook))  # about this thread and cell, so it must run here
    if log:
        checks.append(("Recent log", _recent_log))
    found = _run_in_parallel(checks)
    return Report([found[0], notebook, *found[1:]])


# ---- checks


def _versions() -> Iterable[Finding]:
    yield Finding("Python", f"{platform.python_version()} ({platform.python_implementation()})")
    posix = os.name == "posix"
    advice = "Linux and macOS work; on Windows, use WSL"
    yield Finding("system", platform.platform(terse=True), not posix, "" if posix else advice)
    yield Finding("acp_notebook", __version__)
    for name in PACKAGES:
        version = _version(name)
        if version is not None or name in NEEDED:
            yield Finding(name, version or "not installed", version is None, f"pip install {name}")


def _notebook() -> Iterable[Finding]:
    from ..notebook import kernel, pages

    place = kernel.where()
    yield Finding("place", _place_name(place))
    yield Finding("thread", "main" if place.main_thread else "subshell" if place.subshell else "another")
    pump = kernel.pump_status()
    advice = "clicks wait until the cell ends; another version of ipykernel may work, see Versions"
    yield Finding("clicks while a cell waits", pump, pump.startswith("cannot"), advice)
    seen = pages.counts()
    for page, count in seen.items():
        has = [word for word, there in (("document", page.document), ("live", page.live)) if there]
        yield Finding(
            "page", f"{page.host} ({', '.join(has) or 'outputs only'}), seen {count} time{'s' * (count != 1)}"
        )
    if not seen:
        yield Finding("page", "none has connected yet")
    nested = "nest_asyncio" in sys.modules
    if nested:
        yield Finding(
            "nest_asyncio", "loaded", True, "remove it: it blocks cells, and acp_notebook does not need it"
        )


def _place_name(place: Runtime) -> str:
    if place.terminal:
        return "IPython in a terminal"
    if not place.kernel:
        return "a script: no Jupyter kernel in this process"
    names = {True: "in a headless run (nbclient, nbconvert, nbval)", False: "with a page"}
    return "a kernel, " + names.get(place.headless, "possibly without a page (jupyter console)")  # type: ignore[arg-type]


def _agents() -> Iterable[Finding]:
    from ..agent.known_agents import start_hints
    from .agents import agents

    table = agents()
    if table.warning is not None:
        yield Finding("your own agents", table.warning, True, "fix the file that it names")
    for name, problem in start_hints.last.items():
        advice = start_hints.hint(problem) or "read the message, and agent.stderr"
        if name in start_hints.elsewhere:  # it has no stderr here, and what it needs is on its own machine
            advice = "read the message; below, Remote agents has more about servers in your settings"
        yield Finding(name, f"its last start failed: {problem}", True, advice)
    ready = [it for it in table if it.ready]
    for it in ready:
        missing = f"; {it.missing}" if it.missing else ""
        yield Finding(it.name, f"{_home(it.found)} {it.version or ''}".rstrip() + missing)
    if len(ready) < 2:
        yield Finding("others", "none installed; acp.agents() lists them and how to install each")


def _node() -> Iterable[Finding]:
    from ..agent.known_agents.launchers import find_launchers
    from ..agent.known_agents.versions import installed_version
    from ..agent.processes.environment import agent_environment

    env = agent_environment(os.environ)
    launchers = find_launchers(env.get("PATH"))
    wheel, npx = launchers.node_folder, launchers.npx
    if npx is None:
        advice = "agents from npm need it: pip install 'acp-notebook[node]', or install Node 20 or newer"
        yield Finding("Node", f"not found; {advice}")
    else:
        folder = wheel or os.path.dirname(npx[0])
        source = "installed by acp-notebook[node]" if wheel else "on the PATH"
        for title, place in (("Node", os.path.join(folder, "node")), ("npm", npx[-1])):
            version = installed_version(place, "npm", None, env) or "unknown version"
            yield Finding(title, f"{version} · {_home(place)} ({source})")
    uvx = launchers.uvx
    yield Finding("uvx", _home(uvx[0]) if uvx else "not found; agents from PyPI need it")


def _hosts() -> list[AgentHost]:
    from ..agent import loop
    from ..agent.host import AgentHost

    return [it for it in loop.owners() if isinstance(it, AgentHost)]


def _running() -> Iterable[Finding]:
    hosts = _hosts()
    for host in hosts:
        statuses = [it.read(lambda transcript: transcript.header().status) for it in host.sessions.states()]
        text = f"{host.agent.facts.version or ''} · {len(statuses)} open: {', '.join(statuses)}".strip(" ·")
        bad = any(it in ("dead", "disconnected", "reconnecting", "lost", "stuck") for it in statuses)
        advice = "see session.agent.stderr; the next prompt restarts the agent"
        if not host.agent.launch.reach.is_ours:
            advice = "the next prompt connects to the agent again"
        if "reconnecting" in statuses:
            why = f" ({host.agent.interruption})" if host.agent.interruption else ""
            advice = f"the server is out of reach{why}: is it running? It is tried again by itself"
        yield Finding(host.agent.name, text, bad, advice)
    if not hosts:
        yield Finding("agents", "none running")


def _remote() -> Iterable[Finding]:
    from .config import own_settings

    for host in _hosts():
        agent = host.agent
        if not agent.launch.reach.is_ours:
            protocol = f"protocol {agent.facts.protocol_version}"
            text = f"{agent.wire}, {protocol}, answered initialize in {1000 * agent.ready_in:.0f} ms"
            if not agent.ready:
                yield Finding(agent.name, "not connected", True, "the next prompt connects to it")
            elif (why := agent.interruption) is not None:
                yield Finding(agent.name, f"{text}; now out of reach", True, why)
            else:
                yield Finding(agent.name, text)
    for name in ("websockets", "httpx", "h2"):
        yield Finding(name, _version(name) or "not installed; pip install 'acp-notebook[remote]' does it")
    try:
        entries = [it for it in own_settings().agents.values() if it.url is not None]
    except UsageError as error:
        yield Finding("your settings", _home(str(error)), True, "fix the file that it names")
        return
    if entries:
        from concurrent.futures import ThreadPoolExecutor

        from .remote_check import check

        with ThreadPoolExecutor(max_workers=len(entries)) as pool:  # servers that do not answer take seconds
            for entry, found in zip(entries, pool.map(check, entries), strict=True):
                yield Finding(entry.name, found.text, found.is_problem, found.advice)


def _undo() -> Iterable[Finding]:
    from ..agent import temporary_folders
    from ..agent.undo.git import program

    temporary_folders.sweep()  # what killed kernels left: copies of fan-outs may be large
    git = program()
    without = "not found: small folders are copied instead, larger ones are not covered"
    yield Finding("git", _home(git) if git else without)
    for host in _hosts():
        for conversation in tuple(host.sessions.open):
            undoing = conversation.undoing
            for path, state in undoing.states.items():
                yield Finding(_home(path), state)
            if not undoing.covers:
                only = f"only files written through this client ({undoing.why_not})"
                yield Finding(_home(conversation.state.cwd), only)
            for skipped in undoing.skipped:
                advice = "changes made with the agent's own tools in that turn cannot be undone"
                yield Finding("no checkpoint of the last turn", _home(skipped), True, advice)


def _policies() -> Iterable[Finding]:
    for host in _hosts():
        for conversation in tuple(host.sessions.open):
            policy = conversation.permissions.questions.policy
            judge = host.options.judge
            files = [
                whose for judged, whose in ((judge.own, "your"), (judge.project, "the project's")) if judged
            ]
            rules = f"; and the rules in {' and '.join(files)} file" if files else ""
            yield Finding(f"permissions of {host.agent.name}", _describe_policy(policy) + rules)


def _describe_policy(policy: object) -> str:
    if callable(policy):
        return "your function"
    if isinstance(policy, Mapping):
        return ", ".join(f"{kind}: {word}" for kind, word in policy.items())
    return str(policy)


def _project() -> Finding:
    from ..agent.permissions.consent_store import ConsentStore
    from ..agent.permissions.project_file import PROJECT_FILE, find_project_file, read_project_file

    path = find_project_file(os.getcwd())
    if path is None:
        return Finding("project's file", f"no {PROJECT_FILE} here")
    known = ConsentStore().trusted(path)
    if known == read_project_file(path).sha256:
        return Finding("project's file", f"{_home(path)}: trusted")
    why = "changed since you trusted it, so it is not used" if known else "not trusted, so it is not used"
    return Finding("project's file", f"{_home(path)}: {why}; acp.trust(preview=True) shows it")


def _settings() -> Iterable[Finding]:
    from ..agent.user_dirs import config_folder
    from .permissions import permissions

    yield from _policies()
    yield _project()

    folder = config_folder()
    yield Finding("folder", _home(str(folder)) + ("" if folder.is_dir() else " (does not exist yet)"))
    if folder.is_dir():
        mode = folder.stat().st_mode & 0o777
        others = bool(mode & 0o022)
        yield Finding("permissions of the folder", f"{mode:o}", others, f"chmod 700 {_home(str(folder))}")
        for path in sorted(folder.iterdir())[:20]:
            yield Finding("file", f"{path.name}, {path.stat().st_size:,} bytes")
    grants = permissions()
    yield Finding("permanent grants", f"{len(grants)}; acp.permissions() lists them")
    if grants.warning is not None:
        yield Finding(
            "permissions", grants.warning, True, "fix or remove the file; until then it allows nothing"
        )


def _package() -> Iterable[Finding]:
    folder = Path(__file__).parents[1]
    yield Finding("installed in", _home(str(folder)))
    missing = [name for name in BUNDLE if not (folder / "static" / name).is_file()]
    value = f"missing: {', '.join(missing)}" if missing else "present"
    advice = "reinstall the package; in a clone: pip install -e . with Node 20 or newer"
    yield Finding("frontend bundle", value, bool(missing), advice)
    if not missing:
        newest = max((folder / "static" / name).stat().st_mtime for name in BUNDLE)
        yield Finding("built", time.strftime("%Y-%m-%d", time.gmtime(newest)))


def _recent_log() -> Iterable[Finding]:
    redactors = [host.agent.redactor for host in _hosts()]
    for it in recent.records:
        text = it.text
        for redactor in redactors:
            text = redactor.text(text)
        yield Finding(f"{it.when} {it.level}", _home(text))
    if not recent.records:
        yield Finding("log", "no records; logging.getLogger('acp_notebook').setLevel('DEBUG') keeps more")


# ---- running checks


def _run_in_parallel(checks: list[tuple[str, Callable[[], Iterable[Finding]]]]) -> list[Section]:
    """Run each check on its own thread, all of them within one deadline."""
    found: dict[str, tuple[Finding, ...]] = {}

    def run(title: str, check: Callable[[], Iterable[Finding]]) -> None:
        found[title] = _run(check)

    threads = [threading.Thread(target=run, args=it, name="acp-doctor", daemon=True) for it in checks]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + timeouts.get().doctor
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = Finding("unknown", f"the check took more than {timeouts.get().doctor:g} s", True)
    return [Section(title, found.get(title, (late,))) for title, _ in checks]


def _run(check: Callable[[], Iterable[Finding]]) -> tuple[Finding, ...]:
    """The findings up to the first exception, and that exception."""
    found: list[Finding] = []
    try:
        found.extend(check())
    except Exception as error:
        _log.warning("a check of the report failed", exc_info=True)
        found.append(Finding("check failed", _home(repr(error))[:500], True))
    return tuple(found)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _home(path: str) -> str:
    home = os.path.expanduser("~")
    return path.replace(home, "~") if len(home) > 1 else path


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _html_section(section: Section) -> str:
    left = ' style="text-align:left"'
    cells = ((f"{'✗ ' * it.problem}{it.name}", it.value) for it in section.findings)
    rows = "".join(
        f"<tr><td{left}>{escape(name)}</td><td{left}>{escape(value)}</td></tr>" for name, value in cells
    )
    return (
        f"<details><summary>{escape(section.title)}</summary><table><tbody>{rows}</tbody></table></details>"
    )
