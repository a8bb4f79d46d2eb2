"""Undo: keeps what each turn changed in the session's folders, and undoes or redoes it.

Uses files and git, with a private repository outside the user's folders. Knows no page and no protocol.
"""
