"""Code that would start an agent or send it a prompt is left out; the rest of its cell is not."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize(
    "source",
    [
        "%%time\nimport acp_notebook as acp\ns = acp.connect('demo')",
        "%%capture\n%load_ext acp_notebook\n%acp_agent demo",
        "%time import acp_notebook as acp",
        "%%time\n%acp hi",
        "import importlib; acp = importlib.import_module('acp_notebook')",
        "acp = __import__('acp_notebook.api')",
        "exec('import acp_notebook as acp; acp.connect(1)')",
        "get_ipython().magic('acp hi')",
        "get_ipython().run_cell('%acp hi')",
        "ip = get_ipython()\nip.run_line_magic('acp', 'hi')",
        "import acp_notebook; acp_notebook.connect('demo')" + "[0]" * 2500,
    ],
)
def test_an_import_or_a_magic_inside_of_other_code_is_left_out(source: str) -> None:
    (left,) = kept(source)
    assert "acp" not in left


def test_names_that_an_agent_led_to_inside_of_a_magic_are_followed() -> None:
    assert kept("%%time\nimport acp_notebook as acp\ns = acp.connect('demo')", "s.prompt('hi')\nx = 1") == [
        "",
        "x = 1",
    ]
    assert kept("%%time\n%acp_agent demo --as kimi", "kimi.start('hi')") == ["", ""]
    assert kept("from acp_notebook import connect", f"s = connect('demo'){'+0' * 2500}") == ["", ""]


def test_the_name_of_the_package_in_other_texts_is_no_use_of_an_agent() -> None:
    source = "print('acp_notebook')\ndf = read('acp_notebook/a.csv')\nexec('x = 1')\n%time x = 1"
    assert kept(source) == [source]
