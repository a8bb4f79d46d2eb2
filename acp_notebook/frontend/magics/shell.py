"""%acp_agent, %acp and %%acp: agents from cells, in Jupyter and in plain IPython.

Reads what the user wrote and calls what a script would call; keeps no state but what it put into the
shell, so that it can be taken out again.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import os
import re
from collections.abc import Callable, Mapping
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
from ...api.live_notebook import LiveNotebook
from ...api.session import Session
from ...errors import AgentNotFound, Error, UsageError
from ...notebook.kernel import where
from ...setup.agents import agents
from ...setup.config import own_names
from .agent_line import DEFAULT, opened, wish_of, words_of
from .completion import Known, complete, place_of
from .mentions import MentionSources, parts_of
from .overview import Overview
from .shell_context import surroundings_of

show: Any = display  # it has no types

F = TypeVar("F", bound=Callable[..., Any])


def told_in_one_line(magic: F) -> F:
    """Errors of ours without their traceback: it would show our code, and the fault is not there."""

    @functools.wraps(magic)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return magic(*args, **kwargs)
        except (UsageError, AgentNotFound) as error:
            raise ShellUsageError(str(error)) from None
        except Error as error:
            # IPython asks an exception for its traceback first; its type stays, for whoever catches it.
            line = f"{type(error).__name__}: {error}"
            error._render_traceback_ = lambda: [line]  # type: ignore[attr-defined]
            raise

    return called  # type: ignore[return-value]


@magics_class
class AcpMagics(Magics):
    """The magics, for one shell."""

    shell: Any

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.around = surroundings_of(shell)

    # ---- the magics ---------------------------------------------------------------------------

    @line_magic
    @told_in_one_line
    def acp_agent(self, line: str) -> None:
        """Start an agent, show its panel and bind its session to a variable.

        %acp_agent NAME [--as VAR] [--cwd DIR] [--mode M] [--config K=V]… [--permissions P]
                        [--resume ID | --load ID] [--install] [-- args…]

        NAME is a known agent ("demo") or a command; --install lets npx or uvx fetch and run one that is not
        installed; what follows `--` are the command's arguments. VAR is
        `session` if it is not said. P is ask, allow or reject, or kinds: edit=ask,read=allow. Without
        arguments it lists the agents that are known and the sessions that run.
        """
        words = words_of(line)
        if not words:
            show(Overview(agents(), self._sessions()))
            return
        wish = wish_of(words)
        self._check_name(wish.name)
        session = opened(wish)
        self._bind(wish.name, session)
        show(session)

    @no_var_expand
    @line_cell_magic
    @told_in_one_line
    def acp(self, line: str, cell: str | None = None) -> None:
        """Send a prompt: `%acp TEXT` one line, `%%acp [SESSION]` the whole cell.

        @name brings something along: a variable (@df, @df.columns), a file (@etl.py), a cell (@cell:3,
        @cell:last), the last error (@error). In backticks an @ is text.
        """
        if cell is None:
            session, text = self._session(""), line
        else:
            session, text = self._session(line.strip()), cell
        if not text.strip():
            raise UsageError("the prompt is empty: %acp TEXT, or %%acp with the text below it")
        turn = session.prompt(*parts_of(text.strip("\n"), self._places(session)))
        if not where().kernel:
            turn._ipython_display_()  # where there is no notebook, a prompt shows nothing by itself

    # ---- sessions -----------------------------------------------------------------------------

    @property
    def _names(self) -> Mapping[str, Any]:
        names: Mapping[str, Any] = self.shell.user_ns
        return names

    def _sessions(self) -> dict[str, Session]:
        """Those that can be prompted, by the name of their variable."""
        return {
            name: value
            for name, value in list(self._names.items())
            if isinstance(value, Session) and not name.startswith("_") and value.status != "closed"
        }

    def _session(self, name: str) -> Session:
        sessions = self._sessions()
        found = sessions.get(name or DEFAULT) or self._hidden(name)
        if found is None and not name and len({id(it) for it in sessions.values()}) == 1:
            found = next(iter(sessions.values()))
        if found is not None:
            return found
        there = f"there are {', '.join(sessions)}" if sessions else "%acp_agent NAME starts one"
        if name:
            raise UsageError(f"no session {name!r}; {there}. %%acp takes one name, the text goes below it")
        raise UsageError(f"no session to ask; {there}" + (": %%acp NAME says which" if sessions else ""))

    def _hidden(self, name: str) -> Session | None:
        """One whose name begins with an underscore is not listed; who names it means it."""
        value = self._names.get(name)
        return value if isinstance(value, Session) and value.status != "closed" else None

    def _check_name(self, name: str) -> None:
        """Before anything is started: what is bound there must be nothing, or a session at rest."""
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UsageError(f"--as {name}: that is no name for a variable")
        if name not in self._names:
            if hasattr(builtins, name):
                raise UsageError(f"--as {name}: that is a name of Python's own; take another one")
            return
        old = self._names[name]
        if not isinstance(old, Session):
            kind = type(old).__name__
            raise UsageError(f"{name} holds something else of yours ({kind}); --as NAME takes another name")
        if old.status == "working":
            raise UsageError(f"{name} is still working; {name}.cancel() stops it, --as NAME starts another")

    def _bind(self, name: str, session: Session) -> None:
        """The one that had the name is closed now, unless it has another one."""
        old = self._names.get(name)
        self.shell.user_ns[name] = session
        if not isinstance(old, Session) or old.status == "closed":
            return
        other = next((it for it, value in self._sessions().items() if value is old), None)
        if other is not None:
            print(f"{name} is a new session; the one before it goes on as {other}")
            return
        old.close()
        print(f"{name} is a new session; the one before it was closed")

    # ---- what prompts mention -----------------------------------------------------------------

    def _places(self, session: Session) -> MentionSources:
        def notebook() -> LiveNotebook | None:
            return session.notebook if session._conversation.has_page else None

        return self.around.places(session.cwd, notebook)

    # ---- completion ---------------------------------------------------------------------------

    def known(self, session_name: str = "") -> Known:
        """What there is to choose from, for a prompt to this session."""
        sessions = self._sessions()
        session = sessions.get(session_name or DEFAULT) or next(iter(sessions.values()), None)
        return Known(
            agents=catalog.names(own_names()),
            sessions=sessions,
            commands=session.commands if session is not None else (),
            variables=self.around.variables(),
            cells=self.around.inputs(),
            cwd=Path(session.cwd if session is not None else os.getcwd()),
        )

    def matcher(self, context: Any) -> dict[str, Any]:
        """For IPython's completer, as a matcher of its second version."""
        place = place_of(context.full_text, context.cursor_line, context.cursor_position)
        if place is None:
            return {"completions": []}
        first = context.full_text.lstrip().split("\n", 1)[0]
        named = first.removeprefix("%%acp").strip() if first.startswith("%%acp") else ""
        found = complete(place, self.known(named))
        return {
            "completions": [SimpleCompletion(text, type="acp") for text in found.texts],
            "matched_fragment": found.fragment,
            "suppress": True,
            "ordered": True,
        }


