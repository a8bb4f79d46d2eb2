"""The answers to a permission question, in a fixed order and with fixed keys, by their meaning.

Pure. Agents order and name their options as they like, but users learn one order by heart. An option whose
name does not clearly say what its kind does gets a label that does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .policy import ALLOWING
from .records import Answer, Offer, Option
from .visible import shown

REJECT = "acp:reject"
"""The answer "reject" if the agent offers no such option: the agent gets the outcome "cancelled"."""

NAME_CHARS = 120
"""How much of an option's name fits on a button."""

KEYS = {"allow_once": "1", "reject": "2", "allow_session": "3", "allow_always": "4"}
"""The two answers to what is shown come first, and those that allow more follow."""

_MEANINGS = {
    "allow_once": "Allow once",
    "allow_always": "Always allow",
    "reject_once": "Reject",
    "reject_always": "Always reject",
}
_ALLOWS = frozenset(
    {"allow", "yes", "approve", "accept", "ok", "okay", "proceed", "run", "confirm", "continue", "grant"}
)
_REJECTS = frozenset(
    {"reject", "deny", "no", "cancel", "refuse", "decline", "never", "stop", "abort", "don't", "dont", "not"}
)
_LASTS = frozenset(
    {"always", "session", "remember", "again", "every", "all", "forever", "bypass", "auto", "trust"}
)


def unambiguous(options: Sequence[Option]) -> tuple[Option, ...]:
    """The options whose id means one thing only.

    Without those that share their id with another option or with our own "reject", and those that answer with
    the policy word "allow", but do not allow.
    """
    distinct = tuple(dict.fromkeys(options))
    ids = [it.id for it in distinct]
    return tuple(
        it
        for it in distinct
        if ids.count(it.id) == 1 and it.id != REJECT and not (it.id == "allow" and it.kind not in ALLOWING)
    )


def answers(
    options: Sequence[Option], offers: Sequence[Offer], agent: str = "", lasts: str | None = None
) -> tuple[Answer, ...]:
    """The possible answers to a question. `lasts`: how long the agent itself remembers an "always"."""
    once = _first(options, "allow_once")
    reject = _first(options, "reject_once") or _first(options, "reject_always")
    session = next((it for it in offers if it.scope == "session"), None)
    always = next((it for it in offers if it.scope != "session"), None)
    found = [
        None if once is None else _option(once, "allow_once"),
        Answer(REJECT, "Reject", "reject") if reject is None else _option(reject, "reject"),
        None if session is None else Answer(session.id, session.name, "allow_session"),
        None if always is None else Answer(always.id, always.name, "allow_always"),
    ]
    given = [it for it in found if it is not None]
    others = [it for it in options if it not in (once, reject)]
    rest = [_other(it, agent, lasts, session) for it in others]
    return _with_keys([*given, *rest])


def _with_keys(found: Sequence[Answer]) -> tuple[Answer, ...]:
    """Assign fixed keys by meaning; the agent's own "always" gets key 4 if we offer none."""
    taken: set[str] = set()
    keyed: list[Answer] = []
    free = iter("56789")
    own_always = any(it.meaning == "allow_always" for it in found)
    for it in found:
        key = KEYS.get(it.meaning)
        if key is None and it.meaning == "agent_always" and not own_always and "4" not in taken:
            key = "4"
        key = key or next(free, None)
        taken.add(key or "")
        keyed.append(Answer(it.id, it.name, it.meaning, key, it.note))
    return tuple(sorted(keyed, key=lambda it: it.key or "without"))


def _first(options: Sequence[Option], kind: str) -> Option | None:
    return next((it for it in options if it.kind == kind), None)


def _option(option: Option, meaning: str) -> Answer:
    name, note = label(option)
    return Answer(option.id, name, meaning, note=note)


def _other(option: Option, agent: str, lasts: str | None, session: Offer | None) -> Answer:
    """The agent will not ask again, so that its "always" is remembered here, too: it says as what."""
    name, note = label(option)
    if option.kind != "allow_always":
        return Answer(option.id, name, "other", note=note)
    told = always_means(agent, lasts, None if session is None else session.name)
    return Answer(option.id, name, "agent_always", note="; ".join(filter(None, (note, told))))


def always_means(agent: str, lasts: str | None, offer: str | None) -> str:
    """What the agent's own "always" leads to: who remembers it, for how long, and what it counts as here."""
    remembers = f"{agent or 'the agent'} itself remembers this, {lasts or 'for as long as it decides'}"
    return remembers if offer is None else f"{remembers}; here it counts as “{offer}”"


def label(option: Option) -> tuple[str, str | None]:
    """The button's text, and a note with the agent's name for the option if that is misleading."""
    meaning = _MEANINGS.get(option.kind)
    if meaning is None:
        kind = shown(option.kind, chars=NAME_CHARS)
        return shown(option.name, chars=NAME_CHARS), (
            f"an option of the unknown kind {kind!r}: it does not allow anything here"
        )
    if _says(option.name, option.kind):
        return shown(option.name, chars=NAME_CHARS), None
    return meaning, f"the agent calls this {shown(option.name, chars=NAME_CHARS)!r}"


def _says(name: str, kind: str) -> bool:
    """Whether the name clearly says what the kind does."""
    if not name.isascii():
        return False
    words = set(re.findall(r"[a-z']+", name.lower().replace("don't ask", "").replace("do not ask", "")))
    action, lasting = kind.split("_", 1)
    right, wrong = (_ALLOWS, _REJECTS) if action == "allow" else (_REJECTS, _ALLOWS)
    if words & wrong or not words & right:
        return False
    says_lasting = bool(words & _LASTS) or "don't ask" in name.lower() or "do not ask" in name.lower()
    return says_lasting == (lasting == "always")
