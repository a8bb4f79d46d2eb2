"""import_agents() checks a registry's JSON; nothing else is fetched, installed or started."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acp_notebook as acp
from acp_notebook.core.registry import agents_of
from acp_notebook.setup import import_agents as import_agents_module

REGISTRY = Path(__file__).parents[1] / "data/registry.json"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ACP_NOTEBOOK_CONFIG", str(tmp_path / "config"))
    return tmp_path / "config"


def test_a_registry_becomes_the_users_agents() -> None:
    table = acp.import_agents(REGISTRY)
    assert list(table) == ["pi-acp", "nova-uv", "amp-acp"]
    assert table.left_out["gemini"] == "known already"
    assert "install by hand" in repr(table) and "npx pi-acp@0.0.33" in table._repr_html_()
    listed = acp.agents()
    assert "pi-acp" in listed and "amp-acp" in listed
    assert "binary (darwin-aarch64, linux-x86_64)" in listed["amp-acp"].missing
    with pytest.raises(acp.AgentNotFound, match=r"install=True|Node"):
        acp.connect("pi-acp")
    with pytest.raises(acp.AgentNotFound, match="install by hand"):
        acp.connect("amp-acp", install=True)
    with pytest.raises(acp.AgentNotFound, match="Did you mean 'pi-acp'"):
        acp.connect("pi-apc")


def test_a_second_import_replaces_the_first_and_the_users_file_wins(folder: Path, tmp_path: Path) -> None:
    acp.import_agents(REGISTRY)
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"agents": [{"id": "x", "distribution": {"npx": {"package": "x-acp"}}}]}))
    assert list(acp.import_agents(other)) == ["x"]
    assert "pi-acp" not in acp.agents()
    (folder / "config.toml").write_text("[agents.x]\ncommand = 'sh'\n")
    assert acp.agents()["x"].found.endswith("/sh")


@pytest.mark.parametrize(
    ("distribution", "why"),
    [
        (None, "no distribution"),
        ({}, "neither by npx"),
        ({"npx": 7}, "not an object"),
        ({"npx": {}}, "not a package"),
        ({"npx": {"package": "--call=evil"}}, "not a package"),
        ({"npx": {"package": "https://evil.example/x.tgz"}}, "not a package"),
        ({"npx": {"package": "github:evil/x"}}, "not a package"),
        ({"npx": {"package": "file:../x"}}, "not a package"),
        ({"npx": {"package": "./x"}}, "not a package"),
        ({"npx": {"package": "x@npm:evil"}}, "not a package"),
        ({"uvx": {"package": "git+https://evil.example/x"}}, "not a package"),
        ({"uvx": {"package": "x @ https://evil.example"}}, "not a package"),
        ({"npx": {"package": "x", "cmd": "sh -c"}}, "not the name of a command"),
        ({"npx": {"package": "x", "cmd": "../sh"}}, "not the name of a command"),
        ({"npx": {"package": "x", "cmd": "-x"}}, "not the name of a command"),
        ({"npx": {"package": "x", "args": "-x"}}, "not a list of texts"),
        ({"npx": {"package": "x", "args": ["a\0b"]}}, "not a list of texts"),
        ({"npx": {"package": "x", "env": {"LD_PRELOAD": "/x"}}}, "decides what code runs"),
        ({"npx": {"package": "x", "env": {"npm_config_registry": "x"}}}, "decides what code runs"),
        ({"npx": {"package": "x", "env": {"A=B": "x"}}}, "not an object of texts"),
        ({"binary": {}}, "neither by npx"),
    ],
)
def test_an_invalid_entry_is_left_out(distribution: Any, why: str) -> None:
    found, left = agents_of({"agents": [{"id": "bad", "distribution": distribution}]}, ())
    assert not found and why in left["bad"]


@pytest.mark.parametrize("id", [None, 7, "", "A", "a b", "../x", "-x", "x" * 65])
def test_an_entry_needs_a_plain_id(id: Any) -> None:
    found, left = agents_of({"agents": [{"id": id, "distribution": {"npx": {"package": "x"}}}]}, ())
    assert not found and "no id" in left["entry 1"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda it: st.lists(it, max_size=4) | st.dictionaries(st.sampled_from(["id", "npx", "package", "x"]), it),
)


@given(st.lists(st.fixed_dictionaries({"id": st.just("x"), "distribution": json_values}) | json_values))
def test_any_registry_gives_agents_and_reasons(entries: list[Any]) -> None:
    found, left = agents_of({"agents": entries}, ())
    assert set(found) <= {"x"} and all(isinstance(it, str) for it in left.values())


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"{", "not JSON"), (b"[]", "no list"), (b'{"agents": 7}', "no list"), (b"[" * 100_000, "not JSON")],
)  # fmt: skip
def test_a_file_that_is_not_a_registry_changes_nothing(
    folder: Path, tmp_path: Path, data: bytes, words: str
) -> None:
    acp.import_agents(REGISTRY)
    file = tmp_path / "x.json"
    file.write_bytes(data)
    with pytest.raises(acp.UsageError, match=words):
        acp.import_agents(file)
    assert "pi-acp" in acp.agents()


def test_huge_and_missing_registries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_agents_module, "MAX_BYTES", 100)
    with pytest.raises(acp.UsageError, match="larger than 100 bytes"):
        acp.import_agents(REGISTRY)
    with pytest.raises(acp.UsageError, match="cannot read"):
        acp.import_agents(tmp_path / "nowhere.json")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "file:///etc/passwd", "ftp://x/y"])
def test_only_https_is_fetched(url: str) -> None:
    with pytest.raises(acp.UsageError, match="an https address"):
        acp.import_agents(url)


# ---- over the network -----------------------------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """On loopback without TLS: its address counts as https here, redirects do not."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/away":
                self.send_response(302)
                self.send_header("Location", "http://127.0.0.1:9/evil")
                self.end_headers()
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(REGISTRY.read_bytes())

        def log_message(self, *_: Any) -> None:
            pass

    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{httpd.server_port}"
    check = import_agents_module._check_https
    monkeypatch.setattr(
        import_agents_module, "_check_https", lambda url: None if url.startswith(address) else check(url)
    )
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield address
    httpd.shutdown()
    httpd.server_close()
    thread.join(5)


def test_it_is_fetched_once_and_redirects_stay_on_https(server: str) -> None:
    assert list(acp.import_agents(f"{server}/registry.json")) == ["pi-acp", "nova-uv", "amp-acp"]
    with pytest.raises(acp.Error, match="an https address"):
        acp.import_agents(f"{server}/away")


def test_an_unreachable_server_is_a_readable_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(acp.Error, match="cannot fetch"):
        acp.import_agents("https://127.0.0.1:9/registry.json")
    assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED
