"""%acp_agent, %acp and %%acp: agents from cells, in Jupyter and in plain IPython.

Parses the input and makes the same calls as a script. Its only state is what it registers in the shell, so
that it can be unloaded.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from IPython.core.completer import SimpleCompletion
from IPython.core.display_functions import display
from IPython.core.error import UsageError as ShellUsageError
from IPython.core.inputtransformer2 import (
    TokenTransformBase,
    assemble_continued_line,
    find_end_of_continued_line,
)
from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand

from ...agent.known_agents import catalog
from ...api.fan_out.call import fan_out
from ...api.fan_out.runs import Runs
from ...api.live_notebook import LiveNotebook
from ...api.session import Session
from ...errors import AgentNotFound, Error, UsageError
from ...log import logger
from ...notebook.kernel import where
from ...notebook.output import emit
from ...setup.agents import agents
from ...setup.config import own_names
from ..agents_output import offer_agents
from ..display import can_be_asked
from .agent_line import DEFAULT, AgentLine, missing_agent, open_session, parse_request, split_line
from .cached import find_answer, remind, split_cached
from .completion import CompletionSources, complete, cursor_context
from .fan_out_line import FanOutLine, is_fan_out, parse_fan_out
from .mentions import MentionSources, prompt_parts
from .overview import Overview, RunningSessions
from .shell_context import shell_context

_log = logger(__name__)

show: Any = display  # untyped in IPython

F = TypeVar("F", bound=Callable[..., Any])


AGENTS_NOTE = "Run this cell to choose an agent, or name one: %acp_agent NAME"
"""What the file keeps of a list of agents from which none was chosen."""

ANY_AGENT = "demo"
"""Stands for the agent that the user will choose."""

STOPPED = "Stopped."
"""What a cell shows that the user interrupted; it still counts as failed, so that "Run All" stops there."""


def without_traceback(magic: F) -> F:
    """Show errors of this package, and interrupts, without a traceback, which would only show internals."""

    @functools.wraps(magic)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return magic(*args, **kwargs)
        except (UsageError, AgentNotFound) as error:
            raise ShellUsageError(str(error)) from None
        except Error as error:
            _show_as(error, f"{type(error).__name__}: {error}")
            raise
        except KeyboardInterrupt as interrupt:
            _show_as(interrupt, STOPPED)
            raise

    return wrapper  # type: ignore[return-value]


def _check_prompt(text: str) -> None:
    if not text.strip():
        raise UsageError("the prompt is empty: write %acp TEXT, or %%acp with the text below it")


def _show_as(error: BaseException, line: str) -> None:
    """Show this line in place of the traceback; the type is unchanged, so that code can catch it."""
    error._render_traceback_ = lambda: [line]  # type: ignore[attr-defined]


@magics_class
class AcpMagics(Magics):
    """The magics of one shell."""

    shell: Any

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.context = shell_context(shell)
        self._reminded = False
        """Whether it was said that a prompt is sent again whose answer the notebook has."""

    # ---- the magics ---------------------------------------------------------------------------

    @line_magic
    @without_traceback
    def acp_agent(self, line: str) -> None:
        """Start an agent, show its panel and bind its session to a variable.

        %acp_agent NAME [--as VAR] [--cwd DIR] [--mode M] [--config K=V]… [--permissions P]
                        [--resume ID | --load ID] [--install] [-- args…]

        NAME is a known agent ("demo") or a command; --install lets npx or uvx fetch and run an agent that is
        not installed; arguments after `--` are passed to the command. VAR is `session` by default. P is ask,
        allow or reject, or policies by kind: edit=ask,read=allow. Without arguments, lists the known agents
        and the running sessions.
        """
        words = split_line(line)
        if not words:
            self._show_agents()
            return
        request = parse_request(words)
        self._check_name(request.name)
        try:
            session = open_session(request)
        except AgentNotFound as error:
            missing = missing_agent(request)
            if missing is None or not can_be_asked():
                raise
            offer_agents(missing, str(error), partial(self._start, request), request.args)
            return
        self._bind(request.name, session)
        show(session)

    def _show_agents(self) -> None:
        """Show the known agents and the running sessions; in a page, agents can be started with a click."""
        sessions = self._sessions()
        if not can_be_asked():
            show(Overview(agents(), sessions))
            return
        if sessions:
            show(RunningSessions(sessions))
        offer_agents("", AGENTS_NOTE, partial(self._start, parse_request([ANY_AGENT])))

    def _start(self, request: AgentLine, agent: str, install: str | bool) -> Session:
        """Start the agent that the user chose in a page, with the options of the cell's line."""
        self._check_name(request.name)
        session = open_session(request.chosen(agent, install))
        self._bind(request.name, session, say=session._give_notice)
        return session

    @no_var_expand
    @line_cell_magic
    @without_traceback
    def acp(self, line: str, cell: str | None = None) -> None:
        """Send a prompt: `%acp TEXT` sends one line, `%%acp [--cached] [SESSION]` the whole cell.

        `%%acp --agents A,B [--attempts N] [--score COMMAND] [--as VAR]` sends it to several agents, each in
        its own copy of the folder, and shows a table of what they did: see `acp.fan_out`. The variable `runs`
        has them.

        With --cached, the agent is not asked if the notebook has its answer to the same prompt with the same
        attachments in this cell; that answer is shown again, and says so. The agent does not know it.

        @name attaches a variable (@df, @df.columns), a file (@etl.py), a cell (@cell:3, @cell:last) or the
        last error (@error). In backticks, an @ is plain text.
        """
        if cell is not None and is_fan_out(line):
            self._fan_out(parse_fan_out(line), cell)
            return
        if cell is None:
            session, text, cached = self._session(""), line, False
        else:
            name, cached = split_cached(line)
            session, text = self._session(name), cell
        _check_prompt(text)
        parts = prompt_parts(text.strip("\n"), self._sources(session))
        if cached and (answer := find_answer(session, parts)) is not None:
            emit(answer)
            return
        content = session._content(tuple(parts))
        if cell is not None and not cached and not self._reminded:
            remind(session, content, self._on_reminded)
        turn = session.prompt(*content)
        if not where().kernel:
            turn._ipython_display_()  # outside a notebook, prompt() displays nothing

    def _fan_out(self, line: FanOutLine, text: str) -> None:
        """Send the prompt to several agents, and wait for them; an interrupt cancels the runs."""
        _check_prompt(text)
        self._check_name(line.name, Runs)
        parts = prompt_parts(text.strip("\n"), self.context.sources(os.getcwd(), lambda: None))
        options: dict[str, Any] = line.options()
        runs = fan_out([parts], **options)
        self.shell.user_ns[line.name] = runs
        runs.wait()
        if not where().kernel:
            runs._ipython_display_()  # outside a notebook, wait() displays nothing

    def _on_reminded(self) -> None:
        self._reminded = True

    # ---- sessions -----------------------------------------------------------------------------

    @property
    def _names(self) -> Mapping[str, Any]:
        names: Mapping[str, Any] = self.shell.user_ns
        return names

    def _sessions(self) -> dict[str, Session]:
        """Open sessions by the name of their variable."""
        return {
            name: value
            for name, value in list(self._names.items())
            if isinstance(value, Session) and not name.startswith("_") and value.status != "closed"
        }

    def _session(self, name: str) -> Session:
        sessions = self._sessions()
        found = sessions.get(name or DEFAULT) or self._unlisted_session(name)
        if found is None and not name and len({id(it) for it in sessions.values()}) == 1:
            found = next(iter(sessions.values()))
        if found is not None:
            return found
        there = f"there are {', '.join(sessions)}" if sessions else "%acp_agent NAME starts one"
        if name:
            raise UsageError(
                f"no session {name!r}; {there}. Write %%acp NAME, and the prompt in the lines below"
            )
        raise UsageError(
            f"no session for this prompt; {there}" + (": choose one with %%acp NAME" if sessions else "")
        )

    def _unlisted_session(self, name: str) -> Session | None:
        """A session whose name begins with an underscore: not listed, but usable by its name."""
        value = self._names.get(name)
        return value if isinstance(value, Session) and value.status != "closed" else None

    def _check_name(self, name: str, kind: type[Session] | type[Runs] = Session) -> None:
        """Check, before anything starts, that the name is free or holds an idle session, or runs."""
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UsageError(f"--as {name}: not a valid variable name")
        if name not in self._names:
            if hasattr(builtins, name):
                raise UsageError(f"--as {name}: this would hide a Python built-in; choose another name")
            return
        old = self._names[name]
        if not isinstance(old, kind):
            what = type(old).__name__
            raise UsageError(f"the variable {name} is already in use ({what}); choose another with --as NAME")
        if isinstance(old, Session) and old.status == "working":
            raise UsageError(
                f"{name} is still working; stop it with {name}.cancel(), or choose another with --as NAME"
            )

    def _bind(self, name: str, session: Session, say: Callable[[str], object] = print) -> None:
        """Bind the session. The previous one of this name is closed, unless another variable holds it."""
        old = self._names.get(name)
        self.shell.user_ns[name] = session
        if not isinstance(old, Session) or old.status == "closed":
            return
        other = next((it for it, value in self._sessions().items() if value is old), None)
        if other is not None:
            say(f"{name} is a new session; the previous one is still open as {other}")
            return
        old.close()
        say(f"{name} is a new session; the previous one was closed")

    # ---- mentions -----------------------------------------------------------------------------

    def _sources(self, session: Session) -> MentionSources:
        def notebook() -> LiveNotebook | None:
            return session.notebook if session._conversation.state.audience.has_page else None

        return self.context.sources(session._conversation.files_folder, notebook)

    # ---- completion ---------------------------------------------------------------------------

    def known(self, session_name: str = "") -> CompletionSources:
        """What can be completed in a prompt to this session."""
        sessions = self._sessions()
        session = sessions.get(session_name or DEFAULT) or next(iter(sessions.values()), None)
        return CompletionSources(
            agents=catalog.names(own_names()),
            sessions=sessions,
            commands=session.commands if session is not None else (),
            variables=self.context.variables(),
            cells=self.context.inputs(),
            cwd=Path(session._conversation.files_folder if session is not None else os.getcwd()),
        )

    def matcher(self, context: Any) -> dict[str, Any]:
        """A matcher for IPython's completer (matcher API version 2)."""
        cursor = cursor_context(context.full_text, context.cursor_line, context.cursor_position)
        if cursor is None:
            return {"completions": []}
        first = context.full_text.lstrip().split("\n", 1)[0]
        named = first.removeprefix("%%acp").strip() if first.startswith("%%acp") else ""
        found = complete(cursor, self.known(named))
        return {
            "completions": [SimpleCompletion(text, type="acp") for text in found.texts],
            "matched_fragment": found.fragment,
            "suppress": True,
            "ordered": True,
        }


