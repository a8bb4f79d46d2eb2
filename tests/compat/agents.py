"""The agents that the report knows by name: where they come from, and how each is started.

Any other agent is given as a command line or as a package.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.compat import models


@dataclass(frozen=True)
class Entry:
    package: str
    """`npm:name@version` or `pypi:name==version`; empty: an installed command."""
    command: tuple[str, ...]
    setup: models.Setup = models.every_family
    answers_scripts: bool = True


EXAMPLE = "@agentclientprotocol/sdk/dist/examples/agent.js"

AGENTS: dict[str, Entry] = {
    "claude-agent-acp": Entry(
        "npm:@agentclientprotocol/claude-agent-acp@0.99.1", ("claude-agent-acp",), models.claude
    ),
    "claude-code-acp": Entry(
        "npm:@zed-industries/claude-code-acp@0.16.2", ("claude-code-acp",), models.claude
    ),
    "gemini": Entry("npm:@google/gemini-cli@0.61.0", ("gemini", "--acp"), models.gemini_cli),
    "kimi": Entry("npm:@moonshot-ai/kimi-code@2.1.0", ("kimi", "acp"), models.kimi),
    "sdk-example": Entry(
        "npm:@agentclientprotocol/sdk@1.9.0", ("node", EXAMPLE), models.none, answers_scripts=False
    ),
    "codex": Entry("npm:@agentclientprotocol/codex-acp", ("codex-acp",), models.codex),
    "codex-acp-zed": Entry("npm:@zed-industries/codex-acp@0.16.0", ("codex-acp",), models.codex),
    "goose": Entry("npm:@aaif/goose-acp@1.50.0", ("goose", "acp"), models.goose),
    "qwen": Entry("npm:@qwen-code/qwen-code", ("qwen", "--acp"), models.qwen),
    "opencode": Entry("npm:opencode-ai", ("opencode", "acp"), models.opencode("opencode")),
    "kilo": Entry("npm:@kilocode/cli@7.7.9", ("kilo", "acp"), models.opencode("kilo")),
    "copilot": Entry("npm:@github/copilot", ("copilot", "--acp"), models.copilot),
    "cline": Entry("npm:cline", ("cline", "--acp"), models.every_family),
    "auggie": Entry("npm:@augmentcode/auggie", ("auggie", "--acp"), models.none),
    "mistral-vibe": Entry("pypi:mistral-vibe", ("vibe-acp",), models.vibe),
    "fast-agent": Entry("pypi:fast-agent-mcp", ("fast-agent-acp", "-x"), models.fast_agent),
    "demo": Entry("", ("demo",), models.none, answers_scripts=False),
}

DEFAULT = ("claude-agent-acp", "claude-code-acp", "gemini", "kimi", "sdk-example")
"""The default: the agents in docs/compat.md."""
