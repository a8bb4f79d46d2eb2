"""How long the package waits: every time limit and grace period that a user can notice, in one record.

Code reads a limit when it begins to wait: `timeouts.get().cancel_grace`. Tests replace some of them with
`replaced` or `replace`. Pauses between two looks at something are constants next to the code that looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from msgspec import Struct, structs

__all__ = ["Timeouts", "get", "replace", "replaced", "takes_fields_of"]

P = ParamSpec("P")
T = TypeVar("T")


class Timeouts(Struct, frozen=True, kw_only=True):
    """All of them, in seconds."""

    # ---- starting an agent ------------------------------------------------------------------------------

    agent_start: float = 60.0
    """For an agent to introduce itself: the slow ones need half of it on a busy machine."""

    agent_fetch: float = 300.0
    """The same, where npx or uvx may have to fetch it first."""

    agent_version: float = 3.0
    """For `--version`: many programs are large, and all run at once."""

    supervisor_answer: float = 10.0
    """For a supervisor, which needs 2 ms; after this the agent is started without one."""

    registry_fetch: float = 30.0
    """For each network operation of an import from a registry."""

    sign_in: float = 600.0
    """For a sign-in that the agent does itself: a person finds a page, a password and a second factor."""

    sign_in_script: float = 5.0
    """For a shell to read its command, which it does at once; one that was stopped must not hold us up."""

    # ---- ending agents and commands ---------------------------------------------------------------------

    agent_eof_grace: float = 1.0
    """For an agent to exit when its stdin ends: well-behaved ones do at once; several real ones never do."""

    agent_term_grace: float = 2.0
    """For an agent to save a session's state after SIGTERM."""

    agent_kill: float = 2.0
    """An agent that remains this long after SIGKILL hangs in the operating system: it is reported."""

    agent_exit: float = 1.0
    """Between the end of an agent's stdout and its exit: an interpreter needs a moment to shut down."""

    agent_drain: float = 0.5
    """After the exit, for the last output of grandchildren that hold the pipe open; most never close it."""

    command_term_grace: float = 1.0
    """For a command to clean up after SIGTERM: a test run removes its files, a server closes its port."""

    command_kill: float = 2.0
    """A command that remains this long after SIGKILL hangs in the operating system."""

    command_drain: float = 0.25
    """After the exit, for filters (`> >(tee log)`); a server in the background never closes the pipe."""

    command_batch: float = 1 / 30
    """Between two reports of a command's output: as often as a page is updated."""

    kill_now: float = 0.5
    """For `kill_now`, which runs while the interpreter shuts down."""

    interpreter_exit: float = 4.0
    """How long the interpreter's end may wait for agents to be ended: their own graces are shorter."""

    # ---- sessions and turns -----------------------------------------------------------------------------

    cancel_grace: float = 5.0
    """A cancelled turn is abandoned after this: agents that obey need far less, and people wait no longer."""

    restart_grace: float = 5.0
    """What an agent gets after that to answer late, before it is started again."""

    restart_defer: float = 30.0
    """A restart for a stuck session waits this long for other sessions' turns on the same agent."""

    interrupt_grace: float = 5.0
    """How long an interrupted wait goes on, so that a cancelled turn can end cleanly."""

    history_quiet: float = 0.25
    """The history is complete when nothing has come for this long: some agents send it after their answer."""

    history_at_most: float = 5.0
    """… but nobody waits longer than this for it."""

    session_list: float = 60.0
    """For all pages of a list of sessions together; each of them may take as long as any request."""

    session_close: float = 2.0
    """For the agent to say goodbye to a session."""

    null_id: float = 5.0
    """After an error with the id null and nothing more, the only open request counts as unreadable."""

    null_id_begun: float = 60.0
    """The same for a request that the agent has begun to work on: it may be at a long command."""

    policy: float = 60.0
    """For a policy function: longer than any rule needs, and a turn still ends."""

    extension_request: float = 60.0
    """For an agent to answer a request beyond the protocol, unless the caller says otherwise."""

    extension_handler: float = 60.0
    """For a handler of the user: the agent waits for it, and a turn must still end."""

    file_lock: float = 5.0
    """Another kernel holds the lock for some milliseconds; longer only if it is stopped, or the disk is."""

    recording_grace: float = 2.0
    """For what a recording has next, when something else came before it: people press a button once."""

    recorded_command_end: float = 1.0
    """For the recorded end of a replayed command to arrive, when it is ended here."""

    # ---- remote agents ----------------------------------------------------------------------------------

    remote_connect: float = 20.0
    """For one attempt to connect: name, proxy and TLS. The start of an agent has its own limit on top."""

    remote_post: float = 30.0
    """For a server to take a part of a message, or to answer; it answers before it works on the message."""

    remote_request: float = 90.0
    """For a whole message and its answer, or until a stream opens: a byte now and then is no progress."""

    remote_error: float = 2.0
    """For the body of an error, which is only shown."""

    remote_doubt: float = 10.0
    """For a sign that the server works on a request whose sending broke; without one, the turn fails."""

    remote_stream: float = 2.0
    """For the stream of a session that the server has loaded: it opens at once, or the server has none."""

    remote_ping: float = 20.0
    """Between two pings of a WebSocket: proxies cut connections that are silent for 30 s or more."""

    remote_pong: float = 20.0
    """For the answer to a ping; after this the connection is dead, as it is after a laptop has slept."""

    remote_silence: float = 45.0
    """A stream without a byte for so long is opened again: servers send a comment every 15 s."""

    remote_idle: float = 5.0
    """A connection for messages that was idle for so long is not used again: it may be dead after a sleep."""

    remote_setting: float = 10.0
    """For the answer to a setting, if it may be lost: it is then set again, which does no harm, but once."""

    remote_gap: float = 120.0
    """After a cut, the end of the answer may be lost: a turn that is silent for so long since then fails."""

    remote_doubt_silence: float = 1800.0
    """… or for so long, if nothing but silence speaks for a cut: agents may think, or wait for a build."""

    remote_reread: float = 30.0
    """For an agent to send the history of a session whose last turn may have gaps."""

    remote_reconnect: float = 60.0
    """How long to try to reach a server again: it restarts in less, and people go on waiting no longer."""

    remote_token: float = 60.0
    """For the user's function that returns headers: it may ask another server for a token."""

    remote_close: float = 2.0
    """For the server to hear that the connection ends."""

    # ---- undo -------------------------------------------------------------------------------------------

    checkpoint_start: float = 1.0
    """A turn's start waits no longer than this for its checkpoint. Else it runs without one, and says so."""

    checkpoint_end: float = 60.0
    """For the checkpoint after a turn. Nobody waits that long: see `changes_settle`."""

    checkpoint_close: float = 5.0
    """For closing: a network disk that does not answer must not hold up the session's end."""

    changes_settle: float = 3.0
    """The end of a turn waits this long for its changes; after that they are shown when they are found."""

    changes_found: float = 60.0
    """For changes that are still being found, so that an undo misses none."""

    git_scan: float = 20.0
    """For a scan of a tree that is known: a second for 100,000 files; more on a sleeping network disk."""

    git_first_scan: float = 300.0
    """For the first scan, which reads every file. Nobody waits for it."""

    git_users: float = 5.0
    """For a question to the user's own repository, whose settings may be anything."""

    # ---- fan-out ----------------------------------------------------------------------------------------

    run_setup: float = 600.0
    """For the command `setup` of a run: it may install packages."""

    run_score: float = 600.0
    """For the score of a run: a test suite, or a judge's turn."""

    run_probe: float = 60.0
    """For a worker to say what it has, before the first prompt: it imports the package first."""

    scheduler_gone: float = 5.0
    """A cluster's scheduler that is not connected for so long is given up, and its runs are lost."""

    run_stop: float = 10.0
    """For runs to end at the interpreter's exit: an agent that ignores a cancel takes 5 s."""

    # ---- the kernel's tools -----------------------------------------------------------------------------

    tool_call: float = 45.0
    """No call lasts longer: some agents give up after 60 s, whatever progress they receive."""

    tool_progress: float = 5.0
    """Between two signs of life of a call: some agents give a call up after 60 s without one."""

    tool_own_call: float = 0.5
    """How long the agent's own tool call may come after the MCP call: they travel on two pipes."""

    tool_hello: float = 10.0
    """For a connection to prove its token: the proxy does so at once, on a loaded machine too."""

    tool_http_read: float = 30.0
    """For the head and the body of a request by HTTP."""

    tool_http_answer: float = 120.0
    """For an answer by HTTP: longer than any call lasts. A call that was cancelled has none."""

    run_busy_check: float = 0.3
    """After this a run must have begun, unless the user's code runs, as it does between a cell's waits."""

    run_busy: float = 5.0
    """A main thread that takes no job for so long does something that we do not know."""

    run_ignored: float = 5.0
    """Code that still runs so long after an interrupt ignores it."""

    run_drain: float = 2.0
    """For what child processes of a run have written to arrive."""

    run_tasks: float = 1.0
    """For tasks that a run leaves behind to end when they are cancelled."""

    asked_queue: float = 600.0
    """A prompt of another session waits this long for the turns before it: its agent waits with it."""

    asked_cancel: float = 6.0
    """For the end of a turn that another session asked for and cancels: longer than `cancel_grace`."""

    inspect: float = 10.0
    """For a look at a variable: a frame that another thread is changing may hold a lock."""

    # ---- pages and prompts ------------------------------------------------------------------------------

    page_answer: float = 5.0
    """For an answer of a page, and for each further part of a long one: pages take a few milliseconds."""

    page_hello: float = 10.0
    """The time that a page has to load the widget, from its creation, before it must answer."""

    page_save: float = 30.0
    """For requests that the page passes to its server: save and reload."""

    own_save: float = 3.0
    """For a page to learn that its own save has ended: until then the file looks as if others changed it."""

    page_run: float = 7 * 24 * 3600.0
    """For cells that the page executes: training a model may take days."""

    static_output: float = 10.0
    """For a page to load the first widget before a static output replaces it; a short turn may end sooner."""

    text_question: float = 3.0
    """How long to wait for a page before asking as text."""

    describe: float = 60.0
    """For all objects of a prompt: drawing a figure is slow, and plotly starts a browser for it."""

    picture_export: float = 30.0
    """For plotly's own export, which starts a browser and may hang."""

    cell_end: float = 20.0
    """For the running cell to end: the prompts behind this one wait, too."""

    completion: float = 3.0
    """For a completion: network folders and some objects' attributes are slow."""

    preview_fresh: float = 20.0
    """How long a preview of an object is used again: drawing a figure at each key would be slow."""

    cell_interrupt: float = 1.0
    """An interrupt this soon after the user's code has ended was meant for that code."""

    export: float = 60.0
    """To write a conversation as a file: long ones take seconds, and a function `redact` may be slow."""

    shown_as_queued: float = 0.3
    """A prompt that has not started by then is shown as queued; it may wait for the agent to restart."""

    undo_progress: float = 0.5
    """Between two progress messages of an undo of many files."""

    doctor_connect: float = 5.0
    """For the server of a remote agent to accept a connection, in a report."""

    doctor: float = 10.0
    """For all checks together: a network folder that does not respond must not block the report about it."""


_current = Timeouts()


def get() -> Timeouts:
    """Those of this process. Any thread; read it when a wait begins, nothing per chunk does."""
    return _current


def takes_fields_of(record: Callable[P, object]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """For a function that takes some fields of a record by name: mypy finds a misspelt one."""
    return lambda function: function


@takes_fields_of(Timeouts)
def replace(**fields: float) -> None:
    """Use other values from now on, in this process."""
    global _current
    _current = structs.replace(_current, **fields)


@takes_fields_of(Timeouts)
@contextmanager
def replaced(**fields: float) -> Iterator[None]:
    """Use other values for a while; at its end, those of its beginning."""
    global _current
    before = _current
    replace(**fields)
    try:
        yield
    finally:
        _current = before
