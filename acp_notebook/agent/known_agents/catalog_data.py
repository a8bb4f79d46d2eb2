"""The agents that are known by name: how to start and install each.

Only data: nothing here inspects the machine. `checked` says how far an entry was tested, so that nobody takes
a documented command for one that was run: "ran" (the agent itself ran, in this project's tests or
recordings), "package" (the package exists and has that command; its arguments are from its documentation or
from the official registry), "documents" (everything is from documentation).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Words = tuple[str, ...]


class KnownAgent(Struct, frozen=True, kw_only=True):
    """How to start and install one agent. `commands`: the first that is installed is used."""

    name: str
    title: str
    commands: tuple[Words, ...]
    install: str
    """The exact shell command."""
    checked: Literal["ran", "package", "documents"]
    aliases: Words = ()
    npm: str | None = None
    """The package that npx runs."""
    pypi: str | None = None
    """The package that uvx runs."""
    python: str | None = None
    """The Python version for uvx, if the package needs a particular one."""
    older: Words = ()
    """Arguments for older versions, which refuse those of the command."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Fixed environment variables that it needs; no secrets."""
    sign_in: str = ""
    """How it identifies its user, for people to read."""


AGENTS: tuple[KnownAgent, ...] = (
    KnownAgent(
        name="claude-agent-acp",
        title="Claude Code",
        aliases=("claude", "claude-code", "claude-acp"),
        commands=(("claude-agent-acp",),),
        npm="@agentclientprotocol/claude-agent-acp",
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        sign_in="ANTHROPIC_API_KEY, or the sign-in of Claude Code",
        checked="ran",
    ),
    KnownAgent(
        name="claude-code-acp",
        title="Claude Code (before claude-agent-acp)",
        commands=(("claude-code-acp",),),
        npm="@zed-industries/claude-code-acp",
        install="npm install -g @zed-industries/claude-code-acp",
        sign_in="ANTHROPIC_API_KEY, or the sign-in of Claude Code",
        checked="ran",
    ),
    KnownAgent(
        name="gemini",
        title="Gemini CLI",
        aliases=("gemini-cli", "google-gemini"),
        commands=(("gemini", "--acp"),),
        older=("--experimental-acp",),
        npm="@google/gemini-cli",
        install="npm install -g @google/gemini-cli",
        sign_in="GEMINI_API_KEY, or a Google account",
        checked="ran",
    ),
    KnownAgent(
        name="codex",
        title="Codex",
        aliases=("codex-acp", "openai-codex"),
        commands=(("codex-acp",),),
        npm="@agentclientprotocol/codex-acp",
        install="npm install -g @agentclientprotocol/codex-acp",
        sign_in="OPENAI_API_KEY or CODEX_API_KEY, or a ChatGPT account",
        checked="ran",
    ),
    KnownAgent(
        name="goose",
        title="goose",
        aliases=("block-goose",),
        commands=(("goose", "acp"),),
        npm="@aaif/goose-acp",
        install="npm install -g @aaif/goose-acp",
        sign_in="goose configure",
        checked="ran",
    ),
    KnownAgent(
        name="opencode",
        title="OpenCode",
        aliases=("open-code", "opencode-ai"),
        commands=(("opencode", "acp"),),
        npm="opencode-ai",
        install="npm install -g opencode-ai",
        sign_in="opencode auth login",
        checked="ran",
    ),
    KnownAgent(
        name="qwen",
        title="Qwen Code",
        aliases=("qwen-code",),
        commands=(("qwen", "--acp"),),
        older=("--experimental-acp",),
        npm="@qwen-code/qwen-code",
        install="npm install -g @qwen-code/qwen-code",
        sign_in="a Qwen account, or OPENAI_API_KEY with OPENAI_BASE_URL",
        checked="ran",
    ),
    KnownAgent(
        name="copilot",
        title="GitHub Copilot CLI",
        aliases=("github-copilot", "github-copilot-cli", "copilot-cli"),
        commands=(("copilot", "--acp"),),
        npm="@github/copilot",
        install="npm install -g @github/copilot",
        sign_in="GH_TOKEN, or /login in copilot",
        checked="ran",
    ),
    KnownAgent(
        name="kimi",
        title="Kimi Code",
        aliases=("kimi-code", "kimi-cli"),
        commands=(("kimi", "acp"),),
        npm="@moonshot-ai/kimi-code",
        install="npm install -g @moonshot-ai/kimi-code",
        sign_in="kimi login",
        checked="ran",
    ),
    KnownAgent(
        name="cline",
        title="Cline",
        commands=(("cline", "--acp"),),
        npm="cline",
        install="npm install -g cline",
        sign_in="cline auth",
        checked="ran",
    ),
    KnownAgent(
        name="kilo",
        title="Kilo Code",
        aliases=("kilocode", "kilo-code"),
        commands=(("kilo", "acp"), ("kilocode", "acp")),
        npm="@kilocode/cli",
        install="npm install -g @kilocode/cli",
        sign_in="kilo auth login",
        checked="ran",
    ),
    KnownAgent(
        name="mistral-vibe",
        title="Mistral Vibe",
        aliases=("vibe", "vibe-acp", "mistral"),
        commands=(("vibe-acp",),),
        pypi="mistral-vibe",
        python="3.12",
        install="uv tool install --python 3.12 mistral-vibe",
        sign_in="MISTRAL_API_KEY, or vibe --setup",
        checked="ran",
    ),
    KnownAgent(
        name="fast-agent",
        title="fast-agent",
        aliases=("fast-agent-acp", "fastagent"),
        commands=(("fast-agent-acp", "-x"),),
        pypi="fast-agent-mcp",  # its own command; that of the package fast-agent-acp does not start (0.10.46)
        python="3.13",
        install="uv tool install --python 3.13 fast-agent-mcp",
        sign_in="FAST_AGENT_MODEL, and the key of that model's provider, such as ANTHROPIC_API_KEY",
        checked="ran",
    ),
    KnownAgent(
        name="hermes",
        title="Hermes Agent",
        aliases=("hermes-agent", "hermes-acp"),
        commands=(("hermes-acp",), ("hermes", "acp")),
        pypi="hermes-agent[acp]",
        python="3.12",
        install="uv tool install --python 3.12 'hermes-agent[acp]'",
        sign_in="hermes model",
        checked="ran",
    ),
    KnownAgent(
        name="openhands",
        title="OpenHands",
        aliases=("open-hands", "openhands-acp", "openhands-cli"),
        commands=(("openhands", "acp"),),
        pypi="openhands",
        python="3.12",
        install="uv tool install --python 3.12 openhands",
        sign_in="/settings in openhands",
        checked="ran",
    ),
    KnownAgent(
        name="junie",
        title="Junie",
        aliases=("jetbrains-junie",),
        commands=(("junie", "--acp=true"),),
        npm="@jetbrains/junie",
        install="npm install -g @jetbrains/junie",
        sign_in="a JetBrains account, or JUNIE_API_KEY",
        checked="package",
    ),
    KnownAgent(
        name="qoder",
        title="Qoder CLI",
        aliases=("qodercli", "qoder-cli"),
        commands=(("qodercli", "--acp"),),
        npm="@qoder-ai/qodercli",
        install="npm install -g @qoder-ai/qodercli",
        sign_in="qodercli login",
        checked="package",
    ),
    KnownAgent(
        name="stakpak",
        title="Stakpak",
        commands=(("stakpak", "acp"),),
        install="brew install stakpak/stakpak/stakpak",
        sign_in="stakpak login",
        checked="documents",
    ),
    KnownAgent(
        name="vtcode",
        title="VT Code",
        aliases=("vt-code",),
        commands=(("vtcode", "acp"),),
        env={"VT_ACP_ENABLED": "1", "VT_ACP_ZED_ENABLED": "1"},
        install="cargo install vtcode",
        sign_in="the key of the model's provider, such as OPENAI_API_KEY",
        checked="documents",
    ),
    KnownAgent(
        name="auggie",
        title="Auggie",
        aliases=("augment", "auggie-cli"),
        commands=(("auggie", "--acp"),),
        npm="@augmentcode/auggie",
        install="npm install -g @augmentcode/auggie",
        env={"AUGMENT_DISABLE_AUTO_UPDATE": "1"},
        sign_in="auggie login",
        checked="package",
    ),
)
