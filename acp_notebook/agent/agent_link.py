"""The link to one agent: connects, initializes and sends requests. Knows no session. Runs on the loop
thread."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Sequence

from msgspec import Raw

from .. import timeouts
from .._version import __version__
from ..core.events import Event
from ..core.requests import AgentFacts, AuthMethod
from ..errors import (
    AgentDied,
    AgentError,
    AgentNotFound,
    AuthenticationRequired,
    ConnectionLost,
    ProtocolError,
    SessionClosed,
    Timeout,
)
from ..log import logger, suppressed
from ..wire import v1
from ..wire.jsonrpc import AUTH_REQUIRED
from .agent_state import AgentState
from .aside_reader import AsideReader
from .backends import Backends
from .connection import Connection, Handler
from .known_agents import start_hints
from .known_agents.keys import ENV_VAR, keys_of
from .launch import Launch, SessionOptions
from .transport import LinkChange, Transport

_log = logger(__name__)

STRAY_SHOWN = 20
"""How many stdout lines that are not messages an error shows."""


class AgentLink(AgentState):
    """Connects to one agent, reconnects after a restart, and sends it requests."""

    def __init__(self, launch: Launch, options: SessionOptions, backends: Backends) -> None:
        super().__init__(
            launch.name,
            AgentFacts(v1.VERSION),
            launch.quirks(),
            identity=launch.identity,
            redactor=launch.redactor,
            tap=backends.tap,
        )
        self.launch = launch
        self.starting = asyncio.Lock()
        """Held while the agent starts and its sessions are reopened."""
        self._options = options
        self._backends = backends
        self._transport: Transport | None = None
        self._connection: Connection | None = None
        self._initialized = False
        self.ready_since = 0.0
        """When it last answered `initialize`, on the loop's clock."""
        self.ready_in = 0.0
        """How many seconds that took, with the connection."""
        self.on_link_change: Callable[[LinkChange], None] = lambda change: None
        """Receives the interruptions that a transport overcomes by itself."""
        self._interruption: str | None = None
        self._reached = asyncio.Event()
        self._reached.set()
        self._lossy: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        """By session: set when messages of it were lost on this connection; more of them may be."""

    @property
    def interruption(self) -> str | None:
        """Why the transport does not reach the agent at the moment; None while it does, or has ended."""
        return self._interruption

    @interruption.setter
    def interruption(self, why: str | None) -> None:
        self._interruption = why
        if why is None:
            self._reached.set()
        else:
            self._reached.clear()

    async def interruption_over(self) -> None:
        """Wait until the transport reaches the agent again, or the connection has ended."""
        await self._reached.wait()

    @property
    def ready(self) -> bool:
        """Whether the agent runs and has answered `initialize`."""
        return self._initialized and self.connection.error is None

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection that has not ended, even if it is interrupted at the moment."""
        return not self.closed and self._connection is not None and self._connection.error is None

    @property
    def was_ready(self) -> bool:
        """Whether the agent has answered `initialize` on this connection, even if it has ended since."""
        return self._initialized

    @property
    def wire(self) -> str:
        """What the connection speaks, as exactly as the transport knows it."""
        return getattr(self._transport, "wire", "") or self.launch.reach.wire

    @property
    def pid(self) -> int | None:
        return getattr(self._transport, "pid", None)

    def stderr_text(self) -> str:
        text = self._transport.stderr_text() if self._transport is not None else ""
        return self.redactor.text(text)

    # ---- start --------------------------------------------------------------------------------

    async def connect(self, handler: Handler) -> None:
        """Start and initialize the agent. `handler` handles its messages."""
        began = asyncio.get_running_loop().time()
        transport = self._backends.transport()
        if (listen := getattr(transport, "listen", None)) is not None:
            listen(self._link_changed)
        if self.ready_since and (again := getattr(transport, "connects_again", None)) is not None:
            again()
        connection = Connection(transport, handler, self.tap, self.redactor, self.launch.reach)
        try:
            connection.start()
        except OSError as error:
            raise AgentNotFound(f"{self.name} cannot be started: {error}") from None
        self._transport, self._connection, self._initialized = transport, connection, False
        self.interruption = None
        self._lossy.clear()
        try:
            await self._initialize()
            self._initialized = True
            self.ready_since = asyncio.get_running_loop().time()
            self.ready_in = self.ready_since - began
        except v1.Malformed as error:
            await connection.close()
            raise ProtocolError(f"{self.name}'s initialize response cannot be read: {error}") from None
        except AgentDied as died:
            await connection.close()
            raise self._died_at_start(died) from None
        except Timeout as late:
            explained = self._late_at_start(late)
            await connection.close()
            raise explained from None
        except BaseException:
            await connection.close()
            raise

    def _link_changed(self, change: LinkChange) -> None:
        if self.tap is not None:
            self.tap.link_changed(change)
        self.on_link_change(change)

    def _introduction(self) -> v1.Call:
        return v1.initialize(
            self.launch.capabilities(self._options),
            name="acp_notebook",
            title="acp_notebook",
            version=__version__,
        )

    async def read_aside(self, call: v1.Call, session: str) -> list[Event]:
        """The updates of a session that this request brings, read on a connection of its own.

        None at all if some of them may be lost."""
        if (recorded := self._backends.history) is not None:
            return recorded(session)
        reader = AsideReader(session)
        transport = self._backends.transport()
        if (listen := getattr(transport, "listen", None)) is not None:
            listen(reader.link_changed)
        tap = self.tap.aside(session) if self.tap is not None else None
        connection = Connection(transport, reader, tap, self.redactor, self.launch.reach)
        is_complete = False
        try:
            connection.start()
            await connection.request(self._introduction(), self.launch.start_timeout)
            await connection.request(call, self.launch.start_timeout)
            await self.request_history(connection, session)
            await reader.quiet()
            is_complete = not reader.has_gap
            return reader.events if is_complete else []
        finally:
            if tap is not None:
                tap.finish(is_complete=is_complete)
            await connection.close()

    def forget(self, session: str) -> None:
        """Receive nothing more of a session that is closed here: the agent may not know how to close it."""
        if (forget := getattr(self._transport, "forget", None)) is not None:
            forget(session)

    async def request_history(self, connection: Connection, session: str) -> None:
        """Have the agent send the history of a session that it has just loaded, if it waits for that."""
        if (method := self.quirks.history_method) is not None:
            with suppressed(_log, AgentError, TimeoutError):  # the session is open all the same
                await connection.request(v1.of_session(method, session), self.launch.start_timeout)

    async def _initialize(self) -> None:
        facts = v1.read_initialize(await self.request(self._introduction()))
        self.quirks = self.launch.quirks(facts)
        self.redactor.learn_from_agent(it for way in facts.auth_methods for it in way.env.values())
        self.facts = facts.cleaned(self.redactor.text, self.redactor.plain)
        if self.facts.protocol_version != v1.VERSION:
            raise ProtocolError(
                f"{self.name} speaks version {self.facts.protocol_version} of the protocol, this client "
                f"version {v1.VERSION}; another version of the agent, or of acp_notebook, may match"
            )

    def _died_at_start(self, died: AgentDied) -> AgentDied:
        """Add what the program printed: it may not be an agent, or need other arguments."""
        if not self.launch.reach.is_ours:
            return died.reworded(self.redactor.text(f"{self.name}: {died}"))
        hint = "it ended before it answered initialize: is it an ACP agent, and are its arguments right?"
        known = start_hints.hint(f"{died}\n{died.stderr}")
        text = "\n".join([str(died), *self._printed(), f"hint: {known}" if known else hint])
        return AgentDied(
            self.redactor.text(text),
            exit_code=died.exit_code,
            stderr=self.redactor.text(died.stderr),
        )

    def _late_at_start(self, late: Timeout) -> Timeout:
        """Add what the program printed: it may not be an agent and wait for terminal input."""
        if (stage := getattr(self._transport, "stage", None)) is not None:
            return Timeout(f"{late}. It was still {stage}.")
        explanation = start_hints.explanation(self.stderr_text())
        lines = filter(None, [str(late), *self._printed(), explanation])
        return Timeout(self.redactor.text("\n".join(lines)))

    def _printed(self) -> list[str]:
        lines = [re.sub(r" \(not JSON: .*\)$", "", line) for line in self.stray][-STRAY_SHOWN:]
        return ["it printed on stdout:", *(f"  {it}" for it in lines)] if lines else []

    # ---- requests -----------------------------------------------------------------------------

    @property
    def connection(self) -> Connection:
        if self.closed or self._connection is None:
            raise SessionClosed("the agent was closed; acp.connect(...) opens another session")
        return self._connection

    async def request(self, call: v1.Call) -> Raw:
        """Send a request that an agent answers quickly. Waits at most for the start timeout."""
        limit = self.launch.start_timeout
        try:
            return await self.connection.request(call, limit)
        except TimeoutError:
            raise Timeout(
                f"{self.name} did not answer {call[0]} within {limit:g} s; start_timeout= allows it more"
            ) from None
        except AgentError as error:
            raise self.explain(error) from None

    async def change(self, session: str, call: v1.Call) -> Raw:
        """Have the agent change a setting of a session.

        It is asked once more if its answer may be lost: the same setting twice does no harm."""
        for _ in range(2):
            asking, losing = self.background(self.request(call)), self.background(self._losing(session))
            try:
                await asyncio.wait({asking, losing}, return_when=asyncio.FIRST_COMPLETED)
                if asking.done():
                    return asking.result()
            finally:
                asking.cancel()
                losing.cancel()
        raise ConnectionLost(
            f"the connection to {self.name} was interrupted, and its answer to {call[0]} did not arrive: "
            "it is unknown whether the setting has changed. Set it again",
            may_pass=True,
        )

    async def _losing(self, session: str) -> None:
        """Wait until an answer for this session has probably been lost."""
        await self._lossy[session].wait()
        await self.interruption_over()
        await asyncio.sleep(timeouts.get().remote_setting)

    def messages_lost(self, session: str) -> None:
        """Messages of this session may be lost, and with them the answers to open requests."""
        self._lossy[session].set()

    def notify(self, call: v1.Call) -> None:
        if self._connection is not None:
            self._connection.notify(call)

    # ---- sign-in ------------------------------------------------------------------------------

    def explain(self, error: AgentError) -> AgentError:
        """The agent's error; if it requires a sign-in, with the methods and how to use them."""
        if error.code != AUTH_REQUIRED or isinstance(error, AuthenticationRequired):
            return error
        methods = self.facts.auth_methods
        ways = "".join(f"\n  {self._way(it)}" for it in methods)
        if (names := self._undeclared_keys()) and self.launch.argv:
            ways += f"\n  Its key: {_with_keys(names)}"
        if not methods:
            ways = f"\n  It offers no sign-in method: {error}"
        text = f"{self.name} requires you to sign in first.{ways}"
        return AuthenticationRequired(text, code=error.code, data=error.data, methods=methods)

    def _undeclared_keys(self) -> list[str]:
        """The variables that are known of the agent, without those that it names itself."""
        said = " ".join(f"{it.description} {it.keys}" for it in self.facts.auth_methods)
        return [it for it in keys_of((self.name, *self.launch.argv)) if it not in said]

    def _way(self, method: AuthMethod) -> str:
        about = method.name + (f" ({method.description})" if method.description else "")
        if method.type == ENV_VAR and not self.launch.reach.is_ours:
            return f"{about}: set {' or '.join(name for name, _ in method.keys)} where its server is started"
        if method.type == ENV_VAR:
            return f"{about}: {_with_keys([name for name, _ in method.keys])}"
        if method.type == "terminal":
            return f"{about}: run this in a terminal, then try again:\n      {self.sign_in_command(method)}"
        return f"{about}: acp.connect(…, auth={method.id!r}), or session.authenticate({method.id!r})"

    def sign_in_command(self, method: AuthMethod) -> str:
        """The agent's command with the method's arguments, for the user."""
        return self.redactor.text(shlex.join([*self.launch.argv, *method.args]))

    # ---- end ----------------------------------------------------------------------------------

    async def disconnect(self) -> None:
        """End the agent and everything it started."""
        if self._connection is not None:
            await self._connection.close()

    def kill_now(self) -> None:
        """Kill the process at once, as the last resort. Safe from any thread."""
        kill_now = getattr(self._transport, "kill_now", None)
        if kill_now is not None:
            kill_now()


def _with_keys(names: Sequence[str]) -> str:
    return " or ".join(f'acp.connect(…, env={{"{name}": …}})' for name in names)
