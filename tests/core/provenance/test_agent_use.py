"""Code that would start an agent or send it a prompt is left out; the rest of its cell is not."""

from __future__ import annotations

from acp_notebook.core.provenance.agent_use import AgentUse
from acp_notebook.notebook.history import as_python


def kept(*sources: str) -> list[str]:
    use = AgentUse(as_python)
    return [use.without_agents(it).source for it in sources]


def test_code_without_an_agent_stays_as_it_is_written() -> None:
    source = "%time x = 1  # comment\n!ls\ny?"
    assert kept(source) == [source]


def test_magics_and_the_extension_are_left_out() -> None:
    assert kept(
        "%load_ext acp_notebook\n%load_ext other", "%acp_agent demo", "%%acp\nDraw @df", "%acp hi"
    ) == [
        "get_ipython().run_line_magic('load_ext', 'other')",
        "",
        "",
        "",
    ]


def test_every_name_that_leads_to_an_agent_is_followed() -> None:
    assert kept(
        "import acp_notebook as acp, os",
        "import os\nfrom acp_notebook import connect",
        "s = connect('demo')",
        "def ask(q): return s.prompt(q)",
        "t = ask('x').text\nn = 1",
        "for it in [1]: s.start(t)",
        "s = 3\nprint(s)",
    ) == ["", "import os", "", "", "n = 1", "", "s = 3\nprint(s)"]


def test_the_session_of_the_magic_is_known_by_its_name() -> None:
    assert kept(
        "%acp_agent demo\nx = 1", "session.prompt('a')", "%acp_agent demo --as kimi", "kimi.start(x)"
    ) == [
        "x = 1",
        "",
        "",
        "",
    ]


def test_a_function_that_is_registered_by_a_decorator_stays_without_it() -> None:
    assert kept(
        "import acp_notebook as acp", "@acp.tool\n@cached\ndef load(n):\n    return n\nx = 1; acp.y"
    ) == [
        "",
        "@cached\ndef load(n):\n    return n\nx = 1",
    ]


def test_comments_before_kept_statements_stay() -> None:
    assert kept("import acp_notebook\n# the data\nx = 1\nacp_notebook.agents()\n# more\ny = 2") == [
        "# the data\nx = 1\n# more\ny = 2"
    ]
