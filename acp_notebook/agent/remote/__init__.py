"""Agents on other machines: transports over WebSocket and HTTP, and what both need.

Imported only for a URL. The libraries (the extra `acp-notebook[remote]`) are imported on first use.
"""
