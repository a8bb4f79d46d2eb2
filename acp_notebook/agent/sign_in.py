"""Signing in to one agent: whoever is asked for it waits, chooses a method, and goes on.

Knows the order of things: a call fails, the ways are shown where somebody can be asked, one succeeds, the
call is made again. Knows no page, and no terminal. Lives on the loop thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from ..core import events as ev
from ..core.records import SignIn, SignInMethod
from ..core.requests import AuthMethod
from ..core.transcript import Transcript
from ..errors import AgentError, AuthenticationRequired, Error, SessionClosed, Timeout, UsageError
from ..wire import v1
from ..wire.jsonrpc import AUTH_REQUIRED
from .sign_in_scripts import SignInScripts
from .threads import on_a_thread

if TYPE_CHECKING:
    from .conversation import Conversation
    from .host import AgentHost

T = TypeVar("T")

SIGN_IN_S = 600.0
"""For a sign-in that the agent does itself: a person finds a page, a password and a second factor in it."""

LOOK_S = 0.5
"""Between looks whether a sign-in in a terminal has ended."""

STILL = "the agent still wants a sign-in"


class SignInFlow:
    """Signs in to one agent; calls that need it wait."""

    def __init__(self, host: AgentHost, preferred: str | None = None) -> None:
        self.preferred = preferred
        """The method to take without asking: the user's, or the one that worked before."""
        self._host = host
        self._now: SignIn | None = None
        self._passed = asyncio.Event()
        self._trying: tuple[str, asyncio.Task[None]] | None = None
        self._waiting: list[Conversation] = []
        self._leaving: list[tuple[Conversation | None, asyncio.Future[None]]] = []
        """Of each one who waits: resolved when that session is closed."""
        self._scripts = SignInScripts()

    # ---- a call that may need it ----------------------------------------------------------------

    async def through(self, attempt: Callable[[], Awaitable[T]], asker: Conversation | None) -> T:
        """Make the call; where the agent wants a sign-in first, see to that and make it again."""
        tries = 0
        while True:
            try:
                return await attempt()
            except AuthenticationRequired as wanted:
                await self.wanted(wanted, asker, tries)
                tries += 1

    async def wanted(self, error: AuthenticationRequired, asker: Conversation | None, tries: int) -> None:
        """Returns when somebody has signed in; raises if nobody can be asked to."""
        trouble = STILL if tries else None
        if self.preferred is not None and tries == 0:
            try:
                return await self.authenticate(self.preferred)
            except Error as failed:
                if not self._can_ask(asker):
                    raise
                trouble = str(failed)
        if not error.methods or not self._can_ask(asker):
            raise error
        await self._asked(asker, trouble)

    def _can_ask(self, asker: Conversation | None) -> bool:
        askers = self._host.conversations if asker is None else [asker]
        return any(it.shows_sign_in for it in askers)

    async def _asked(self, asker: Conversation | None, trouble: str | None) -> None:
        """Show the ways, and wait for one to work."""
        if self._now is None:
            self._passed.clear()
            methods = await on_a_thread(self._methods)
            self._now = SignIn(methods, error=trouble)
            self._host.background(self._watch())
        elif trouble is not None:
            self._now = replace(self._now, error=trouble)
        waiting = [asker] if asker is not None else []
        self._waiting += waiting
        status = [(it, it.read(_status)) for it in waiting]
        for it in waiting:
            it.introduce()
            it.apply(ev.StatusChanged("signed_out"))
        self._tell()
        try:
            await self._passed_unless_left(asker)
        finally:
            for it, before in status:
                self._waiting.remove(it)
                it.apply(ev.SignInChanged(None))
                if it.read(_status) == "signed_out":  # nothing else has become of it
                    it.apply(ev.StatusChanged(before))
            if not self._waiting:
                self._over()

    async def _passed_unless_left(self, asker: Conversation | None) -> None:
        passed = asyncio.ensure_future(self._passed.wait())
        mine = (asker, asyncio.get_running_loop().create_future())
        self._leaving.append(mine)
        try:
            waits: set[asyncio.Future[Any]] = {passed, mine[1]}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if mine[1].done():
                raise SessionClosed("the session was closed before anybody had signed in")
        finally:
            passed.cancel()
            self._leaving.remove(mine)

    def status(self, conversation: Conversation) -> str | None:
        """What it is while it waits for a sign-in; None: it does not."""
        return "signed_out" if conversation in self._waiting else None

    def left(self, *askers: Conversation | None) -> None:
        """These are closed: nobody waits in them any more."""
        for asker, left in self._leaving:
            if asker in askers and not left.done():
                left.set_result(None)

    # ---- signing in -----------------------------------------------------------------------------

    async def authenticate(self, id: str) -> None:
        """By a method that the agent carries out itself. A second call for the same one joins the first."""
        method = self._method(id)
        if method.type == "terminal":
            raise UsageError(
                f"{method.name!r} is done in a terminal: run this there, and try again:\n    "
                f"{self.command(method)}"
            )
        if self._trying is None:
            self._trying = (id, self._host.background(self._try(method)))
        elif self._trying[0] != id:
            other = self._method(self._trying[0]).name
            raise UsageError(f"the sign-in with {other!r} is under way; stop it first")
        try:
            await asyncio.shield(self._trying[1])
        except asyncio.CancelledError:
            if asyncio.current_task() is not None and asyncio.current_task().cancelling():  # type: ignore[union-attr]
                self.stop()
                raise
            raise Error("the sign-in was stopped") from None

    async def _try(self, method: AuthMethod) -> None:
        self._say(trying=method.id, error=None)
        trouble: str | None = "it was stopped"
        try:
            await self._host.recovery.revive()
            await self._host.connection.request(v1.authenticate(method.id), SIGN_IN_S)
            trouble = None
        except TimeoutError:
            trouble = f"{self._host.name} did not answer within {SIGN_IN_S:g} s"
            raise Timeout(f"{method.name}: {trouble}") from None
        except Error as error:
            trouble = str(error)
            raise
        finally:
            self._trying = None
            self._say(trying=None, error=trouble and f"{method.name}: {trouble}")
        self.preferred = method.id  # an agent that is started again is signed in again
        self.passed()

    def stop(self) -> None:
        """Give up the attempt that is under way."""
        if self._trying is not None:
            self._trying[1].cancel()

    def passed(self) -> None:
        """Somebody has signed in, here or elsewhere: what waited is tried again."""
        self._over()
        self._passed.set()

    async def logout(self) -> None:
        if not self._host.facts.capabilities.logout:
            raise UsageError(f"{self._host.name} does not offer to log out")
        await self._host.recovery.revive()
        await self._host.request(v1.logout())
        self.preferred = None

    # ---- in a terminal --------------------------------------------------------------------------

    async def _watch(self) -> None:
        """As long as a sign-in is wanted, see whether one in a terminal has begun or ended."""
        while self._now is not None and not self._host.closed:
            await on_a_thread(self._scripts.serve)
            for name, code in (await on_a_thread(self._scripts.ended)).items():
                if code == 0:
                    self.passed()
                else:
                    method = self._host.facts.auth_methods[int(name.removeprefix("sign-in-"))]
                    self._say(error=f"{method.name}: the command ended with exit code {code}")
            await asyncio.sleep(LOOK_S)

    def command(self, method: AuthMethod) -> str:
        """The agent's own command with the method's arguments, as people read it."""
        return self._host.launch.redactor.text(shlex.join([*self._host.launch.argv, *method.args]))

    def _methods(self) -> tuple[SignInMethod, ...]:
        return tuple(self._shown(*it) for it in enumerate(self._host.facts.auth_methods))

    def _shown(self, number: int, method: AuthMethod) -> SignInMethod:
        text = self._host.launch.redactor.text
        shown = SignInMethod(
            method.id, text(method.name), method.description and text(method.description), method.type
        )
        launch = self._host.launch
        if method.type != "terminal" or not launch.argv:
            return shown
        command = self.command(method)
        with contextlib.suppress(OSError):  # no place for it: the command itself must do
            run = self._scripts.write(
                f"sign-in-{number}",
                [*launch.argv, *method.args],
                launch.cwd,
                {**launch.env, **method.env},
            )
            return replace(shown, command=command, run=run)
        return replace(shown, command=command, run=command)

    # ---- what is shown --------------------------------------------------------------------------

    def explained(self, error: AgentError) -> AgentError:
        """The agent's error; where it wants a sign-in, with the ways to do it and the calls to make."""
        if error.code != AUTH_REQUIRED or isinstance(error, AuthenticationRequired):
            return error
        methods = self._host.facts.auth_methods
        ways = "".join(f"\n  {self._way(it)}" for it in methods)
        if not methods:
            ways = f"\n  It names no way to do that: {error}"
        text = f"{self._host.name} wants you to sign in first.{ways}"
        return AuthenticationRequired(text, code=error.code, data=error.data, methods=methods)

    def _way(self, method: AuthMethod) -> str:
        about = method.name + (f" ({method.description})" if method.description else "")
        if method.type == "terminal":
            return f"{about}: run this in a terminal, then try again:\n      {self.command(method)}"
        return f"{about}: acp.connect(…, auth={method.id!r}), or session.authenticate({method.id!r})"

    def _method(self, id: str) -> AuthMethod:
        for method in self._host.facts.auth_methods:
            if method.id == id:
                return method
        known = ", ".join(repr(it.id) for it in self._host.facts.auth_methods)
        raise UsageError(f"{self._host.name} has no sign-in method {id!r}; it has {known or 'none'}")

    def _say(self, **fields: str | None) -> None:
        if self._now is not None:
            self._now = replace(self._now, **fields)
            self._tell()

    def _tell(self) -> None:
        for conversation in {*self._waiting, *self._host.conversations}:
            conversation.apply(ev.SignInChanged(self._now))

    def _over(self) -> None:
        if self._now is not None:
            self._now = None
            self._tell()

    def close(self) -> None:
        self.left(*(asker for asker, _ in self._leaving))
        self._scripts.clear()


def _status(transcript: Transcript) -> str:
    return transcript.snapshot().status
