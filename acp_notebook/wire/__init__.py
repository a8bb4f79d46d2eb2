"""The protocol: JSON-RPC, the messages of version 1, and their translation to our events.

Does no I/O. Only `v1` uses the protocol's field names and decides what they mean to us.
"""
