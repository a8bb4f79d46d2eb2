"""Who can answer in a session: shared by permission questions, elicitations and sign-ins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Audience:
    """Knows whether somebody can answer questions in one session. Runs on the loop thread."""

    def __init__(self, timeout: float | None = None) -> None:
        self.timeout = timeout
        """How long to wait for an answer, in seconds; None: without limit."""
        self.has_page = False
        """Whether a page has connected, where the user can click answers."""
        self._sees_questions = False
        self._blocked = 0
        self.can_sign_in = False
        """Whether somebody sees sign-in requests and can choose a method."""

    @contextmanager
    def page_blocked(self) -> Iterator[None]:
        """Nobody can answer during this block, because the calling code keeps clicks from being delivered."""
        self._blocked += 1
        try:
            yield
        finally:
            self._blocked -= 1

    @property
    def can_answer(self) -> bool:
        """Whether somebody sees questions, in a page or through `input()`, and can answer now."""
        return self._sees_questions and not self._blocked

    @can_answer.setter
    def can_answer(self, can: bool) -> None:
        self._sees_questions = can

    def page_came(self) -> None:
        """A page now shows the session."""
        self.has_page = True
        self.page_expected()

    def page_expected(self) -> None:
        """The calling code runs in a notebook with a page."""
        self.can_answer = self.can_sign_in = True

    def text_expected(self) -> None:
        """The calling code runs where `input()` reaches a user."""
        self.can_answer = True
