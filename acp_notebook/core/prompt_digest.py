"""The digest of a prompt: equal for the same text and attachments to the same agent, on any machine.

Pure. A file keeps it with the answer, so that `%%acp --cached` can tell whether the prompt is still the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256

from .escaping import Escaper
from .records import Json

_DIGITS = 32


def prompt_digest(agent: str | None, content: Sequence[Mapping[str, Json]], cwd: str | None) -> str:
    """The digest of a prompt's content, as JSON; paths in the working directory count as relative."""
    kept = [{name: it for name, it in block.items() if it is not None} for block in content]
    text = Escaper(cwd).without_cwd(json.dumps([agent, kept], sort_keys=True, ensure_ascii=False))
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]


def answered_prompt(items: Sequence[Mapping[str, Json]]) -> Sequence[Mapping[str, Json]] | None:
    """The prompt of a turn that ended as it should; None if its answer is not worth reusing."""
    match items:
        case [{"type": "turn", "status": "done", "stop_reason": "end_turn", "prompt": prompt}, *_]:
            return list(prompt)
    return None