# ---- a question is no call for help


class Question(TokenTransformBase):
    """`%acp why is this slow?`: IPython would take the last word for something that help is wanted on."""

    priority = 4
    """Before IPython's help, which has 5."""

    LINE = re.compile(r"%acp\s+\S.*\?\s*$")

    @classmethod
    def find(cls, tokens_by_line: Any) -> Question | None:
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


# ---- into a shell, and out of it


def load(shell: Any) -> None:
    unload(shell)
    magics = AcpMagics(shell)
    shell.register_magics(magics)
    shell.events.register("pre_run_cell", magics.around.runs_cell)
    shell.events.register("post_run_cell", magics.around.ran_cell)
    shell.input_transformer_manager.token_transformers.append(Question)
    if hasattr(shell.Completer, "custom_matchers"):
        shell.Completer.custom_matchers.append(_matcher(magics))


def unload(shell: Any) -> None:
    """Take everything out again; the sessions go on."""
    magics = loaded(shell)
    if magics is None:
        return
    del shell.magics_manager.registry[AcpMagics.__name__]
    for kind, names in magics.magics.items():
        for name in names:
            shell.magics_manager.magics[kind].pop(name, None)
    shell.events.unregister("pre_run_cell", magics.around.runs_cell)
    shell.events.unregister("post_run_cell", magics.around.ran_cell)
    shell.input_transformer_manager.token_transformers.remove(Question)
    matchers = getattr(shell.Completer, "custom_matchers", [])
    matchers[:] = [it for it in matchers if getattr(it, "magics", None) is not magics]


def loaded(shell: Any) -> AcpMagics | None:
    """The magics of a shell, for whoever has a better source of `cells`."""
    found: AcpMagics | None = shell.magics_manager.registry.get(AcpMagics.__name__)
    return found


def _matcher(magics: AcpMagics) -> Callable[[Any], dict[str, Any]]:
    def acp_matcher(context: Any) -> dict[str, Any]:
        try:
            return magics.matcher(context)
        except Exception:  # a cell with a tab key must not show our traceback
            return {"completions": []}

    acp_matcher.matcher_api_version = 2  # type: ignore[attr-defined]
    acp_matcher.matcher_priority = 100  # type: ignore[attr-defined]
    acp_matcher.matcher_identifier = "acp_notebook"  # type: ignore[attr-defined]
    acp_matcher.magics = magics  # type: ignore[attr-defined]
    return acp_matcher
