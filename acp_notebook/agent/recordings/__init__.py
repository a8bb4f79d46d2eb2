"""Recordings: every message written down without its secrets, and played back in step with the client.

A replay starts no agent, runs no command, and asks nobody.
"""
