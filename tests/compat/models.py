"""Points agents at the mock model. Each has its own home folder, and finds nothing else.

Knows the settings that agents read, no probe. An agent that is not known gets the variables of all three
families: most of them read one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

Env = dict[str, str]
Setup = Callable[[str, Path], Env]
"""Returns the variables that an agent needs for the model's URL; may write settings into its home."""

KEY = "no-real-key"
MODEL = "mock-model"

_FOLDERS = {
    "HOME": "",
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_CACHE_HOME": "cache",
    "XDG_STATE_HOME": "state",
    "XDG_RUNTIME_DIR": "runtime",
    "TMPDIR": "tmp",
}


def home(folder: Path, path: str) -> Env:
    """Nothing is read from the user's home, and nothing written there."""
    for name in _FOLDERS.values():
        (folder / name).mkdir(parents=True, exist_ok=True)
    own = {variable: str(folder / name) for variable, name in _FOLDERS.items()}
    local = "127.0.0.1,localhost"
    return own | {"PATH": path, "NO_PROXY": local, "no_proxy": local}


# ---- the families


def anthropic(url: str, _: Path) -> Env:
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY}


def openai(url: str, _: Path) -> Env:
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": MODEL}


def gemini(url: str, _: Path) -> Env:
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": KEY}


def every_family(url: str, folder: Path) -> Env:
    return anthropic(url, folder) | openai(url, folder) | gemini(url, folder)


def none(_: str, __: Path) -> Env:
    return {}


FAMILIES: dict[str, Setup] = {
    "anthropic": anthropic,
    "openai": openai,
    "gemini": gemini,
    "all": every_family,
    "none": none,
}


# ---- agents that need more than a family's variables


def claude(url: str, folder: Path) -> Env:
    quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY")
    own = {"CLAUDE_CONFIG_DIR": str(folder / "claude")}
    return anthropic(url, folder) | dict.fromkeys(quiet, "1") | own


def kimi(url: str, folder: Path) -> Env:
    _write(
        folder / "kimi" / "config.toml",
        f'default_model = "mock"\n'
        f'[models.mock]\nprovider = "mock"\nmodel = "{MODEL}"\nmax_context_size = 100000\n'
        f'[providers.mock]\ntype = "openai"\nbase_url = "{url}/v1"\napi_key = "{KEY}"\n',
    )
    return {"KIMI_CODE_HOME": str(folder / "kimi"), "KIMI_CODE_NO_AUTO_UPDATE": "1"}


def gemini_cli(url: str, folder: Path) -> Env:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "model": {"name": "gemini-3.8-flash"},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    _write(folder / ".gemini" / "settings.json", json.dumps(settings))
    return gemini(url, folder) | {"GEMINI_CLI_TRUST_WORKSPACE": "true"}


def qwen(url: str, folder: Path) -> Env:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "model": {"name": MODEL},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True},
    }
    _write(folder / ".qwen" / "settings.json", json.dumps(settings))
    return openai(url, folder)


def fast_agent(url: str, folder: Path) -> Env:
    return {**anthropic(url, folder), "FAST_AGENT_MODEL": "haiku"}


def codex(url: str, folder: Path, model: str = MODEL) -> Env:
    _write(
        folder / "codex" / "config.toml",
        f'model = "{model}"\nmodel_provider = "mock"\napprovals_reviewer = "user"\n'
        f'[model_providers.mock]\nname = "mock"\nbase_url = "{url}/v1"\n'
        f'wire_api = "responses"\nenv_key = "MOCK_KEY"\n'
        f"[analytics]\nenabled = false\n",
    )
    return {"CODEX_HOME": str(folder / "codex"), "MOCK_KEY": KEY}


def codex_scripts(url: str, folder: Path) -> Env:
    """codex with the name of a model that calls tools in scripts, as its newer ones do."""
    return codex(url, folder, "gpt-6.1-sol")


def goose(url: str, folder: Path) -> Env:
    extension = "{type: builtin, name: developer, enabled: true, bundled: true, timeout: 300}"
    settings = f"GOOSE_MODE: approve\nextensions:\n  developer: {extension}\n"
    _write(folder / "config" / "goose" / "config.yaml", settings)
    model = {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4o", "OPENAI_HOST": url, "OPENAI_API_KEY": KEY}
    return model | {"GOOSE_DISABLE_KEYRING": "1", "GOOSE_TELEMETRY_ENABLED": "false"}


def opencode(name: str) -> Setup:
    """opencode, and agents that have its settings under another name."""

    def setup(url: str, folder: Path) -> Env:
        model = {
            "name": MODEL,
            "limit": {"context": 100000, "output": 10000},
            "attachment": True,
            "modalities": {"input": ["text", "image"], "output": ["text"]},
        }
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "mock",
            "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
            "models": {MODEL: model},
        }
        settings = {
            "model": f"mock/{MODEL}",
            "small_model": f"mock/{MODEL}",
            "provider": {"mock": provider},
            "permission": {"edit": "ask", "bash": "ask"},
            "autoupdate": False,
            "share": "disabled",
        }
        _write(folder / "config" / name / f"{name}.json", json.dumps(settings))
        quiet = ("DISABLE_AUTOUPDATE", "DISABLE_MODELS_FETCH", "DISABLE_LSP_DOWNLOAD", "DISABLE_SHARE")
        return {f"{name.upper()}_{it}": "1" for it in quiet}

    return setup


def copilot(url: str, folder: Path) -> Env:
    return {
        "COPILOT_HOME": str(folder / "copilot"),
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": MODEL,
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }


def vibe(url: str, folder: Path) -> Env:
    _write(
        folder / "vibe" / "config.toml",
        'active_model = "mock"\nenable_telemetry = false\nenable_update_checks = false\n'
        f'[[providers]]\nname = "mock"\napi_base = "{url}/v1"\napi_key_env_var = "MOCK_KEY"\n'
        'api_style = "openai"\nbackend = "generic"\n'
        f'[[models]]\nname = "{MODEL}"\nprovider = "mock"\nalias = "mock"\n',
    )
    return {"VIBE_HOME": str(folder / "vibe"), "MOCK_KEY": KEY}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def search_path(*first: Path) -> str:
    return os.pathsep.join([*map(str, first), os.environ.get("PATH", os.defpath)])
