"""Signing in to one agent.

A call fails because the agent requires a sign-in; the methods are shown where somebody can choose one; after
one succeeds, the call is repeated. Knows no page and no terminal. Runs on the loop thread.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Coroutine
from typing import Any, TypeVar

from msgspec.structs import replace

from .. import timeouts
from ..core import events as ev
from ..core.records import SignIn, SignInKey, SignInMethod
from ..core.requests import AuthMethod
from ..core.transcript import Transcript
from ..core.variables import can_hold_key
from ..errors import AgentError, AuthenticationRequired, Error, SessionClosed, Timeout, UsageError
from ..log import logger, suppressed
from ..wire import v1
from ..wire.jsonrpc import METHOD_NOT_FOUND
from .agent_link import AgentLink
from .known_agents import keys
from .known_agents.keys import ENV_VAR
from .session_state import SessionState
from .sign_in_scripts import SignInScripts
from .threads import on_a_thread

_log = logger(__name__)

T = TypeVar("T")

LOOK_S = 0.5
"""Interval of checking whether a sign-in in a terminal has ended."""

STILL = "the agent still requires a sign-in"

KEY = "key:"
"""What the id of an attempt with a key begins with: a method may have the name of the key."""

SHORTEST_KEY = 8
"""Characters; a shorter text is not a key, and could not be removed from what the agent writes."""


class SignInFlow:
    """Signs in to one agent while the calls that need it wait."""

    def __init__(
        self,
        agent: AgentLink,
        sessions: Callable[[], Collection[SessionState]],
        revive: Callable[[], Awaitable[None]],
        restart: Callable[[str], Awaitable[object]],
    ) -> None:
        self.preferred = agent.launch.auth
        """The method to use without asking: the user's choice, or the one that worked before."""
        self._agent = agent
        self._sessions = sessions
        """Returns the open sessions."""
        self._revive = revive
        self._restart = restart
        """Restarts the agent even if it is running, so that it gets or loses a key; takes the reason."""
        self._now: SignIn | None = None
        self._passed = asyncio.Event()
        self._trying: tuple[str, asyncio.Task[None]] | None = None
        self._waiting: list[SessionState] = []
        self._leaving: list[tuple[SessionState | None, asyncio.Future[None]]] = []
        """For each waiting session, a future that is resolved when the session closes."""
        self._scripts = SignInScripts()

    # ---- calls that may require a sign-in -------------------------------------------------------

    async def through(self, attempt: Callable[[], Awaitable[T]], asker: SessionState | None) -> T:
        """Call `attempt`; if the agent requires a sign-in, wait for it and call again."""
        tries = 0
        while True:
            try:
                return await attempt()
            except AuthenticationRequired as wanted:
                await self.wait_signed_in(wanted, asker, tries)
                tries += 1

    async def wait_signed_in(
        self, error: AuthenticationRequired, asker: SessionState | None, tries: int
    ) -> None:
        """Wait until somebody has signed in. Raises an error if nobody can."""
        trouble = STILL if tries else None
        if self.preferred is not None and tries == 0:
            try:
                return await self.authenticate(self.preferred)
            except Error as failed:
                if not self._can_ask(asker):
                    raise
                trouble = str(failed)
        if not (error.methods or self._keys()) or not self._can_ask(asker):
            raise error
        await self._ask(asker, trouble)

    def _can_ask(self, asker: SessionState | None) -> bool:
        askers = self._sessions() if asker is None else [asker]
        return any(it.audience.can_sign_in for it in askers)

    async def _ask(self, asker: SessionState | None, trouble: str | None) -> None:
        """Show the methods and wait until one succeeds."""
        if self._now is None:
            self._passed.clear()
            methods = await on_a_thread(self._methods)
            about = keys.sign_in_of(self._command) or None
            self._now = SignIn(methods, error=trouble, keys=self._keys(), about=about)
            self._agent.background(self._watch())
        elif trouble is not None:
            self._now = replace(self._now, error=trouble)
        waiting = [asker] if asker is not None else []
        self._waiting += waiting
        status = [(it, it.read(_status)) for it in waiting]
        for it in waiting:
            it.introduce()
            it.apply(ev.StatusChanged("signed_out"))
        self._publish()
        try:
            await self._wait_passed(asker)
        finally:
            for it, before in status:
                self._waiting.remove(it)
                it.apply(ev.SignInChanged(None))
                if it.read(_status) == "signed_out":  # nothing else has changed it
                    it.apply(ev.StatusChanged(before))
            if not self._waiting:
                self._clear()

    async def _wait_passed(self, asker: SessionState | None) -> None:
        """Wait for the sign-in. Raises SessionClosed if the session closes first."""
        passed = asyncio.ensure_future(self._passed.wait())
        mine = (asker, asyncio.get_running_loop().create_future())
        self._leaving.append(mine)
        try:
            waits: set[asyncio.Future[Any]] = {passed, mine[1]}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if mine[1].done():
                raise SessionClosed("the session was closed before anyone signed in")
        finally:
            passed.cancel()
            self._leaving.remove(mine)

    def status(self, session: SessionState) -> str | None:
        """The status of a session that waits for a sign-in, or None if it does not wait."""
        return "signed_out" if session in self._waiting else None

    def on_closed(self, *askers: SessionState | None) -> None:
        """End the waits of these closed sessions."""
        for asker, left in self._leaving:
            if asker in askers and not left.done():
                left.set_result(None)

    # ---- signing in -----------------------------------------------------------------------------

    async def authenticate(self, id: str) -> None:
        """Sign in with a method that the agent performs. A second call for the same one joins the first."""
        method = self._method(id)
        if method.type == "terminal":
            raise UsageError(
                f"{method.name!r} needs a terminal: run this command there, then try again:\n    "
                f"{self._agent.sign_in_command(method)}"
            )
        await self._run(id, lambda: self._try(method))

    async def _run(self, id: str, attempt: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for an attempt to sign in, and begin it unless it has begun; only one can be in progress."""
        if self._trying is None:
            self._trying = (id, self._agent.background(attempt()))
        elif self._trying[0] != id:
            raise self._busy(self._trying[0])
        try:
            await asyncio.shield(self._trying[1])
        except asyncio.CancelledError:
            if asyncio.current_task() is not None and asyncio.current_task().cancelling():  # type: ignore[union-attr]
                self.stop()
                raise
            raise Error("the sign-in was stopped") from None

    def _busy(self, id: str) -> UsageError:
        known = {it.id: it.name for it in self._agent.facts.auth_methods}
        return UsageError(
            f"the sign-in with {known.get(id, id.removeprefix(KEY))!r} is in progress; stop it first"
        )

    async def _try(self, method: AuthMethod) -> None:
        self._update(trying=method.id, error=None)
        trouble: str | None = "it was stopped"
        try:
            await self._revive()
            await self._agent.connection.request(v1.authenticate(method.id), timeouts.get().sign_in)
            trouble = None
        except TimeoutError:
            trouble = f"{self._agent.name} did not answer within {timeouts.get().sign_in:g} s"
            raise Timeout(f"{method.name}: {trouble}") from None
        except Error as error:
            trouble = self._way_on(error)
            raise
        finally:
            self._trying = None
            self._update(trying=None, error=trouble and f"{method.name}: {trouble}")
        self.preferred = method.id  # after a restart, sign in the same way
        self.passed()

    def _way_on(self, error: Error) -> str:
        """What to tell the user about a failed attempt: some agents name methods that they do not have."""
        absent = isinstance(error, AgentError) and error.code == METHOD_NOT_FOUND
        if not absent and not re.search(r"not (?:yet )?(?:implemented|supported)", str(error), re.IGNORECASE):
            return str(error)
        key = ", or type a key here" if self._keys() else ""
        return (
            f"{self._agent.name} cannot sign in from here. Sign in as its description says, in a terminal or "
            f"in the agent's own program, and press Try again{key}."
        )

    # ---- with a key -----------------------------------------------------------------------------

    async def use_key(self, name: str, key: str) -> None:
        """Restart the agent with this key as an environment variable, and repeat the waiting calls.

        The key is kept in memory, for this agent, and removed from everything that is shown or stored.
        """
        if self._now is None:
            raise UsageError(f"{self._agent.name} is not waiting for a key")
        known = [it.name for it in self._now.keys]
        if name not in known:
            raise UsageError(f"{self._agent.name} does not sign in with {name!r}")
        key = key.strip()
        if len(key) < SHORTEST_KEY:
            raise UsageError(f"this is too short for a key: {name} has at least {SHORTEST_KEY} characters")
        if not key.isprintable():
            raise UsageError("this contains characters that no key has: copy it again")
        self._agent.redactor.learn([key])  # before anybody else has it
        if self._trying is not None:  # perhaps with another key of this name
            raise self._busy(self._trying[0])
        await self._run(f"{KEY}{name}", lambda: self._try_key(name, key))

    async def _try_key(self, name: str, key: str) -> None:
        self._update(trying=name, error=None)
        trouble: str | None = "it was stopped"
        try:
            self._agent.launch.keys[name] = key
            await self._restart("it was given a key")
            await self._declare_key(name)
            trouble = None
        except Error as error:
            trouble = str(error)
            raise
        finally:
            self._trying = None
            if trouble is not None:
                self._agent.launch.keys.pop(name, None)
            self._update(trying=None, error=trouble and self._agent.redactor.text(f"{name}: {trouble}"))
        self.passed()

    async def _declare_key(self, name: str) -> None:
        """Call `authenticate` for the method that declares the key; some agents expect it."""
        for method in self._agent.facts.auth_methods:
            if method.type == ENV_VAR and name in [it for it, _ in method.keys]:
                with suppressed(_log, Error, TimeoutError):  # the repeated calls show whether the key is good
                    await self._agent.request(v1.authenticate(method.id))
                return

    @property
    def _command(self) -> tuple[str, ...]:
        return (self._agent.name, *self._agent.launch.argv)

    def _keys(self) -> tuple[SignInKey, ...]:
        """The keys that the agent declares, and those that are known of it."""
        text = self._agent.redactor.text
        found = {
            name: SignInKey(name, label and text(label))
            for method in self._agent.facts.auth_methods
            if method.type == ENV_VAR
            for name, label in method.keys
            if can_hold_key(name)
        }
        if self._agent.launch.argv:
            known = {name: SignInKey(name) for name in keys.keys_of(self._command)}
            return tuple({**known, **found}.values())
        return ()

    def stop(self) -> None:
        """Cancel the sign-in in progress."""
        if self._trying is not None:
            self._trying[1].cancel()

    def passed(self) -> None:
        """Somebody has signed in, here or elsewhere: repeat the waiting calls."""
        self._clear()
        self._passed.set()

    async def logout(self) -> None:
        """Sign out. An agent that was given a key is restarted without it."""
        if not self._agent.facts.capabilities.logout:
            raise UsageError(f"{self._agent.name} does not offer to log out")
        await self._revive()
        await self._agent.request(v1.logout())
        self.preferred = None
        if self._agent.launch.keys:
            self._agent.launch.keys.clear()
            await self._restart("it had a key of the account that was signed out")

    # ---- in a terminal --------------------------------------------------------------------------

    async def _watch(self) -> None:
        """While a sign-in is required, check whether one in a terminal has started or ended."""
        while self._now is not None and not self._agent.closed:
            await on_a_thread(self._scripts.serve)
            for name, code in (await on_a_thread(self._scripts.ended)).items():
                if code == 0:
                    self.passed()
                else:
                    method = self._agent.facts.auth_methods[int(name.removeprefix("sign-in-"))]
                    self._update(error=f"{method.name}: the command ended with exit code {code}")
            await asyncio.sleep(LOOK_S)

    def _methods(self) -> tuple[SignInMethod, ...]:
        methods = enumerate(self._agent.facts.auth_methods)
        return tuple(self._shown(*it) for it in methods if it[1].type != ENV_VAR)

    def _shown(self, number: int, method: AuthMethod) -> SignInMethod:
        text = self._agent.redactor.text
        shown = SignInMethod(
            method.id, text(method.name), method.description and text(method.description), method.type
        )
        launch = self._agent.launch
        if method.type != "terminal" or not launch.argv:
            return shown
        command = self._agent.sign_in_command(method)
        with suppressed(_log, OSError):  # without a script, show the command itself
            run = self._scripts.write(
                f"sign-in-{number}",
                [*launch.argv, *method.args],
                launch.cwd,
                {**launch.env, **method.env},
            )
            return replace(shown, command=command, run=run)
        return replace(shown, command=command, run=command)

    # ---- showing the state ----------------------------------------------------------------------

    def _method(self, id: str) -> AuthMethod:
        for method in self._agent.facts.auth_methods:
            if method.id == id:
                return method
        known = ", ".join(repr(it.id) for it in self._agent.facts.auth_methods)
        raise UsageError(f"{self._agent.name} has no sign-in method {id!r}; it has {known or 'none'}")

    def _update(self, **fields: str | None) -> None:
        if self._now is not None:
            self._now = replace(self._now, **fields)
            self._publish()

    def _publish(self) -> None:
        for session in {*self._waiting, *self._sessions()}:
            session.apply(ev.SignInChanged(self._now))

    def _clear(self) -> None:
        if self._now is not None:
            self._now = None
            self._publish()

    def close(self) -> None:
        self.on_closed(*(asker for asker, _ in self._leaving))
        self._scripts.clear()


def _status(transcript: Transcript) -> str:
    return transcript.header().status