# ---- question marks


class QuestionMark(TokenTransformBase):
    """Keeps IPython from reading `%acp why is this slow?` as a request for help on the last word."""

    priority = 4
    """Before IPython's help transformer, which has 5."""

    LINE = re.compile(r"%acp\s+\S.*\?\s*$")

    @classmethod
    def find(cls, tokens_by_line: Any) -> QuestionMark | None:
        for tokens in tokens_by_line:
            first = next((it for it in tokens if it.string.strip()), None)
            if first is not None and first.string == "%" and cls.LINE.match(first.line[first.start[1] :]):
                return cls(first.start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        at, column = self.start_line, self.start_col
        end = find_end_of_continued_line(lines, at)
        text = assemble_continued_line(lines, (at, column), end).strip()
        words = text.removeprefix("%acp").strip()
        call = f"{lines[at][:column]}get_ipython().run_line_magic('acp', {words!r})\n"
        return [*lines[:at], call, *lines[end + 1 :]]


# ---- loading and unloading


def load(shell: Any) -> None:
    unload(shell)
    magics = AcpMagics(shell)
    shell.register_magics(magics)
    shell.events.register("pre_run_cell", magics.context.on_cell_start)
    shell.events.register("post_run_cell", magics.context.on_cell_end)
    shell.input_transformer_manager.token_transformers.append(QuestionMark)
    if hasattr(shell.Completer, "custom_matchers"):
        shell.Completer.custom_matchers.append(_matcher(magics))


def unload(shell: Any) -> None:
    """Undo `load`. Sessions stay open."""
    magics = find_magics(shell)
    if magics is None:
        return
    del shell.magics_manager.registry[AcpMagics.__name__]
    for kind, names in magics.magics.items():
        for name in names:
            shell.magics_manager.magics[kind].pop(name, None)
    shell.events.unregister("pre_run_cell", magics.context.on_cell_start)
    shell.events.unregister("post_run_cell", magics.context.on_cell_end)
    shell.input_transformer_manager.token_transformers.remove(QuestionMark)
    matchers = getattr(shell.Completer, "custom_matchers", [])
    matchers[:] = [it for it in matchers if getattr(it, "magics", None) is not magics]


def find_magics(shell: Any) -> AcpMagics | None:
    """The magics loaded into a shell."""
    found: AcpMagics | None = shell.magics_manager.registry.get(AcpMagics.__name__)
    return found


def _matcher(magics: AcpMagics) -> Callable[[Any], dict[str, Any]]:
    def acp_matcher(context: Any) -> dict[str, Any]:
        try:
            return magics.matcher(context)
        except Exception:  # completion must never show a traceback
            _log.warning("completion failed", exc_info=True)
            return {"completions": []}

    acp_matcher.matcher_api_version = 2  # type: ignore[attr-defined]
    acp_matcher.matcher_priority = 100  # type: ignore[attr-defined]
    acp_matcher.matcher_identifier = "acp_notebook"  # type: ignore[attr-defined]
    acp_matcher.magics = magics  # type: ignore[attr-defined]
    return acp_matcher
