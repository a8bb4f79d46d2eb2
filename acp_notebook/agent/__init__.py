"""Agents as processes, connections to them, and sessions on them.

Everything is asyncio on one loop thread (`loop.py`). Knows nothing about notebook pages and widgets.
"""
