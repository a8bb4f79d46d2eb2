"""Compares requests and responses of a replay with the recorded ones, and describes differences.

Pure. Knows which requests depend on the client's machine and version and are not compared. Users can pass
their own function to match prompts.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable
from typing import Any, Literal

from ...core.redaction import REDACTED
from .replay_script import OPENING, params

Match = Literal["exact", "text"] | Callable[[str, str], bool]
"""How to match prompts: exactly; by their text, ignoring images and data; or with a function of the recorded
and the current text."""

UNCOMPARED = ("initialize", "session/list", *OPENING)
"""Requests that describe the client, which may run on another machine and in another version."""

JUDGED = ("fs/write_text_file", "terminal/create")
"""Agent requests that need permission."""

CANCELLED = -32800
"""The error code of a cancelled request. Whether the cancellation arrived in time depends on timing."""

FILE = "file://"

MOST_LINES = 30
MOST_WIDTH = 300


def request_difference(recorded: dict[str, Any], asked: dict[str, Any], match: Match) -> str | None:
    """Describe how a request differs from the recorded one; None if they match."""
    name = recorded.get("method")
    if name in UNCOMPARED:
        return None
    there, here = _bare(params(recorded)), _bare(params(asked))
    if name != "session/prompt":
        return None if _fits(there, here) else _both(_request(recorded, there), _request(asked, here))
    there_text, here_text = prompt_text(recorded), prompt_text(asked)
    if _matches(match, there.get("prompt"), here.get("prompt"), there_text, here_text):
        return None
    if there_text == here_text:
        there_text, here_text = _dump(there.get("prompt")), _dump(here.get("prompt"))
    return "the prompts differ (- recorded, + asked):\n" + _lines(there_text, here_text)


def _matches(match: Match, there: Any, here: Any, there_text: str, here_text: str) -> bool:
    if callable(match):
        return bool(match(there_text, here_text))
    if match == "text":
        return _texts(there) == _texts(here)
    return _same_blocks(there, here)


def _same_blocks(there: Any, here: Any) -> bool:
    if not isinstance(there, list) or not isinstance(here, list):
        return bool(there == here)
    return len(there) == len(here) and all(map(_same_block, there, here))


def _same_block(there: Any, here: Any) -> bool:
    """Compare two content blocks. An attached file matches a link to it, which is sent if the file cannot be
    read, for example in an empty folder."""
    recorded, asked = _file(there), _file(here)
    if recorded is None or asked is None:
        return bool(there == here)
    same_text = recorded[1] is None or asked[1] is None or recorded[1] == asked[1]
    return recorded[0] == asked[0] and same_text


def _file(block: Any) -> tuple[str, str | None] | None:
    """The URI of an attached or linked file, and its text if attached."""
    match block:
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return (uri, text) if uri.startswith(FILE) else None
        case {"type": "resource_link", "uri": str(uri)}:
            return (uri, None) if uri.startswith(FILE) else None
    return None


def answer_difference(
    request: dict[str, Any], recorded: dict[str, Any], answer: dict[str, Any]
) -> str | None:
    """Describe how a response differs from the recorded one; None if the agent would see no difference."""
    name = request.get("method")
    if (recorded.get("error") or {}).get("code") == CANCELLED:
        return None
    if name == "session/request_permission":
        there, here = _outcome(recorded, request), _outcome(answer, request)
        return None if there == here else _both(*(f"{_about(request)}: {it}" for it in (there, here)))
    if name == "elicitation/create":
        forms = _filled(recorded), _filled(answer)
        return None if _fits(*forms) else _both(*(f"{_about(request)}: {_dump(it)}" for it in forms))
    if name in JUDGED and ("error" in recorded) != ("error" in answer):
        return _both(*(f"{_about(request)}: {_how(it)}" for it in (recorded, answer)))
    return None


def what(message: dict[str, Any]) -> str:
    """Describe a request in one line."""
    sent, name = params(message), str(message.get("method"))
    session = f" (session {sent['sessionId']})" if "sessionId" in sent else ""
    return f"{name} {_short(prompt_text(message))!r}{session}" if name == "session/prompt" else name + session


def prompt_text(message: dict[str, Any]) -> str:
    """The prompt as text, with placeholders for other content."""
    blocks = params(message).get("prompt")
    return "\n".join(map(_block_text, blocks)) if isinstance(blocks, list) else ""


def _block_text(block: Any) -> str:
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource", "resource": {"uri": uri, "text": text}}:
            return f"[{uri}]\n{text}"
        case {"type": "resource_link", "uri": uri}:
            return f"[{uri}]"
        case {"type": kind, "data": str(data), **more}:
            return f"[{kind} {more.get('mimeType', '')}, {len(data)} characters of data]"
        case {"type": kind}:
            return f"[{kind}]"
    return _dump(block)


def _texts(blocks: Any) -> list[Any]:
    if not isinstance(blocks, list):
        return []
    return [it.get("text") for it in blocks if isinstance(it, dict) and it.get("type") == "text"]


def _bare(value: dict[str, Any]) -> dict[str, Any]:
    return {name: it for name, it in value.items() if name != "_meta"}


def _request(message: dict[str, Any], sent: dict[str, Any]) -> str:
    return f"{message.get('method')} {_dump(sent)}"


def _outcome(answer: dict[str, Any], request: dict[str, Any]) -> str:
    match answer.get("result"):
        case {"outcome": {"outcome": "selected", "optionId": option}}:
            offered = (it for it in params(request).get("options") or () if isinstance(it, dict))
            kind = next((it.get("kind") for it in offered if it.get("optionId") == option), "unknown")
            return f"answered {option!r} ({kind})"
        case {"outcome": {"outcome": str(outcome)}}:
            return outcome
    return _how(answer)


def _filled(answer: dict[str, Any]) -> dict[str, Any]:
    result = answer.get("result")
    known = result if isinstance(result, dict) else {"action": _how(answer)}
    return {name: known[name] for name in ("action", "content") if known.get(name)}


def _fits(there: Any, here: Any) -> bool:
    """Whether the values are equal, apart from redacted ones."""
    if isinstance(there, dict) and isinstance(here, dict):
        return there.keys() == here.keys() and all(_fits(there[name], here[name]) for name in there)
    if isinstance(there, list) and isinstance(here, list):
        return len(there) == len(here) and all(map(_fits, there, here))
    return bool(there == here) or (isinstance(there, str) and REDACTED in there)


def _how(answer: dict[str, Any]) -> str:
    error = answer.get("error")
    return f"refused, {error.get('message')}" if isinstance(error, dict) else "done"


def _about(request: dict[str, Any]) -> str:
    sent = params(request)
    match sent:
        case {"toolCall": {"title": str(title)}}:
            return f"permission for {_short(title)!r}"
        case {"mode": "form" | "url", "message": str(message)}:
            return f"the form {_short(message)!r}"
        case {"path": str(path)}:
            return f"writing {path}"
        case {"command": str(command)}:
            arguments = sent.get("args")
            return f"running {_short(' '.join([command, *map(str, arguments or ())]))!r}"
    return str(request.get("method"))


def _both(recorded: str, asked: str) -> str:
    return f"  recorded: {recorded}\n  now:      {asked}"


def _dump(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)


def _short(text: str) -> str:
    return text if len(text) <= MOST_WIDTH else f"{text[:MOST_WIDTH]}…"


def _lines(there: str, here: str) -> str:
    """A diff of the recorded and the current text, around their differences."""
    before, after = there.split("\n"), here.split("\n")
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))[3:]
    first = next((_common(*pair) for pair in zip(before, after, strict=False) if len({*pair}) > 1), 0)
    shown = [f"    {_window(line, first)}" for line in lines[:MOST_LINES]]
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"    … {left} more lines"] if left else [])])


def _common(there: str, here: str) -> int:
    """The length of the common prefix."""
    return next((at for at, pair in enumerate(zip(there, here, strict=False)) if pair[0] != pair[1]), 0)


def _window(line: str, first: int) -> str:
    if len(line) <= MOST_WIDTH:
        return line
    start = max(1, min(first - MOST_WIDTH // 3, len(line) - MOST_WIDTH))
    shown = line[start : start + MOST_WIDTH]
    return f"{line[0]}{'…' if start > 1 else ''}{shown}{'…' if start + MOST_WIDTH < len(line) else ''}"
