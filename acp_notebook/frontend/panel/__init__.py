"""The panel of a session: its live view, its static outputs for the file, and the user's input.

Connects a conversation (`agent`) with its widgets (`notebook`), which do not know each other.
"""
