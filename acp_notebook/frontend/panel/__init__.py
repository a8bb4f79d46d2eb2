"""A session's face in the notebook: what is shown of it live and in the file, and what is done there.

Joins a conversation (`agent`) with its widgets (`notebook`); neither of those knows it.
"""
