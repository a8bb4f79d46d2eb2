"""The built-in demo agent: a real ACP agent over stdio, scripted by the text of the prompt.

It deliberately uses no model, no key, no network, no clock and no chance, nothing outside the standard
library, and nothing else of this package: it is an independent peer of the client, not a part of it.

Run it as ``python -m acp_notebook.demo``. Environment:

=================  =========================================================================================
ACP_DEMO_HOME      a directory: sessions are kept there as JSON files; load, resume, list, fork, delete work
ACP_DEMO_CAPS      which of load,resume,list,fork,delete,close are advertised (default: all that work)
ACP_DEMO_AUTH=1    session/new and its kin answer -32000 until somebody signed in; ``trouble``: with ways to
                   do that which go wrong, too; ``key``: by ACP_DEMO_API_KEY
ACP_DEMO_CONFIG=0  no configOptions: an agent that has only modes; ``models``: modes and models, the old way
ACP_DEMO_PROMPT    ``text``: prompts may have no images and sounds
ACP_DEMO_PACE      seconds to wait after each update, to watch a turn stream by (default: 0)
=================  =========================================================================================
"""
