"""The outside world: agents as processes, connections to them, sessions on them; all of it asyncio.

Everything here lives on the one loop thread (`loop.py`). Knows nothing of notebooks and widgets.
"""
