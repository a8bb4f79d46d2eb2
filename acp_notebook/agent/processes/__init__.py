"""Start processes, read and write them without blocking, watch them, and end their whole process tree.

Independent of the protocol and of sessions.
"""
