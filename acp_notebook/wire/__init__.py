"""The protocol: JSON-RPC, the messages of version 1, and their translation into our events.

Does no I/O. `v1` is the only module that knows the protocol's field names and what they mean to us.
"""
