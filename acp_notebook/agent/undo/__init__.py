"""The way back: what each turn changed in the session's folders is kept, can be undone, and done again.

Knows files and git, through a private repository outside of the user's folders; no page and no protocol.
"""
